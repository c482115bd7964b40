"""The index tier and the trust label of a score.

Both are classes of the score between configured thresholds (C-34, C-37). The source bounds both: by its tier if it is
listed, else as an unlisted or contested one. Markup alone cannot make an unknown source trusted (C-36). A page without
a score has the index tier and label of its source (C-41). Standard library only (R-178).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Standing = Literal["listed", "unlisted", "contested"]
"""Whether a list has a source, none has, or a list calls it untrusted."""
Label = Literal["HIGH", "MEDIUM", "LOW"]
Tier = Literal["A", "B", "C"]
LABELS: tuple[Label, ...] = ("HIGH", "MEDIUM", "LOW")
"""From the most trusted to the least."""
TIERS: tuple[Tier, ...] = ("A", "B", "C")
"""From the deepest indexed to the least."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The lowest scores of the upper two of three classes (0 to 2), and the best class of each kind of source.

    These are listed sources of tiers 1 to 3, unlisted and contested ones.
    """

    upper: int
    middle: int
    best: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    def class_of(self, score: int, source_tier: int | None, standing: Standing | None = None) -> int:
        """The class of a score, 0 to 2; an unknown source tier counts as 3, an unknown standing as listed."""
        place = {"unlisted": 3, "contested": 4}.get(standing or "", _class_of_source(source_tier))
        return max(self.by_score(score), self.best[place])

    def by_score(self, score: int) -> int:
        """The class of a score from the best source."""
        return 0 if score >= self.upper else 1 if score >= self.middle else 2


@dataclass(frozen=True, slots=True)
class TrustJudgment:
    """A label and its origin: the score, or without a score the tier of the source (C-41)."""

    label: Label
    label_source: Literal["score", "fallback"]


def label_for(
    cts_score: int | None, source_tier: int | None, thresholds: Thresholds, standing: Standing | None = None
) -> TrustJudgment:
    """The trust label of a result (R-250), also of one without a score (C-41).

    >>> label_for(70, 3, Thresholds(70, 40, best=(0, 0, 0, 1, 2)), "unlisted")
    TrustJudgment(label='MEDIUM', label_source='score')
    >>> label_for(None, 2, Thresholds(70, 40))
    TrustJudgment(label='MEDIUM', label_source='fallback')
    """
    if cts_score is not None:
        return TrustJudgment(label_of(cts_score, source_tier, thresholds, standing), "score")
    return TrustJudgment(without_score(source_tier)[1], "fallback")


def label_mark(label: Label) -> str:
    """The label as prompts and answers show it (R-252).

    >>> label_mark("HIGH")
    '[TRUST_TIER: HIGH]'
    """
    return f"[TRUST_TIER: {label}]"


def tier_of(score: int, source_tier: int | None, thresholds: Thresholds, standing: Standing | None = None) -> Tier:
    """The index tier of a score (R-210 to R-212).

    >>> [tier_of(score, 3, Thresholds(70, 40)) for score in (70, 69, 40, 39)]
    ['A', 'B', 'B', 'C']
    """
    return TIERS[thresholds.class_of(score, source_tier, standing)]


def label_of(score: int, source_tier: int | None, thresholds: Thresholds, standing: Standing | None = None) -> Label:
    """The trust label of a score (R-216)."""
    return LABELS[thresholds.class_of(score, source_tier, standing)]


def next_lower(label: Label) -> Label:
    """The label one step lower.

    >>> next_lower("HIGH"), next_lower("LOW")
    ('MEDIUM', 'LOW')
    """
    return LABELS[min(LABELS.index(label) + 1, len(LABELS) - 1)]


def without_score(source_tier: int | None) -> tuple[Tier, Label]:
    """The index tier and trust label of a page without a score, by the tier of its source (C-41).

    >>> [without_score(tier) for tier in (1, 2, 3, None)]
    [('A', 'HIGH'), ('B', 'MEDIUM'), ('C', 'LOW'), ('C', 'LOW')]
    """
    place = _class_of_source(source_tier)
    return TIERS[place], LABELS[place]


def _class_of_source(source_tier: int | None) -> int:
    return source_tier - 1 if source_tier in (1, 2, 3) else 2
