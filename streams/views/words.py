"""Decisions for people: what they are about, a verdict on one line, its reasons, and counts of their fields."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from handlers.html.links import canonical_url, host_of, registrable_domain
from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from schemas.dead import DeadLetter, dead_letter_topic
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
from streams.topology import DECISIONS_REVIEWED, EXTRACTION_NEEDED, HANDLERS, TOPICS, topic_named
from streams.topology.codec import decode, timestamp

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord


WEB = ("http://", "https://")


class SubjectKind(StrEnum):
    PAGE = "page"
    BATCH = "batch"
    REQUEST = "request"
    CLAIM = "claim"
    UTTERANCE = "utterance"
    QUERY = "query"


class Subject(NamedTuple):
    kind: SubjectKind
    id: str


def subject_of(event: Event) -> Subject | None:
    """The subject of an event; None for events of the installation, such as plans of replays."""
    match event:
        case CrawledPage() | ScoredPage() | DocumentIndexed():
            return Subject(SubjectKind.PAGE, event.url)
        case RetrievalBatch() | ResultsClassified() | RetrievalEvaluated() | SearchEvaluated():
            return Subject(SubjectKind.BATCH, event.batch_id)
        case ExtractionNeeded() | ExtractionCompleted() if event.batch_id:
            return Subject(SubjectKind.BATCH, event.batch_id)
        case ExtractedClaim() | ClaimEvaluated():
            return Subject(SubjectKind.CLAIM, event.claim_id)
        case UtteranceRecorded() | UtteranceIndexed():
            return Subject(SubjectKind.UTTERANCE, event.utterance_id)
        case RankingRequested() | RankingCompleted() | RankingFeedback():
            return Subject(SubjectKind.QUERY, event.request_id)
        case _:
            request = getattr(event, "request_id", None)
            return Subject(SubjectKind.REQUEST, request) if request else None


def page_number(url: str) -> int:
    """A signed 64-bit number of a page: the same for all addresses of the page in one canonical form."""
    return int.from_bytes(blake2b((canonical_url(url) or url).encode(), digest_size=8).digest(), signed=True)


def keys_of(subject: str) -> dict[str, set[bytes]]:
    """The keys of a subject by topic, without the prefix; dead letters keep the key of their record."""
    if subject.startswith(WEB):
        spellings = {url.encode() for url in (subject, canonical_url(subject)) if url}
        keys = {topic.name: spellings for topic in TOPICS if topic.key_means == "url"}
        keys[EXTRACTION_NEEDED.name] = {registrable_domain(host_of(subject)).encode()}
        keys[DECISIONS_REVIEWED.name] = spellings
    else:
        named = [topic for topic in TOPICS if topic.key_means != "url" and topic not in (EXTRACTION_NEEDED,)]
        keys = {topic.name: {subject.encode()} for topic in named if not topic.compacted}
    dead = {dead_letter_topic(handler.consumes.name, handler.group): handler.consumes.name for handler in HANDLERS}
    return keys | {letters: keys[topic] for letters, topic in dead.items() if topic in keys}


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
