"""Every handler and how it is run, declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.decontextualize_claim import MOST_ASKS, DecontextualizeClaimRules, decontextualize_claim, read_judgment
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval, read_retrieval
from handlers.evaluate_search import EvaluateSearchRules, evaluate_search, read_search
from handlers.fetch_page import FetchPageRules, fetch_page, read_pages
from handlers.index_page import IndexPageRules, index_page, read_index
from handlers.index_utterance import IndexUtteranceRules, index_utterance, read_utterance
from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance, read_relevance
from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from handlers.request_snippets import RequestSnippetsRules, request_snippets
from handlers.score_page import ScorePageRules, score_page
from schemas.event import Event
from schemas.needs import Ask, AskModel, FetchPages, IndexDocument, Need, SearchVectors
from schemas.outcome import Outcome
from schemas.replies import Reply
from schemas.rules import Rules
from streams.topology import topics
from streams.topology.topics import Topic

Lane = Literal["cpu", "llm", "fetch", "index", "query"]
ReplayPolicy = Literal["safe", "paid", "never"]


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
    """A handler and how it is run."""

    name: str  # a verb; file, test, docs page, consumer group and metric label share it
    fn: Callable[[Any, Any], Outcome | Ask]  # decides on an event, or makes a request
    consumes: Topic  # the topic that it reads
    emits: tuple[Topic, ...]  # the topics that it may write; another one is a bug
    rules: type[Rules]  # the configuration that its decisions depend on
    lane: Lane  # the worker deployment that runs it; nothing else depends on it
    slo_seconds: float  # from produced to done, for 99 of 100 events
    # Continues with the event, the replies so far, the rules and, if the last ask has one, its state; None for a
    # handler that makes no requests.
    read: Callable[..., Outcome | Ask] | None = None
    concurrency: int = 1  # records in progress at the same time in one process
    # Delays of its retry topics in seconds, ascending. A record in a retry topic loses its place in the order of its
    # key, so a handler that is ordered by key has none.
    retry_later: tuple[int, ...] = ()
    ordered_by_key: bool = True  # whether the records of a key must be handled in order
    # Whether the records of a key are handled one after another although their order does not matter.
    paced_by_key: bool = False
    # ``process`` for a handler that reads untrusted pages or renders texts: it runs in a child process, which limits
    # its time and memory. ``inline`` for a handler whose work is bounded.
    runs: Literal["inline", "process"] = "inline"
    replay: ReplayPolicy = "safe"  # whether a replay is safe, costs money, or is refused
    rounds: int = 0  # the most requests for one event
    asks: frozenset[type[Need]] = frozenset()  # the requests that it may make; another one is a bug
    # Whether it cannot work without the index, which is then opened before the first record.
    needs_index: bool = False
    # Whether queries over HTTP and of ``assay query`` run it; one handler of the topology does.
    answers_queries: bool = False
    # Modules that are imported at the start of a worker, as the first record would wait for them.
    preload: tuple[str, ...] = ()
    version: int = 1  # raised when the meaning of the handler changes; part of its outputs' ids

    def __post_init__(self) -> None:
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
        return f"assay.{self.name}"

    @property
    def serialize_by_key(self) -> bool:
        return self.ordered_by_key or self.paced_by_key

    @property
    def asks_models(self) -> bool:
        return AskModel in self.asks

    @property
    def writes_index(self) -> bool:
        return IndexDocument in self.asks

    @property
    def retry_topics(self) -> tuple[RetryTopic, ...]:
        return tuple(
            RetryTopic(
                topic=f"{self.consumes.name}.{self.group}.retry.{_duration(delay)}",
                group=f"{self.group}.retry.{_duration(delay)}",
                delay_seconds=delay,
            )
            for delay in sorted(self.retry_later)
        )


HANDLERS: tuple[Handler, ...] = (
    Handler(
        name="score_page",
        fn=score_page,
        consumes=topics.PAGES_CRAWLED,
        emits=(topics.PAGES_SCORED,),
        rules=ScorePageRules,
        lane="cpu",
        runs="process",
        slo_seconds=60,
    ),
    Handler(
        name="index_page",
        fn=index_page,
        read=read_index,
        consumes=topics.PAGES_SCORED,
        emits=(topics.DOCUMENTS_INDEXED,),
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
        consumes=topics.RETRIEVAL_BATCHES,
        emits=(topics.RESULTS_CLASSIFIED, topics.EXTRACTION_NEEDED),
        rules=ClassifyResultsRules,
        lane="cpu",
        runs="process",
        slo_seconds=10,
    ),
    Handler(
        name="fetch_page",
        fn=fetch_page,
        read=read_pages,
        consumes=topics.EXTRACTION_NEEDED,
        emits=(
            topics.PAGES_CRAWLED,
            topics.RETRIEVAL_BATCHES,
            topics.EXTRACTION_COMPLETED,
            topics.EXTRACTION_NEEDED,
            topics.RELEVANCE_REQUESTED,
            topics.SNIPPETS_COMPLETED,
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
        consumes=topics.RESULTS_CLASSIFIED,
        emits=(topics.RETRIEVAL_EVALUATED,),
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
        consumes=topics.RETRIEVAL_BATCHES,
        emits=(topics.SEARCH_EVALUATED,),
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
        consumes=topics.SNIPPETS_REQUESTED,
        emits=(topics.EXTRACTION_NEEDED, topics.SNIPPETS_COMPLETED),
        rules=RequestSnippetsRules,
        lane="cpu",
        slo_seconds=10,
    ),
    Handler(
        name="judge_relevance",
        fn=judge_relevance,
        read=read_relevance,
        consumes=topics.RELEVANCE_REQUESTED,
        emits=(topics.RELEVANCE_JUDGED, topics.SNIPPETS_EXTRACTED, topics.EXTRACTION_NEEDED, topics.SNIPPETS_COMPLETED),
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
        consumes=topics.CLAIMS_EXTRACTED,
        emits=(topics.CLAIMS_EVALUATED, topics.UTTERANCES_RECORDED),
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
        consumes=topics.UTTERANCES_RECORDED,
        emits=(topics.UTTERANCES_INDEXED,),
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
        consumes=topics.RANKING_REQUESTED,
        emits=(topics.RANKING_COMPLETED,),
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


def handler_named(name: str) -> Handler | None:
    """The handler of that name, or None."""
    return next((handler for handler in HANDLERS if handler.name == name), None)


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown handler or topic, with the nearest names and all names.

    >>> no_such("handler", "scorepage", ["score_page", "fetch_page"])
    "there is no handler 'scorepage'; did you mean score_page? There are score_page, fetch_page"
    """
    names = list(known)
    near = get_close_matches(name, names)
    hint = f"did you mean {' or '.join(near)}? There are" if near else "there are"
    return f"there is no {kind} {name!r}; {hint} {', '.join(names)}"
