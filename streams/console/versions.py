"""What changed between two decisions about a page: score, tier, label, components, facts, and lines of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from schemas.pages import ScoredPage
from streams.replay.comparisons import ComponentChange, component_changes

_FACTS = ("title", "date", "authors", "site_name", "language")
_MOST_LINES = 400
_SHOWN_LINES = 12


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact of the page that changed."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PageChanges:
    """How a version of a page differs from the one before it.

    Attributes:
        points: The change of the score; None without both scores.
        added: Lines that are new, of which the first are kept.
        removed: Lines that are gone, of which the first are kept.
        other_rules: Whether the decisions were made under different rules.
    """

    points: int | None
    tier: tuple[str, str]
    label: tuple[str, str]
    components: tuple[ComponentChange, ...]
    facts: tuple[FactChange, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    more_lines: int
    other_rules: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is shown differs."""
        moved = self.points or self.tier[0] != self.tier[1] or self.label[0] != self.label[1]
        return not (moved or self.components or self.facts or self.added or self.removed or self.other_rules)


def changes_between(before: ScoredPage, after: ScoredPage) -> PageChanges:
    """What changed from one version of a page to the next."""
    old, new = before.content.splitlines()[:_MOST_LINES], after.content.splitlines()[:_MOST_LINES]
    added, removed = _lines(old, new)
    scores = (before.cts_score, after.cts_score)
    facts = [(name, _word(getattr(before, name)), _word(getattr(after, name))) for name in _FACTS]
    return PageChanges(
        points=None if scores[0] is None or scores[1] is None else scores[1] - scores[0],
        tier=(before.tier, after.tier),
        label=(before.trust_label, after.trust_label),
        components=component_changes(before, after),
        facts=tuple(FactChange(*fact) for fact in facts if fact[1] != fact[2]),
        added=tuple(added[:_SHOWN_LINES]),
        removed=tuple(removed[:_SHOWN_LINES]),
        more_lines=max(0, len(added) - _SHOWN_LINES) + max(0, len(removed) - _SHOWN_LINES),
        other_rules=before.config_version != after.config_version,
    )


def _lines(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    added: list[str] = []
    removed: list[str] = []
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += old[first:last]
            added += new[begin:end]
    return added, removed


def _word(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
