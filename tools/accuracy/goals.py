"""The goals, each with the figure that decides it; a figure that could not be measured decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tools.accuracy.contestants import ASSAY, HTMLDATE, TRAFILATURA
from tools.accuracy.counting import Tally
from tools.accuracy.speed import BAND, Speed

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


def schema_goals(tally: Tally) -> list[Goal]:
    """0.95 of the types that JSON-LD and microdata name."""
    shares = {form: tally.of(ASSAY, form).share or 0.0 for form in ("JSON-LD", "microdata")}
    return [_at_least(f"{tally.question}, {form}", share, 0.95) for form, share in shares.items()]


def speed_goals(speed: Speed) -> list[Goal]:
    """Thirty times Trafilatura's pages a second; ten milliseconds a page of 200 KB, one without reading it."""
    ours = speed.pages_per_second["Assay, score_page"]
    theirs = speed.pages_per_second.get("Trafilatura, text and metadata")
    goals = []
    if theirs:
        ratio = ours / theirs
        goals.append(Goal("pages a second: 30 times Trafilatura's", f"{ratio:.1f} times", ratio >= 30))
    if speed.band:
        size = f"pages of {BAND[0] // 1000} to {BAND[1] // 1000} KB"
        whole, alone = speed.band["whole page"].p95, speed.band["scoring alone"].p95
        goals.append(Goal(f"{size}, with the parse: at most 10 ms p95", f"{whole:.1f} ms", whole <= 10))
        goals.append(Goal(f"{size}, scoring alone: at most 1 ms p95", f"{alone:.2f} ms", alone <= 1))
    most = speed.stages["without the parse"].most
    goals.append(Goal("without the parse: never above 100 ms", f"{most:.1f} ms at most", most <= 100))
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
