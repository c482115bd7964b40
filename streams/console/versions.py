"""What changed between two decisions about a page: facts, components of the score, and lines of the text."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

from schemas.pages import ScoredPage
from streams.replay.comparisons import ComponentChange, component_changes

_FACTS = ("cts_score", "trust_label", "tier", "state", "title", "date", "authors", "site_name", "language")
_MOST_LINES = 400
_SHOWN_LINES = 12


@dataclass(frozen=True, slots=True)
class PageChanges:
    """How a version of a page differs from the one before it; of many lines, the first are kept."""

    components: tuple[ComponentChange, ...]
    facts: list[tuple[str, str, str]]
    added: list[str]
    removed: list[str]
    more_lines: int
    other_rules: bool

    @property
    def is_empty(self) -> bool:
        return not (self.components or self.facts or self.added or self.removed or self.other_rules)


def changes_between(before: ScoredPage, after: ScoredPage) -> PageChanges:
    old, new = before.content.splitlines()[:_MOST_LINES], after.content.splitlines()[:_MOST_LINES]
    lines = [*unified_diff(old, new, n=0, lineterm="")][2:]  # without the heading
    removed, added = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
    facts = [(name, _word(getattr(before, name)), _word(getattr(after, name))) for name in _FACTS]
    return PageChanges(
        components=component_changes(before, after),
        facts=[fact for fact in facts if fact[1] != fact[2]],
        added=added[:_SHOWN_LINES],
        removed=removed[:_SHOWN_LINES],
        more_lines=max(0, len(added) - _SHOWN_LINES) + max(0, len(removed) - _SHOWN_LINES),
        other_rules=before.config_version != after.config_version,
    )


def _word(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
