"""Which decisions can be compared under two configurations, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from schemas.event import Event
from schemas.pages import ScoredPage
from schemas.retrieval import ResultsClassified
from streams.replay.diff import Comparison
from streams.replay.diff_pages import PageDifferences
from streams.replay.diff_results import ResultsDifferences
from streams.topology import HANDLERS, Handler

_COMPARISONS: Mapping[type[Event], Callable[[int], Comparison]] = {
    ScoredPage: PageDifferences,
    ResultsClassified: ResultsDifferences,
}
"""By the event of the decision; each takes the number of differences to keep."""


def comparison_of(handler: Handler, limit: int) -> Comparison | None:
    """An empty comparison of a handler's decisions; None if decisions of its kind cannot be compared."""
    return next((_COMPARISONS[topic.event](limit) for topic in handler.emits if topic.event in _COMPARISONS), None)


def comparable() -> list[Handler]:
    """The handlers whose decisions can be compared."""
    return [handler for handler in HANDLERS if comparison_of(handler, 0)]
