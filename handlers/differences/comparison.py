"""Which comparison fits which decision. ``assay try --diff`` feeds one, and so can a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from handlers.differences.pages import PageDifferences
from handlers.differences.results import ResultsDifferences
from schemas.event import Event
from schemas.outcome import Outcome
from schemas.pages import ScoredPage
from schemas.retrieval import ResultsClassified


class Comparison(Protocol):
    """Counts what differs between outcomes of the same inputs, in bounded memory."""

    inputs: int

    def add(self, now: Outcome, then: Outcome) -> None:
        """Counts the outcomes of one input under the configuration now and under the other one."""
        ...

    def to_wire(self) -> dict[str, Any]:
        """What was counted, as plain JSON types."""
        ...


COMPARISONS: Mapping[type[Event], Callable[[int], Comparison]] = {
    ScoredPage: PageDifferences,
    ResultsClassified: ResultsDifferences,
}
"""By the event that is the decision; each is made with the number of differences to keep."""
