"""What a decision is about: a page, a batch, a request or a claim; and the keys of the records about a subject."""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

from handlers.html.links import canonical_url, host_of, registrable_domain
from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from schemas.dead import dead_letter_topic
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.pages import CrawledPage, ScoredPage
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, RankingFeedback
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.topology import DECISIONS_REVIEWED, EXTRACTION_NEEDED, HANDLERS, TOPICS

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
