"""The goals, each with the figure that decides it; a figure that could not be measured decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tools.accuracy.contestants import ASSAY, HTMLDATE, TRAFILATURA
from tools.accuracy.counting import Tally

LEAST_LABELLED = 10
"""A set with fewer labels has no goal; it counts in the goals of all sets together."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal.

    Attributes:
        what: What is asked for.
        figure: What was measured, and the value that it is compared with.
        is_met: Whether it is reached.
    """

    what: str
    figure: str
    is_met: bool


def date_goals(tally: Tally) -> list[Goal]:
    """On each set, and together, as many dates right as the best of htmldate's ways."""
    goals = []
    for group in _telling(tally):
        theirs = max((tally.of(name, group).share or 0.0, name) for name in HTMLDATE)
        ours = tally.of(ASSAY, group).share or 0.0
        goals.append(_at_least(f"dates, {group}: at least htmldate's share", ours, theirs[0], f"by {theirs[1]}"))
    return goals


def author_goals(tally: Tally) -> list[Goal]:
    """Trafilatura's share and 0.05 more, on each set and together; precision of 0.90 together."""
    goals = []
    for group in _telling(tally):
        ours, theirs = tally.of(ASSAY, group).share or 0.0, tally.of(TRAFILATURA, group).share or 0.0
        goals.append(_at_least(f"authors, {group}: Trafilatura's share + 0.05", ours, min(1.0, theirs + 0.05)))
    if goals:
        precision = tally.of(ASSAY).precision or 0.0
        goals.append(_at_least("authors, together: precision where one is labelled", precision, 0.9))
    return goals


def text_goals(wanted: Tally, unwanted: Tally) -> list[Goal]:
    """At least Trafilatura's share of what belongs to the text, at most its share of what does not."""
    goals = []
    for group in _telling(wanted):
        ours, theirs = wanted.of(ASSAY, group).share or 0.0, wanted.of(TRAFILATURA, group).share or 0.0
        goals.append(_at_least(f"main text, {group}: must_contain at least Trafilatura's", ours, theirs))
    for group in _telling(unwanted):
        ours, theirs = unwanted.of(ASSAY, group).share or 0.0, unwanted.of(TRAFILATURA, group).share or 0.0
        goals.append(_at_most(f"main text, {group}: must_not_contain at most Trafilatura's", ours, theirs))
    return goals


def raised_goal(pages: int, raised: int) -> Goal:
    """Nothing raises."""
    return Goal("no exception on any page", f"{raised} on {pages} pages", raised == 0)


def _telling(tally: Tally) -> list[str]:
    return [group for group in tally.groups() if tally.of(ASSAY, group).labelled >= LEAST_LABELLED]


def _at_least(what: str, ours: float, wanted: float, by: str = "") -> Goal:
    return Goal(what, f"{ours:.3f} against {wanted:.3f} {by}".rstrip(), ours >= wanted)


def _at_most(what: str, ours: float, wanted: float) -> Goal:
    return Goal(what, f"{ours:.3f} against {wanted:.3f}", ours <= wanted)
