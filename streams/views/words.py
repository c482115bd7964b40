"""Decisions in words: a verdict on one line, and its reasons. For `assay why`, `assay tail` and the console."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from schemas.dead import DeadLetter
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.outcome import Dead
from schemas.pages import CrawledPage, ScoredPage
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, RankingFeedback
from schemas.relevance import (
    RelevanceJudged,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.review import DecisionReviewed
from schemas.search import SearchEvaluated
from schemas.states import State
from streams.topology import topic_named
from streams.topology.codec import decode, timestamp

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

Decision = Event | DeadLetter | Dead
_VERDICTS: Mapping[type, Callable[[Any], str]] = {
    DeadLetter: lambda letter: f"dead letter of {letter.handler}: {letter.reason}",
    Dead: lambda dead: f"unreadable record: {dead.reason}",
    RetrievalBatch: lambda event: f"attempt {event.attempt}: {len(event.retrieved_content)} results to judge",
    ExtractedClaim: lambda event: f"claim to judge: {event.claim_text}",
    UtteranceRecorded: lambda event: f"utterance of {event.source_id}",
    UtteranceIndexed: lambda event: f"utterance {event.change}",
    SnippetsRequested: lambda event: f"snippets requested: {event.query or event.context or 'no query'}",
    RelevanceRequested: lambda event: f"relevance requested: {event.url}",
    RankingRequested: lambda event: f"query: {event.query}",
    RankingFeedback: lambda event: f"feedback on {event.url}",
    CrawledPage: lambda event: f"crawled, {len(event.body):,} {'bytes' if event.html_base64 else 'characters'}",
    ScoredPage: lambda event: (
        f"{'' if event.state is State.CONTENT else f'no content ({event.state}), '}"
        f"{'no score' if event.cts_score is None else f'score {event.cts_score}'}, tier {event.tier}, "
        f"label {event.trust_label}"
    ),
    DocumentIndexed: lambda event: (
        f"index {event.change}{'' if event.state is State.CONTENT else f' ({event.state})'}, tier {event.tier}, "
        f"{event.points} points"
    ),
    ResultsClassified: lambda event: (
        f"attempt {event.attempt}: {event.counts.specific_content} detail pages, {event.counts.aggregator} listings, "
        f"{event.counts.navigation} navigation, actionable {event.actionable_information:.2f}"
    ),
    RetrievalEvaluated: lambda event: (
        f"attempt {event.attempt}: {'passed' if event.passed else 'not passed'}, {event.overall_score:.2f}; "
        f"next step {event.next_step}"
    ),
    SearchEvaluated: lambda event: (
        f"attempt {event.attempt}: {event.recommendation}, quality {event.quality_score:.2f}"
    ),
    ExtractionNeeded: lambda event: f"extraction needed: {event.reason}, {event.target_url}",
    ExtractionCompleted: lambda event: (
        f"extraction {event.status}, {len(event.fetched)} fetched, {len(event.skipped)} skipped"
    ),
    RelevanceJudged: lambda event: f"{event.outcome}: {event.url}",
    SnippetExtracted: lambda event: f"snippet {event.outcome}: {event.url}",
    SnippetsCompleted: lambda event: f"snippets completed, {len(event.sources)} sources",
    ClaimEvaluated: lambda event: (
        f"claim {event.status}"
        if event.decontextualization_score is None
        else f"claim {event.band}, {event.decontextualization_score:.2f}"
    ),
    RankingCompleted: lambda event: f"ranked {len(event.results)} results",
    DecisionReviewed: lambda event: f"{event.decision.handler} reviewed: {'right' if event.right else 'wrong'}",
}
_REASONS: Mapping[type, Callable[[Any], list[str]]] = {
    DeadLetter: lambda letter: [letter.error],
    Dead: lambda dead: [dead.detail],
    ScoredPage: lambda event: [
        *event.reasons,
        *(hidden.in_words() for hidden in event.hidden_text),
        *([f"addresses a language model: {event.injection_suspected}"] if event.injection_suspected else []),
    ],
    ResultsClassified: lambda event: [
        *_known(event.extraction_reason),
        *(f"{result.result_type} {result.url}: {'; '.join(result.reasons)}" for result in event.results),
    ],
    RetrievalEvaluated: lambda event: [
        *(f"{name} {score:.2f}" for name, score in event.scores.to_wire().items()),
        *event.reasons,
    ],
    SearchEvaluated: lambda event: [*_known(event.gaps), *(f"missing: {name}" for name in event.missing_fields)],
    ExtractionNeeded: lambda event: _known(event.extraction_reason),
    ExtractionCompleted: lambda event: [f"{skipped.reason}: {skipped.url}" for skipped in event.skipped],
    RelevanceJudged: lambda event: [*event.reasons, *_known(event.detail, event.summary_failure)],
    SnippetExtracted: lambda event: [str(event.snippet or event.failure)],
    SnippetsCompleted: lambda event: [f"{source.outcome}: {source.url}" for source in event.sources],
    ClaimEvaluated: lambda event: _known(event.detail, (event.exclusion or "").replace("_", " ")),
    RankingCompleted: lambda event: [f"{note.stage}: {note.reason}" for note in event.notes if note.reason],
    DecisionReviewed: lambda event: _known(event.expected and f"expected {event.expected}", event.note),
}


def decision_in(record: ConsumerRecord, topic_prefix: str) -> Decision | None:
    """The decision or the input that a record has; None for a record that is no event."""
    if (topic := topic_named(record.topic.removeprefix(topic_prefix))) is None:
        letter = DeadLetter.of(record.headers)
        return letter if letter.reason else None
    return decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)


def verdict_of(decision: Decision) -> str:
    words = _VERDICTS.get(type(decision))
    return type(decision).__name__ if words is None else words(decision)


def reasons_of(decision: Decision) -> list[str]:
    """The reasons, in the order of the event."""
    words = _REASONS.get(type(decision))
    return [] if words is None else words(decision)


def _known(*texts: str | None) -> list[str]:
    return [text for text in texts if text]
