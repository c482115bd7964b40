"""Counts the committed events of a demonstration, and checks that every input was processed exactly once. Pure.

Each output and each dead letter names the input that caused it, so the check needs no knowledge of the handlers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, NamedTuple, TypeVar, cast

from handlers.indexing.config import TieredIndexingSection
from schemas.claims import ClaimEvaluated, UtteranceIndexed
from schemas.dead import DeadLetter
from schemas.documents import DocumentIndexed, IndexChange
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.llm import LlmCall
from schemas.pages import CrawledPage, ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted, SourceOutcome
from schemas.retrieval import ResultsClassified, ResultType, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.index.estimate import estimate_documents
from streams.topology import HANDLERS, Handler, Topic, topic_of


class Trace(NamedTuple):
    """The origin of a record, from its headers.

    Attributes:
        identity: The id of the event; without headers, the place of the record.
        cause: The id of the input that caused it; "" for an input from outside.
        writer: The handler that wrote it; "" for an input from outside.
    """

    identity: str
    cause: str = ""
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Balance:
    """The inputs of a handler and their outcomes.

    Attributes:
        taken: Inputs on its topic.
        answered: Inputs that at least one output names as its cause.
        dead: Inputs on its dead letter topic.
        dropped: Inputs without an output, as the handler counted them.
        missing: Inputs without an outcome.
        twice: Inputs with more than one outcome.
    """

    taken: int
    answered: int
    dead: int
    dropped: int
    missing: int
    twice: int


class Audit:
    """The inputs and outcomes of each handler."""

    def __init__(self, handlers: Sequence[Handler]) -> None:
        self._handlers = handlers
        self._inputs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._outputs: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._dead: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def see(self, topic: Topic, trace: Trace) -> None:
        self._inputs[topic.name][trace.identity] += 1
        self._outputs[trace.writer][trace.cause, trace.identity] += 1

    def see_dead(self, handler: str, identity: str) -> None:
        self._dead[handler][identity] += 1

    def balances(self, dropped: Mapping[str, int]) -> dict[str, Balance]:
        """The balances of the handlers, which have dropped so many inputs each."""
        return {handler.name: self._balance(handler, dropped.get(handler.name, 0)) for handler in self._handlers}

    def _balance(self, handler: Handler, dropped: int) -> Balance:
        inputs = self._inputs[handler.consumes.name]
        outputs, dead = self._outputs[handler.name], self._dead[handler.name]
        answered = {cause for cause, _ in outputs}
        # An input that was published twice is answered twice, under the same ids.
        twice = {cause for (cause, _), times in outputs.items() if times > inputs[cause]}
        twice |= {identity for identity, times in dead.items() if times > inputs[identity] or identity in answered}
        return Balance(
            taken=inputs.total(),
            answered=sum(inputs[cause] for cause in answered),
            dead=dead.total(),
            dropped=dropped,
            missing=len(inputs.keys() - answered - dead.keys()) - dropped,
            twice=len(twice),
        )


def faults(balances: Mapping[str, Balance]) -> list[str]:
    """A line for each handler with inputs that do not have exactly one outcome."""
    return [
        f"{name}: {balance.taken} in, {balance.missing} without an outcome, {balance.twice} with more than one"
        for name, balance in balances.items()
        if balance.missing or balance.twice
    ]


Kind = TypeVar("Kind", bound=Event)


class Tally:
    """Keeps the events on the topics, and counts what was decided."""

    def __init__(self, tiers: TieredIndexingSection, planned_chunks: int) -> None:
        self._tiers = tiers
        self._planned_chunks = planned_chunks
        self._events: dict[type[Event], list[Event]] = {}
        self.account = Audit(HANDLERS)
        self.dead: list[DeadLetter] = []

    def see(self, event: Event, trace: Trace) -> None:
        self.account.see(topic_of(event), trace)
        if not isinstance(event, CrawledPage):  # the largest events, and nothing shows them
            self._events.setdefault(type(event), []).append(event)

    def see_dead(self, letter: DeadLetter) -> None:
        self.account.see_dead(letter.handler, letter.root_id)
        self.dead.append(letter)

    def all(self, kind: type[Kind]) -> list[Kind]:
        return cast("list[Kind]", self._events.get(kind, []))

    def latest(self, kind: type[Kind]) -> dict[str, Kind]:
        """The last event of each key of the topic."""
        return {topic_of(event).key(event): event for event in self.all(kind)}

    def children(self, batch_id: str) -> list[ResultsClassified]:
        """The next attempts of a batch."""
        return [child for child in self.latest(ResultsClassified).values() if child.parent_batch_id == batch_id]

    def figures(self) -> dict[str, Any]:
        """What was decided so far, without the balances of the handlers."""
        pages, batches = self.all(ScoredPage), self.latest(ResultsClassified)
        types = Counter(result.result_type for batch in self.all(ResultsClassified) for result in batch.results)
        indexed = self.all(DocumentIndexed)
        documents = {event.url: event for event in indexed if event.change != IndexChange.OUTDATED}.values()
        estimate = estimate_documents(
            Counter[str](document.tier for document in documents), self._planned_chunks, self._tiers
        )
        verdicts, searches = self.latest(RetrievalEvaluated), self.latest(SearchEvaluated)
        claims, answers = self.latest(ClaimEvaluated), self.latest(RankingCompleted)
        sources = [source for done in self.latest(SnippetsCompleted).values() for source in done.sources]
        calls = [
            call
            for events in self._events.values()
            for event in events
            if isinstance(call := getattr(event, "llm", None), LlmCall)
        ]
        costs = [call.cost_usd for call in calls if not call.cached]
        before, after = self._improvement(lambda batch: batch.actionable_information)
        overall_before, overall_after = self._improvement(
            lambda batch: verdicts[batch.batch_id].overall_score if batch.batch_id in verdicts else 0.0
        )
        return {
            "pages_scored": len(pages),
            "tiers": {tier: sum(page.tier == tier for page in pages) for tier in "ABC"},
            "documents_indexed": len(documents),
            "index_points": sum(document.points for document in documents),
            "index_points_estimated": estimate.points_with_articles,
            "index_points_without_tiers": estimate.full_chunks,
            "batches_classified": len(batches),
            "result_types": {kind.value: types[kind] for kind in ResultType},
            "extractions_needed": len(self.all(ExtractionNeeded)),
            "extractions_completed": len(self.all(ExtractionCompleted)),
            "actionable_before": round(before, 4),
            "actionable_after": round(after, 4),
            "overall_before": round(overall_before, 4),
            "overall_after": round(overall_after, 4),
            "batches_evaluated": len(verdicts),
            "batches_passed": sum(verdict.passed for verdict in verdicts.values()),
            "searches_evaluated": len(searches),
            "searches_satisfied": sum(search.satisfied for search in searches.values()),
            "claims_evaluated": len(claims),
            "claims_promotable": sum(claim.promotable for claim in claims.values()),
            "sources_tried": len(sources),
            "sources_relevant": sum(source.outcome == SourceOutcome.RELEVANT for source in sources),
            "utterances_indexed": len(self.latest(UtteranceIndexed)),
            "queries_answered": sum(bool(answer.results) for answer in answers.values()),
            "judged_by": {judge: sum(call.judged_by == judge for call in calls) for judge in ("offline", "model")},
            "cost_usd": None if None in costs else round(sum(cost or 0.0 for cost in costs), 6),
            "dead_letters": len(self.dead),
        }

    def summary(self, balances: Mapping[str, Balance], seconds: float) -> dict[str, Any]:
        """The figures of ``assay demo --once --json``."""
        handlers = {name: asdict(balance) for name, balance in balances.items()}
        return self.figures() | {"handlers": handlers, "seconds": round(seconds, 2)}

    def _improvement(self, score: Callable[[ResultsClassified], float]) -> tuple[float, float]:
        """Mean score of the first and of the last attempts, over the batches that needed extraction.

        The children of a batch are averaged. (0, 0) if no batch needed extraction.
        """
        pairs = [
            (score(batch), self._last(batch, score))
            for batch in self.latest(ResultsClassified).values()
            if batch.parent_batch_id is None and batch.needs_extraction
        ]
        if not pairs:
            return 0.0, 0.0
        return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)

    def _last(self, batch: ResultsClassified, score: Callable[[ResultsClassified], float]) -> float:
        children = self.children(batch.batch_id)
        return fmean(self._last(child, score) for child in children) if children else score(batch)
