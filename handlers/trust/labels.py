"""What a score means: the tier that decides how deep a page is indexed, and the label that a model is shown.

Both are thresholds of the configuration, compared with ``>=`` (C-37); the two sets may differ (C-34). A page without a
score has the tier and label of its source (C-41). Standard library only (R-178).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which the upper two of three classes begin; everything below is in the third."""

    upper: int
    middle: int


def tier_of(score: int, thresholds: Thresholds) -> Literal["A", "B", "C"]:
    """The indexing tier of a score (R-210 to R-212).

    >>> [tier_of(score, Thresholds(70, 40)) for score in (70, 69, 40, 39)]
    ['A', 'B', 'B', 'C']
    """
    if score >= thresholds.upper:
        return "A"
    return "B" if score >= thresholds.middle else "C"


def label_of(score: int, thresholds: Thresholds) -> Literal["HIGH", "MEDIUM", "LOW"]:
    """The trust label of a score (R-216).

    >>> label_of(40, Thresholds(70, 40))
    'MEDIUM'
    """
    if score >= thresholds.upper:
        return "HIGH"
    return "MEDIUM" if score >= thresholds.middle else "LOW"


def without_score(source_tier: int) -> tuple[Literal["A", "B", "C"], Literal["HIGH", "MEDIUM", "LOW"]]:
    """The indexing tier and trust label of a page that has no score, from the tier of its source (C-41).

    >>> [without_score(tier) for tier in (1, 2, 3)]
    [('A', 'HIGH'), ('B', 'MEDIUM'), ('C', 'LOW')]
    """
    if source_tier == 1:
        return "A", "HIGH"
    return ("B", "MEDIUM") if source_tier == 2 else ("C", "LOW")
