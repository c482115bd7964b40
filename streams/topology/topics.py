"""Every topic, declared once, and the names that a replay derives. No other module declares a topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from handlers.html.links import host_of, registrable_domain
from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from schemas.dead import dead_letter_topic
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
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
from schemas.replays import ReplayPlan
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.review import DecisionReviewed
from schemas.search import SearchEvaluated

if TYPE_CHECKING:
    from streams.topology.handlers import Handler

MIB = 1024 * 1024
TOPIC_BYTES = 12 * MIB  # the largest record of a topic: an 8 MB page, as base64 in JSON
DEAD_LETTER_BYTES = 13 * MIB  # the largest record of a dead letter topic: any record of a topic, and its headers
RETENTION_DAYS = 7  # of events; a replay can go back this far
DEAD_LETTER_RETENTION_DAYS = 30  # longer than that of events: an operator has to look at dead letters


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic and its events.

    Attributes:
        name: Before the prefix of the settings.
        event: The event type; every event type has exactly one topic.
        keyed_by: The field whose value is the record key of an event; with ``key_of`` the key in words.
        key_of: Makes the key that is not a field.
        meaning: One sentence for the documentation.
        written_by: Producers outside Assay; handlers that write are derived.
        read_by: Consumers outside Assay.
        raw_pages: Whether a record may be a page's bytes instead of JSON.
        partitions: At creation.
        compacted: Whether Kafka keeps the newest event of each key for ever, instead of all events for some days.
        readers_dedupe: Whether all consumers ignore a second copy of an event with the same id. If false, a replay
            writes here only after the operator confirms that all consumers do.
    """

    name: str
    event: type[Event]
    keyed_by: str
    meaning: str
    key_of: Callable[[Any], str] | None = None
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    raw_pages: bool = False
    partitions: int = 6
    compacted: bool = False
    readers_dedupe: bool = False

    def key(self, event: Event) -> str:
        key: str = getattr(event, self.keyed_by) if self.key_of is None else self.key_of(event)
        return key

    @property
    def key_means(self) -> str:
        """The key, for people: the name of the field on the wire."""
        field = self.event.model_fields.get(self.keyed_by)
        return (field.serialization_alias if field else None) or self.keyed_by


def _target_domain(event: ExtractionNeeded) -> str:
    return registrable_domain(host_of(event.target_url))


def _requester(event: ExtractionCompleted) -> str:
    return event.batch_id or event.request_id or event.extraction_id


PAGES_CRAWLED = Topic(
    name="pages.crawled.v1",
    event=CrawledPage,
    keyed_by="url",
    meaning="Pages from a crawler or from `fetch_page`.",
    written_by=("your crawler",),
    raw_pages=True,
)
PAGES_SCORED = Topic(
    name="pages.scored.v1",
    event=ScoredPage,
    keyed_by="url",
    meaning="Pages with content trust score, tier and label.",
    readers_dedupe=True,  # the ids of points derive from the page, and the newest version wins
)
DOCUMENTS_INDEXED = Topic(
    name="documents.indexed.v1",
    event=DocumentIndexed,
    keyed_by="url",
    meaning="The points of each page in the index, and what changed.",
    read_by=("dashboards",),
    readers_dedupe=True,  # the state of a document
)
RETRIEVAL_BATCHES = Topic(
    name="retrieval.batches.v1",
    event=RetrievalBatch,
    keyed_by="batch_id",
    meaning="Results of a search step for one query.",
    written_by=("your orchestrator",),
)
RESULTS_CLASSIFIED = Topic(
    name="results.classified.v1",
    event=ResultsClassified,
    keyed_by="batch_id",
    meaning="Batches with the type of every result: detail page, listing or navigation.",
)
RETRIEVAL_EVALUATED = Topic(
    name="retrieval.evaluated.v1",
    event=RetrievalEvaluated,
    keyed_by="batch_id",
    meaning="The evaluation of a batch in four dimensions.",
    read_by=("your orchestrator",),
)
SEARCH_EVALUATED = Topic(
    name="search.evaluated.v1",
    event=SearchEvaluated,
    keyed_by="batch_id",
    meaning="Whether a search is complete or another query is needed.",
    read_by=("your orchestrator",),
)
EXTRACTION_NEEDED = Topic(
    name="extraction.needed.v1",
    event=ExtractionNeeded,
    keyed_by="registrable domain of the target",
    key_of=_target_domain,
    meaning="Listings whose detail pages should be fetched, and sources to be judged.",
    partitions=12,
)
EXTRACTION_COMPLETED = Topic(
    name="extraction.completed.v1",
    event=ExtractionCompleted,
    keyed_by="batch_id or request_id",
    key_of=_requester,
    meaning="The result of each extraction.",
    read_by=("your orchestrator",),
)
SNIPPETS_REQUESTED = Topic(
    name="snippets.requested.v1",
    event=SnippetsRequested,
    keyed_by="request_id",
    meaning="Queries for snippets from approved sources.",
    written_by=("your application",),
)
RELEVANCE_REQUESTED = Topic(
    name="relevance.requested.v1",
    event=RelevanceRequested,
    keyed_by="request_id",
    meaning="Fetched sources, to be judged for a query.",
    written_by=("your application",),
)
RELEVANCE_JUDGED = Topic(
    name="relevance.judged.v1",
    event=RelevanceJudged,
    keyed_by="request_id",
    meaning="Whether each source is relevant to its query, and how that was judged.",
    read_by=("dashboards",),
)
SNIPPETS_EXTRACTED = Topic(
    name="snippets.extracted.v1",
    event=SnippetExtracted,
    keyed_by="request_id",
    meaning="The snippet of each relevant source, or why it has none.",
    read_by=("your application",),
)
SNIPPETS_COMPLETED = Topic(
    name="snippets.completed.v1",
    event=SnippetsCompleted,
    keyed_by="request_id",
    meaning="Completed requests, with the outcome of each source.",
    read_by=("your application",),
)
CLAIMS_EXTRACTED = Topic(
    name="claims.extracted.v1",
    event=ExtractedClaim,
    keyed_by="claim_id",
    meaning="Factual statements, each with its source text.",
    written_by=("your claim extractor",),
)
CLAIMS_EVALUATED = Topic(
    name="claims.evaluated.v1",
    event=ClaimEvaluated,
    keyed_by="claim_id",
    meaning="Whether each claim can be understood without its context, and may be promoted.",
    read_by=("promotion", "concept linking"),
)
UTTERANCES_RECORDED = Topic(
    name="utterances.recorded.v1",
    event=UtteranceRecorded,
    keyed_by="utterance_id",
    meaning="Sentences that claims are compared with.",
    written_by=("your application",),
)
UTTERANCES_INDEXED = Topic(
    name="utterances.indexed.v1",
    event=UtteranceIndexed,
    keyed_by="utterance_id",
    meaning="Utterances in the index.",
    read_by=("dashboards",),
    readers_dedupe=True,  # the state of an utterance
)
RANKING_REQUESTED = Topic(
    name="ranking.requested.v1",
    event=RankingRequested,
    keyed_by="request_id",
    meaning="Queries to be answered from the index, or from candidates in the request.",
    written_by=("your application",),
)
RANKING_COMPLETED = Topic(
    name="ranking.completed.v1",
    event=RankingCompleted,
    keyed_by="request_id",
    meaning="Ranked results with trust labels, the reasons for each rank, and a context for a model.",
    read_by=("your application", "assay train"),
)
RANKING_FEEDBACK = Topic(
    name="ranking.feedback.v1",
    event=RankingFeedback,
    keyed_by="request_id",
    meaning="Feedback on results: clicks, dwell times, grades.",
    written_by=("your application",),
    read_by=("assay train",),
)
DECISIONS_REVIEWED = Topic(
    name="decisions.reviewed.v1",
    event=DecisionReviewed,
    keyed_by="the key of the decision",
    key_of=attrgetter("decision.subject"),
    meaning="Editors' marks on decisions: right, or wrong.",
    written_by=("assay console",),
    read_by=("assay console", "assay export"),
    readers_dedupe=True,  # the newest mark of each decision counts
)
REPLAYS = Topic(
    name="replays.v1",
    event=ReplayPlan,
    keyed_by="plan",
    meaning="The plans of replays and their progress.",
    written_by=("assay replay",),
    read_by=("assay replay",),
    partitions=1,
    compacted=True,
    readers_dedupe=True,
)

TOPICS: tuple[Topic, ...] = tuple(declared for declared in globals().values() if isinstance(declared, Topic))
"""All of the above, in their order."""


def topic_of(event: Event) -> Topic:
    """The topic of an event. Raises KeyError for a type without a topic, which is a bug."""
    return _BY_EVENT[type(event)]


def topic_named(name: str) -> Topic | None:
    """The topic of that logical name, or None."""
    return next((topic for topic in TOPICS if topic.name == name), None)


_BY_EVENT: dict[type[Event], Topic] = {topic.event: topic for topic in TOPICS}


def shadow_topic(topic: str, plan: str) -> str:
    """The plan's topic in place of a live topic; both before the prefix.

    >>> shadow_topic("pages.scored.v1", "rescore")
    'pages.scored.v1.replay.rescore'
    """
    return f"{topic}.replay.{plan}"


def replay_group(handler: str, plan: str) -> str:
    """The beginning of a handler's groups and dead letter topics in plans of that name, before the prefix.

    >>> replay_group("score_page", "rescore")
    'assay.score_page.replay.rescore'
    """
    return f"assay.{handler}.replay.{plan}"


def run_group(handler: str, plan: ReplayPlan) -> str:
    """The consumer group of a handler in a plan, before the prefix. A later plan of the same name has another one."""
    return f"{replay_group(handler, plan.plan)}.{plan.run.rpartition('-')[2]}"


def replay_dead_letters(handler: Handler, plan: str) -> str:
    """The topic of a plan's dead letters of a handler, before the prefix."""
    return dead_letter_topic(handler.consumes.name, replay_group(handler.name, plan))
