"""Counts the committed events of a demonstration, and checks that every input was processed exactly once. Pure.

Each output and each dead letter names the input that caused it, so the check needs no knowledge of the handlers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, NamedTuple

from handlers.indexing.config import TieredIndexingSection
from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed
from schemas.dead import DeadLetter
from schemas.documents import DocumentIndexed, IndexChange
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.llm import LlmCall
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted, SourceOutcome
from schemas.retrieval import ResultsClassified, ResultType, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.index.estimate import IndexEstimate, estimate_documents
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
        """Takes the handlers to check."""
        self._handlers = handlers
        self._inputs: dict[str, Counter[str]] = {}
        self._outputs: dict[str, Counter[tuple[str, str]]] = {handler.name: Counter() for handler in handlers}
        self._dead: dict[str, Counter[str]] = {handler.name: Counter() for handler in handlers}

    def see(self, topic: Topic, trace: Trace) -> None:
        """Counts a record on a topic."""
        self._inputs.setdefault(topic.name, Counter())[trace.identity] += 1
        if trace.writer in self._outputs:
            self._outputs[trace.writer][trace.cause, trace.identity] += 1

    def see_dead(self, handler: str, identity: str) -> None:
        """Counts a record on a handler's dead letter topic."""
        self._dead.setdefault(handler, Counter())[identity] += 1

    def balances(self, dropped: Mapping[str, int]) -> dict[str, Balance]:
        """The balance of each handler, with the inputs that it has dropped."""
        return {handler.name: self._balance(handler, dropped.get(handler.name, 0)) for handler in self._handlers}

    def _balance(self, handler: Handler, dropped: int) -> Balance:
        inputs = self._inputs.get(handler.consumes.name, Counter())
        outputs, dead = self._outputs[handler.name], self._dead[handler.name]
        answered = {cause for cause, _ in outputs}
        # An input that was published twice is answered twice, under the same ids.
        twice = {cause for (cause, _), times in outputs.items() if times > inputs[cause]}
        twice |= {identity for identity, times in dead.items() if times > inputs[identity] or identity in answered}
        missing = len(inputs.keys() - answered - dead.keys()) - dropped
        return Balance(
            taken=inputs.total(),
            answered=sum(inputs[cause] for cause in answered),
            dead=dead.total(),
            dropped=dropped,
            missing=missing,
            twice=len(twice),
        )


def faults(balances: Mapping[str, Balance]) -> list[str]:
    """A line for each handler with inputs that do not have exactly one outcome."""
    return [
        f"{name}: {balance.taken} in, {balance.missing} without an outcome, {balance.twice} with more than one"
        for name, balance in balances.items()
        if balance.missing or balance.twice
    ]


class Tally:
    """Counts the events on the topics, and keeps those that the report shows."""

    def __init__(self, tiers: TieredIndexingSection, planned_chunks: int) -> None:
        """Takes the parameters of the estimate of the index."""
        self._tiers = tiers
        self._planned_chunks = planned_chunks
        self.account = Audit(HANDLERS)
        self.tiers: Counter[str] = Counter()
        self.result_types: Counter[str] = Counter()
        self.judges: Counter[str] = Counter()
        self.cost_usd: float | None = 0.0
        self.pages: dict[str, ScoredPage] = {}
        self.documents: dict[str, DocumentIndexed] = {}
        self.classified: dict[str, ResultsClassified] = {}
        self.evaluated: dict[str, RetrievalEvaluated] = {}
        self.searches: dict[str, SearchEvaluated] = {}
        self.claims: dict[str, ExtractedClaim] = {}
        self.claims_evaluated: dict[str, ClaimEvaluated] = {}
        self.utterances: dict[str, UtteranceIndexed] = {}
        self.snippets: dict[str, SnippetsCompleted] = {}
        self.queries: dict[str, RankingCompleted] = {}
        self.needed: list[ExtractionNeeded] = []
        self.completed: list[ExtractionCompleted] = []
        self.dead: list[DeadLetter] = []

    def see(self, event: Event, trace: Trace) -> None:
        """Counts and keeps an event."""
        self.account.see(topic_of(event), trace)
        match event:
            case ScoredPage():
                self.tiers[event.tier] += 1
                self.pages[event.url] = event
            case DocumentIndexed():
                if event.change != IndexChange.OUTDATED:
                    self.documents[event.url] = event
            case ResultsClassified():
                self.result_types.update(result.result_type.value for result in event.results)
                self.classified[event.batch_id] = event
            case RetrievalEvaluated():
                self.evaluated[event.batch_id] = event
            case SearchEvaluated():
                self.searches[event.batch_id] = event
            case ExtractedClaim():
                self.claims[event.claim_id] = event
            case ClaimEvaluated():
                self.claims_evaluated[event.claim_id] = event
            case UtteranceIndexed():
                self.utterances[event.utterance_id] = event
            case SnippetsCompleted():
                self.snippets[event.request_id] = event
            case RankingCompleted():
                self.queries[event.request_id] = event
            case ExtractionNeeded():
                self.needed.append(event)
            case ExtractionCompleted():
                self.completed.append(event)
            case _:
                pass
        if isinstance(call := getattr(event, "llm", None), LlmCall):
            self._judged(call)

    def see_dead(self, letter: DeadLetter) -> None:
        """Counts and keeps a dead letter."""
        self.account.see_dead(letter.handler, letter.root_id)
        self.dead.append(letter)

    def _judged(self, call: LlmCall) -> None:
        self.judges[call.judged_by] += 1
        if self.cost_usd is not None and not call.cached:
            self.cost_usd = None if call.cost_usd is None else self.cost_usd + call.cost_usd

    def index_points(self) -> int:
        """The points of the documents in the index."""
        return sum(document.points for document in self.documents.values())

    def estimate(self) -> IndexEstimate:
        """The estimate for the same number of documents of these tiers (C-35)."""
        documents = Counter[str](document.tier for document in self.documents.values())
        return estimate_documents(documents, self._planned_chunks, self._tiers)

    def improvement(self) -> tuple[float, float]:
        """Mean actionable information before and after extraction, over the first attempts that needed extraction.

        After is the mean over the children of a batch, or the score of a batch without children. (0, 0) if no batch
        needed extraction.
        """
        return self._before_and_after(lambda batch: batch.actionable_information)

    def answered(self) -> tuple[float, float]:
        """The same for the overall score, which measures how far a batch answers its query."""
        return self._before_and_after(self._overall)

    def _before_and_after(self, score: Callable[[ResultsClassified], float]) -> tuple[float, float]:
        pairs = [
            (score(batch), self._after(batch, score))
            for batch in self.classified.values()
            if batch.parent_batch_id is None and batch.needs_extraction
        ]
        if not pairs:
            return 0.0, 0.0
        return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)

    def _after(self, batch: ResultsClassified, score: Callable[[ResultsClassified], float]) -> float:
        """The score of a batch's last attempt."""
        children = self.children(batch.batch_id)
        return fmean(self._after(child, score) for child in children) if children else score(batch)

    def _overall(self, batch: ResultsClassified) -> float:
        verdict = self.evaluated.get(batch.batch_id)
        return verdict.overall_score if verdict else 0.0

    def children(self, batch_id: str) -> list[ResultsClassified]:
        """The next attempts of a batch."""
        return [child for child in self.classified.values() if child.parent_batch_id == batch_id]

    def passed(self) -> int:
        """Batches that answer their query; each attempt counts by itself."""
        return sum(verdict.passed for verdict in self.evaluated.values())

    def sources(self) -> tuple[int, int]:
        """Sources of finished snippet requests: those that are relevant, and all."""
        outcomes = [source.outcome for done in self.snippets.values() for source in done.sources]
        return outcomes.count(SourceOutcome.RELEVANT), len(outcomes)

    def summary(self, balances: Mapping[str, Balance], seconds: float) -> dict[str, Any]:
        """The figures of ``assay demo --once --json``."""
        before, after = self.improvement()
        overall_before, overall_after = self.answered()
        estimate = self.estimate()
        relevant, tried = self.sources()
        return {
            "pages_scored": sum(self.tiers.values()),
            "tiers": {tier: self.tiers[tier] for tier in "ABC"},
            "documents_indexed": len(self.documents),
            "index_points": self.index_points(),
            "index_points_estimated": estimate.points_with_articles,
            "index_points_without_tiers": estimate.full_chunks,
            "batches_classified": len(self.classified),
            "result_types": {kind.value: self.result_types[kind.value] for kind in ResultType},
            "extractions_needed": len(self.needed),
            "extractions_completed": len(self.completed),
            "actionable_before": round(before, 4),
            "actionable_after": round(after, 4),
            "overall_before": round(overall_before, 4),
            "overall_after": round(overall_after, 4),
            "batches_evaluated": len(self.evaluated),
            "batches_passed": self.passed(),
            "searches_evaluated": len(self.searches),
            "searches_satisfied": sum(search.satisfied for search in self.searches.values()),
            "claims_evaluated": len(self.claims_evaluated),
            "claims_promotable": sum(claim.promotable for claim in self.claims_evaluated.values()),
            "sources_tried": tried,
            "sources_relevant": relevant,
            "utterances_indexed": len(self.utterances),
            "queries_answered": sum(bool(answer.results) for answer in self.queries.values()),
            "judged_by": {judge: self.judges[judge] for judge in ("offline", "model")},
            "cost_usd": None if self.cost_usd is None else round(self.cost_usd, 6),
            "dead_letters": len(self.dead),
            "handlers": {name: asdict(balance) for name, balance in balances.items()},
            "seconds": round(seconds, 2),
        }
