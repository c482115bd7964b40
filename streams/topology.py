"""The topology: every topic and every handler, declared once. No other module declares a topic.

FastStream routers, topic creation, metric labels, dashboards, compose services, the graph picture and the handler docs
derive from ``TOPICS`` and ``HANDLERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from typing import Any, Literal

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.decontextualize_claim import MOST_ASKS, DecontextualizeClaimRules, decontextualize_claim, read_judgment
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval, read_retrieval
from handlers.evaluate_search import EvaluateSearchRules, evaluate_search, read_search
from handlers.fetch_page import FetchPageRules, fetch_page, read_pages
from handlers.html.links import host_of, registrable_domain
from handlers.index_page import IndexPageRules, index_page, read_index
from handlers.index_utterance import IndexUtteranceRules, index_utterance, read_utterance
from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance, read_relevance
from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from handlers.request_snippets import RequestSnippetsRules, request_snippets
from handlers.score_page import ScorePageRules, score_page
from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.needs import Ask, AskModel, FetchPages, IndexDocument, Need, SearchVectors
from schemas.outcome import Outcome
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
from schemas.replies import Reply
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.review import DecisionReviewed
from schemas.rules import Rules
from schemas.search import SearchEvaluated

MIB = 1024 * 1024
TOPIC_BYTES = 12 * MIB
"""The largest record of a topic: an 8 MB page, as base64 in JSON."""
DEAD_LETTER_BYTES = 13 * MIB
"""The largest record of a dead letter topic: any record of a topic, and its headers."""
RETENTION_DAYS = 7
"""Of events; a replay can go back this far."""
DEAD_LETTER_RETENTION_DAYS = 30
"""Longer than that of events: an operator has to look at dead letters."""

Lane = Literal["cpu", "llm", "fetch", "index", "query"]
ReplayPolicy = Literal["safe", "paid", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic and its events.

    Attributes:
        name: Before the prefix of the settings.
        event: The event type; every event type has exactly one topic.
        key: The record key of an event.
        key_means: The key, for people.
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
    key: Callable[[Any], str]
    key_means: str
    meaning: str
    written_by: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    raw_pages: bool = False
    partitions: int = 6
    compacted: bool = False
    readers_dedupe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlaceRetry:
    """Short retries in place, with exponential back-off and full jitter.

    Attributes:
        attempts: Including the first one.
        first_seconds: Upper bound of the first pause.
        max_seconds: Upper bound of any pause.
    """

    attempts: int
    first_seconds: float
    max_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryTopic:
    """A delayed retry topic of a handler, and the consumer group that reads it; both before the prefix.

    It has its own group, so that a rebalance does not affect the handler's own topic.
    """

    topic: str
    group: str
    delay_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A handler and how it is run.

    Attributes:
        name: A verb; file, test, docs page, consumer group and metric label share it.
        fn: Decides on an event, or makes a request.
        read: Continues with the event, the replies so far, the rules and, if the last ask has one, its state; None
            for a handler that makes no requests.
        consumes: The topic that it reads.
        emits: The topics that it may write; another one is a bug.
        rules: The configuration that its decisions depend on.
        lane: The worker deployment that runs it; nothing else depends on it.
        asks: The requests that it may make; another one is a bug.
        needs_index: Whether it cannot work without the index, which is then opened before the first record.
        answers_queries: Whether queries over HTTP and of ``assay query`` run it; one handler of the topology does.
        preload: Modules that are imported at the start of a worker, as the first record would wait for them.
        concurrency: Records in progress at the same time in one process.
        retry: Its own short retries; None for those of the settings.
        retry_later: Delays of its retry topics in seconds, ascending. A record in a retry topic loses its place in the
            order of its key, so a handler that is ordered by key has none.
        ordered_by_key: Whether the records of a key must be handled in order.
        paced_by_key: Whether the records of a key are handled one after another although their order does not matter.
        runs: ``process`` for a handler that reads untrusted pages or renders texts: it runs in a child process, which
            limits its time and memory. ``inline`` for a handler whose work is bounded.
        replay: Whether a replay is safe, costs money, or is refused.
        rounds: The most requests for one event.
        slo_seconds: From produced to done, for 99 of 100 events.
        version: Raised when the meaning of the handler changes; part of its outputs' ids.
    """

    name: str
    fn: Callable[[Any, Any], Outcome | Ask]
    consumes: Topic
    emits: tuple[Topic, ...]
    rules: type[Rules]
    lane: Lane
    slo_seconds: float
    read: Callable[..., Outcome | Ask] | None = None
    concurrency: int = 1
    retry: InPlaceRetry | None = None
    retry_later: tuple[int, ...] = ()
    ordered_by_key: bool = True
    paced_by_key: bool = False
    runs: Literal["inline", "process"] = "inline"
    replay: ReplayPolicy = "safe"
    rounds: int = 0
    asks: frozenset[type[Need]] = frozenset()
    needs_index: bool = False
    answers_queries: bool = False
    preload: tuple[str, ...] = ()
    version: int = 1

    def __post_init__(self) -> None:
        """Refuses a declaration that contradicts itself."""
        if self.ordered_by_key and self.retry_later:
            raise ValueError(f"{self.name} is ordered by key, so its records can't be retried from another topic")
        if len({bool(self.asks), self.read is not None, self.rounds > 0}) > 1:
            raise ValueError(f"{self.name} needs all of asks, read and rounds, or none of them")
        if self.needs_index and not self.asks & {IndexDocument, SearchVectors}:
            raise ValueError(f"{self.name} needs the index and may not ask for it")
        if self.asks_models and self.replay == "safe":
            raise ValueError(f"{self.name} asks models, so a replay is not free of charge")

    def resume(self, event: Event, replies: tuple[Reply, ...], rules: Any, state: Any) -> Outcome | Ask:
        """The answer of ``read`` to the replies so far, with the state of the ask that the last one answers."""
        if self.read is None:
            raise TypeError(f"{self.name} may not ask")
        return self.read(event, replies, rules) if state is None else self.read(event, replies, rules, state)

    @property
    def group(self) -> str:
        """The consumer group, before the prefix."""
        return f"assay.{self.name}"

    @property
    def serialize_by_key(self) -> bool:
        """Whether the records of a key are processed one after another."""
        return self.ordered_by_key or self.paced_by_key

    @property
    def asks_models(self) -> bool:
        """Whether it asks a language model, or the offline judge in its place."""
        return AskModel in self.asks

    @property
    def writes_index(self) -> bool:
        """Whether it writes to the index."""
        return IndexDocument in self.asks

    @property
    def retry_topics(self) -> tuple[RetryTopic, ...]:
        """Its retry topics, the shortest delay first."""
        return tuple(
            RetryTopic(
                topic=f"{self.consumes.name}.{self.group}.retry.{_duration(delay)}",
                group=f"{self.group}.retry.{_duration(delay)}",
                delay_seconds=delay,
            )
            for delay in sorted(self.retry_later)
        )


def _target_domain(event: ExtractionNeeded) -> str:
    return registrable_domain(host_of(event.target_url))


def _requester(event: ExtractionCompleted) -> str:
    return event.batch_id or event.request_id or event.extraction_id


PAGES_CRAWLED = Topic(
    name="pages.crawled.v1",
    event=CrawledPage,
    key=attrgetter("url"),
    key_means="url",
    meaning="Pages from a crawler or from `fetch_page`.",
    written_by=("your crawler",),
    raw_pages=True,
)
PAGES_SCORED = Topic(
    name="pages.scored.v1",
    event=ScoredPage,
    key=attrgetter("url"),
    key_means="url",
    meaning="Pages with content trust score, tier and label.",
    readers_dedupe=True,  # the ids of points derive from the page, and the newest version wins
)
DOCUMENTS_INDEXED = Topic(
    name="documents.indexed.v1",
    event=DocumentIndexed,
    key=attrgetter("url"),
    key_means="url",
    meaning="The points of each page in the index, and what changed.",
    read_by=("dashboards",),
    readers_dedupe=True,  # the state of a document
)
RETRIEVAL_BATCHES = Topic(
    name="retrieval.batches.v1",
    event=RetrievalBatch,
    key=attrgetter("batch_id"),
    key_means="batchId",
    meaning="Results of a search step for one query.",
    written_by=("your orchestrator",),
)
RESULTS_CLASSIFIED = Topic(
    name="results.classified.v1",
    event=ResultsClassified,
    key=attrgetter("batch_id"),
    key_means="batchId",
    meaning="Batches with the type of every result: detail page, listing or navigation.",
)
RETRIEVAL_EVALUATED = Topic(
    name="retrieval.evaluated.v1",
    event=RetrievalEvaluated,
    key=attrgetter("batch_id"),
    key_means="batchId",
    meaning="The evaluation of a batch in four dimensions.",
    read_by=("your orchestrator",),
)
SEARCH_EVALUATED = Topic(
    name="search.evaluated.v1",
    event=SearchEvaluated,
    key=attrgetter("batch_id"),
    key_means="batch_id",
    meaning="Whether a search is complete or another query is needed.",
    read_by=("your orchestrator",),
)
EXTRACTION_NEEDED = Topic(
    name="extraction.needed.v1",
    event=ExtractionNeeded,
    key=_target_domain,
    key_means="registrable domain of the target",
    meaning="Listings whose detail pages should be fetched, and sources to be judged.",
    partitions=12,
)
EXTRACTION_COMPLETED = Topic(
    name="extraction.completed.v1",
    event=ExtractionCompleted,
    key=_requester,
    key_means="batch_id or request_id",
    meaning="The result of each extraction.",
    read_by=("your orchestrator",),
)
SNIPPETS_REQUESTED = Topic(
    name="snippets.requested.v1",
    event=SnippetsRequested,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Queries for snippets from approved sources.",
    written_by=("your application",),
)
RELEVANCE_REQUESTED = Topic(
    name="relevance.requested.v1",
    event=RelevanceRequested,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Fetched sources, to be judged for a query.",
    written_by=("your application",),
)
RELEVANCE_JUDGED = Topic(
    name="relevance.judged.v1",
    event=RelevanceJudged,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Whether each source is relevant to its query, and how that was judged.",
    read_by=("dashboards",),
)
SNIPPETS_EXTRACTED = Topic(
    name="snippets.extracted.v1",
    event=SnippetExtracted,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="The snippet of each relevant source, or why it has none.",
    read_by=("your application",),
)
SNIPPETS_COMPLETED = Topic(
    name="snippets.completed.v1",
    event=SnippetsCompleted,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Completed requests, with the outcome of each source.",
    read_by=("your application",),
)
CLAIMS_EXTRACTED = Topic(
    name="claims.extracted.v1",
    event=ExtractedClaim,
    key=attrgetter("claim_id"),
    key_means="claim_id",
    meaning="Factual statements, each with its source text.",
    written_by=("your claim extractor",),
)
CLAIMS_EVALUATED = Topic(
    name="claims.evaluated.v1",
    event=ClaimEvaluated,
    key=attrgetter("claim_id"),
    key_means="claim_id",
    meaning="Whether each claim can be understood without its context, and may be promoted.",
    read_by=("promotion", "concept linking"),
)
UTTERANCES_RECORDED = Topic(
    name="utterances.recorded.v1",
    event=UtteranceRecorded,
    key=attrgetter("utterance_id"),
    key_means="utterance_id",
    meaning="Sentences that claims are compared with.",
    written_by=("your application",),
)
UTTERANCES_INDEXED = Topic(
    name="utterances.indexed.v1",
    event=UtteranceIndexed,
    key=attrgetter("utterance_id"),
    key_means="utterance_id",
    meaning="Utterances in the index.",
    read_by=("dashboards",),
    readers_dedupe=True,  # the state of an utterance
)
RANKING_REQUESTED = Topic(
    name="ranking.requested.v1",
    event=RankingRequested,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Queries to be answered from the index, or from candidates in the request.",
    written_by=("your application",),
)
RANKING_COMPLETED = Topic(
    name="ranking.completed.v1",
    event=RankingCompleted,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Ranked results with trust labels, the reasons for each rank, and a context for a model.",
    read_by=("your application", "assay train"),
)
RANKING_FEEDBACK = Topic(
    name="ranking.feedback.v1",
    event=RankingFeedback,
    key=attrgetter("request_id"),
    key_means="request_id",
    meaning="Feedback on results: clicks, dwell times, grades.",
    written_by=("your application",),
    read_by=("assay train",),
)
DECISIONS_REVIEWED = Topic(
    name="decisions.reviewed.v1",
    event=DecisionReviewed,
    key=attrgetter("decision.subject"),
    key_means="the key of the decision",
    meaning="Editors' marks on decisions: right, or wrong.",
    written_by=("assay console",),
    read_by=("assay console", "assay export"),
    readers_dedupe=True,  # the newest mark of each decision counts
)
REPLAYS = Topic(
    name="replays.v1",
    event=ReplayPlan,
    key=attrgetter("plan"),
    key_means="plan",
    meaning="The plans of replays and their progress.",
    written_by=("assay replay",),
    read_by=("assay replay",),
    partitions=1,
    compacted=True,
    readers_dedupe=True,
)

TOPICS: tuple[Topic, ...] = (
    PAGES_CRAWLED,
    PAGES_SCORED,
    DOCUMENTS_INDEXED,
    RETRIEVAL_BATCHES,
    RESULTS_CLASSIFIED,
    RETRIEVAL_EVALUATED,
    SEARCH_EVALUATED,
    EXTRACTION_NEEDED,
    EXTRACTION_COMPLETED,
    SNIPPETS_REQUESTED,
    RELEVANCE_REQUESTED,
    RELEVANCE_JUDGED,
    SNIPPETS_EXTRACTED,
    SNIPPETS_COMPLETED,
    CLAIMS_EXTRACTED,
    CLAIMS_EVALUATED,
    UTTERANCES_RECORDED,
    UTTERANCES_INDEXED,
    RANKING_REQUESTED,
    RANKING_COMPLETED,
    RANKING_FEEDBACK,
    DECISIONS_REVIEWED,
    REPLAYS,
)

HANDLERS: tuple[Handler, ...] = (
    Handler(
        name="score_page",
        fn=score_page,
        consumes=PAGES_CRAWLED,
        emits=(PAGES_SCORED,),
        rules=ScorePageRules,
        lane="cpu",
        runs="process",
        slo_seconds=60,
    ),
    Handler(
        name="index_page",
        fn=index_page,
        read=read_index,
        consumes=PAGES_SCORED,
        emits=(DOCUMENTS_INDEXED,),
        rules=IndexPageRules,
        lane="index",
        runs="process",
        asks=frozenset({IndexDocument}),
        needs_index=True,
        concurrency=16,
        ordered_by_key=False,  # the newer version wins in any order
        paced_by_key=True,
        retry_later=(60, 600),
        rounds=1,
        slo_seconds=120,
    ),
    Handler(
        name="classify_results",
        fn=classify_results,
        consumes=RETRIEVAL_BATCHES,
        emits=(RESULTS_CLASSIFIED, EXTRACTION_NEEDED),
        rules=ClassifyResultsRules,
        lane="cpu",
        runs="process",
        slo_seconds=10,
    ),
    Handler(
        name="fetch_page",
        fn=fetch_page,
        read=read_pages,
        consumes=EXTRACTION_NEEDED,
        emits=(
            PAGES_CRAWLED,
            RETRIEVAL_BATCHES,
            EXTRACTION_COMPLETED,
            EXTRACTION_NEEDED,
            RELEVANCE_REQUESTED,
            SNIPPETS_COMPLETED,
        ),
        rules=FetchPageRules,
        lane="fetch",
        runs="process",
        asks=frozenset({FetchPages}),
        concurrency=32,
        ordered_by_key=False,  # extractions of a host are independent
        paced_by_key=True,
        retry_later=(60, 600),
        replay="never",
        rounds=11,  # the most listing pages that the configuration may allow, and their detail pages
        slo_seconds=120,
    ),
    Handler(
        name="evaluate_retrieval",
        fn=evaluate_retrieval,
        read=read_retrieval,
        consumes=RESULTS_CLASSIFIED,
        emits=(RETRIEVAL_EVALUATED,),
        rules=EvaluateRetrievalRules,
        lane="llm",
        asks=frozenset({AskModel}),
        concurrency=32,
        ordered_by_key=False,  # batches are independent
        retry_later=(60, 600),
        replay="paid",
        rounds=1,
        slo_seconds=120,
    ),
    Handler(
        name="evaluate_search",
        fn=evaluate_search,
        read=read_search,
        consumes=RETRIEVAL_BATCHES,
        emits=(SEARCH_EVALUATED,),
        rules=EvaluateSearchRules,
        lane="llm",
        runs="process",
        asks=frozenset({AskModel}),
        concurrency=32,
        ordered_by_key=False,  # batches are independent
        retry_later=(60, 600),
        replay="paid",
        rounds=1,
        slo_seconds=120,
    ),
    Handler(
        name="request_snippets",
        fn=request_snippets,
        consumes=SNIPPETS_REQUESTED,
        emits=(EXTRACTION_NEEDED, SNIPPETS_COMPLETED),
        rules=RequestSnippetsRules,
        lane="cpu",
        slo_seconds=10,
    ),
    Handler(
        name="judge_relevance",
        fn=judge_relevance,
        read=read_relevance,
        consumes=RELEVANCE_REQUESTED,
        emits=(RELEVANCE_JUDGED, SNIPPETS_EXTRACTED, EXTRACTION_NEEDED, SNIPPETS_COMPLETED),
        rules=JudgeRelevanceRules,
        lane="llm",
        runs="process",
        asks=frozenset({AskModel}),
        concurrency=32,
        ordered_by_key=False,  # sources are independent
        retry_later=(60, 600),
        replay="paid",
        rounds=1,
        slo_seconds=120,
    ),
    Handler(
        name="decontextualize_claim",
        fn=decontextualize_claim,
        read=read_judgment,
        consumes=CLAIMS_EXTRACTED,
        emits=(CLAIMS_EVALUATED, UTTERANCES_RECORDED),
        rules=DecontextualizeClaimRules,
        lane="llm",
        asks=frozenset({AskModel, SearchVectors}),
        concurrency=32,
        ordered_by_key=False,  # claims are independent
        retry_later=(60, 600),
        replay="paid",
        rounds=MOST_ASKS,
        slo_seconds=120,
    ),
    Handler(
        name="index_utterance",
        fn=index_utterance,
        read=read_utterance,
        consumes=UTTERANCES_RECORDED,
        emits=(UTTERANCES_INDEXED,),
        rules=IndexUtteranceRules,
        lane="index",
        asks=frozenset({IndexDocument}),
        needs_index=True,
        concurrency=16,
        ordered_by_key=False,  # each utterance has its own id
        paced_by_key=True,
        retry_later=(60, 600),
        rounds=1,
        slo_seconds=120,
    ),
    Handler(
        name="rank_results",
        fn=rank_results,
        read=read_ranking,
        consumes=RANKING_REQUESTED,
        emits=(RANKING_COMPLETED,),
        rules=RankResultsRules,
        lane="query",
        runs="process",
        asks=frozenset({SearchVectors, AskModel}),
        needs_index=True,
        answers_queries=True,
        preload=("handlers.ranking.stages",),  # takes half a second
        concurrency=16,
        ordered_by_key=False,  # queries are independent
        retry_later=(10, 60),  # a later answer is of little use
        replay="paid",
        rounds=2,  # the index, and a judge
        slo_seconds=10,
    ),
)


def _duration(seconds: int) -> str:
    """A delay in the name of a topic.

    >>> _duration(10), _duration(60), _duration(3600)
    ('10s', '1m', '1h')
    """
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def only_searches(handlers: Iterable[Handler]) -> bool:
    """Whether handlers need the index and none of them writes to it."""
    handlers = list(handlers)
    return any(handler.needs_index for handler in handlers) and not any(handler.writes_index for handler in handlers)


def topic_of(event: Event) -> Topic:
    """The topic of an event. Raises KeyError for a type without a topic, which is a bug."""
    return _BY_EVENT[type(event)]


def handler_named(name: str) -> Handler | None:
    """The handler of that name, or None."""
    return next((handler for handler in HANDLERS if handler.name == name), None)


def topic_named(name: str) -> Topic | None:
    """The topic of that logical name, or None."""
    return next((topic for topic in TOPICS if topic.name == name), None)


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown handler or topic, with the nearest names and all names.

    >>> no_such("handler", "scorepage", ["score_page", "fetch_page"])
    "there is no handler 'scorepage'; did you mean score_page? There are score_page, fetch_page"
    """
    names = list(known)
    near = get_close_matches(name, names)
    hint = f"did you mean {' or '.join(near)}? There are" if near else "there are"
    return f"there is no {kind} {name!r}; {hint} {', '.join(names)}"


_BY_EVENT: dict[type[Event], Topic] = {topic.event: topic for topic in TOPICS}
