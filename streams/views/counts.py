"""Counts decisions by their fields, for ``assay stats`` and the demonstration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from schemas.claims import ClaimEvaluated, UtteranceIndexed
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import RelevanceJudged, SnippetsCompleted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated

DECISION_FIELDS: Mapping[type[Event], str] = {
    ScoredPage: "tier",
    DocumentIndexed: "change",
    ResultsClassified: "needsExtraction",
    RetrievalEvaluated: "scoreSource",
    SearchEvaluated: "outcome",
    ExtractionCompleted: "status",
    RelevanceJudged: "outcome",
    SnippetsCompleted: "failure",
    ClaimEvaluated: "status",
    UtteranceIndexed: "change",
    RankingCompleted: "notes.outcome",  # of any stage: failed for a judge that failed
}
"""For each event that is a decision, the wire name of the field that ``--outcome VALUE`` tests."""

BAND = 10  # points of a band of scores


class DecisionCounts:
    """The decisions on one topic: their number, the values of their fields, and scores by bands."""

    def __init__(self) -> None:
        self.events = 0
        self.fields: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.bands = dict.fromkeys(range(10), 0)

    def add(self, event: Event) -> None:
        self.events += 1
        for name, value in facts_of(event):
            self.fields[name][value] += 1
        if isinstance(event, ScoredPage) and event.cts_score is not None:
            self.bands[min(event.cts_score, 99) // BAND] += 1

    def to_wire(self) -> dict[str, dict[str, int]]:
        return {name: dict(values.most_common()) for name, values in self.fields.items()}


def facts_of(event: Event) -> Iterator[tuple[str, str]]:
    """The fields of a decision that are counted, with their values."""
    match event:
        case ScoredPage():
            yield from (("tier", event.tier), ("label", event.trust_label), ("language", event.language or "unknown"))
            yield "state", event.state
        case ResultsClassified():
            yield from (("type", result.result_type) for result in event.results)
            yield from (("state", result.state) for result in event.results)
            yield "needs extraction", _word(event.needs_extraction)
        case RetrievalEvaluated():
            yield from (("passed", _word(event.passed)), ("next step", event.next_step), ("judge", event.score_source))
        case DocumentIndexed():
            yield from (("change", event.change), ("state", event.state))
        case ExtractionCompleted():
            yield "status", event.status
            yield from (("skipped", source.reason) for source in event.skipped)
        case _:
            name = DECISION_FIELDS.get(type(event), "")
            if name and "." not in name:
                yield name, _word(event.to_wire()[name])


def _word(value: object) -> str:
    return "none" if value is None else ("no", "yes")[value] if isinstance(value, bool) else str(value)
