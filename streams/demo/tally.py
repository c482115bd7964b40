"""What a reader of committed records sees: events counted, batches held against their next attempts. Pure."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import Any

from handlers.indexing.estimate import IndexEstimate, estimate_documents
from handlers.indexing.rules import TieredIndexingSection
from schemas.dead import DeadLetter
from schemas.documents import DocumentIndexed, IndexChange
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.pages import ScoredPage
from schemas.retrieval import ResultsClassified, ResultType, RetrievalEvaluated


class Tally:
    """Counts what passed on the topics, and keeps the few events that tell a story."""

    def __init__(self, tiers: TieredIndexingSection, planned_chunks: int) -> None:
        """Nothing was seen yet. Takes what the index's estimate is made of."""
        self._tiers = tiers
        self._planned_chunks = planned_chunks
        self.events: Counter[str] = Counter()
        self.tiers: Counter[str] = Counter()
        self.result_types: Counter[str] = Counter()
        self.pages: dict[str, ScoredPage] = {}
        self.documents: dict[str, DocumentIndexed] = {}
        self.classified: dict[str, ResultsClassified] = {}
        self.evaluated: dict[str, RetrievalEvaluated] = {}
        self.needed: list[ExtractionNeeded] = []
        self.completed: list[ExtractionCompleted] = []
        self.dead: list[DeadLetter] = []

    def see(self, topic: str, event: Event) -> None:
        """An event on a topic."""
        self.events[topic] += 1
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
            case ExtractionNeeded():
                self.needed.append(event)
            case ExtractionCompleted():
                self.completed.append(event)
            case _:
                pass

    def see_dead(self, letter: DeadLetter) -> None:
        """A record on a dead letter topic."""
        self.dead.append(letter)

    def index_points(self) -> int:
        """Points that the documents seen have in the index."""
        return sum(document.points for document in self.documents.values())

    def estimate(self) -> IndexEstimate:
        """What the plan's arithmetic gives for as many documents of these tiers (C-35)."""
        documents = Counter[str](document.tier for document in self.documents.values())
        return estimate_documents(documents, self._planned_chunks, self._tiers)

    def improvement(self) -> tuple[float, float]:
        """Mean actionable information before and after, over the first attempts that needed extraction.

        After is the mean over a batch's children, the batch's own score where none came. (0, 0) where none needed any.
        """
        pairs = [
            (batch.actionable_information, self.after(batch))
            for batch in self.classified.values()
            if batch.parent_batch_id is None and batch.needs_extraction
        ]
        if not pairs:
            return 0.0, 0.0
        return fmean(before for before, _ in pairs), fmean(after for _, after in pairs)

    def after(self, batch: ResultsClassified) -> float:
        """The score of a batch's last attempt."""
        children = [child for child in self.classified.values() if child.parent_batch_id == batch.batch_id]
        return fmean(self.after(child) for child in children) if children else batch.actionable_information

    def unaccounted(self) -> list[str]:
        """Handlers whose inputs are more than what they became; empty where every input is accounted for."""
        dead = Counter(letter.handler for letter in self.dead)
        balance = (
            ("score_page", "pages.crawled.v1", self.events["pages.scored.v1"]),
            ("index_page", "pages.scored.v1", self.events["documents.indexed.v1"]),
            ("classify_results", "retrieval.batches.v1", self.events["results.classified.v1"]),
            ("evaluate_retrieval", "results.classified.v1", self.events["retrieval.evaluated.v1"]),
            ("fetch_page", "extraction.needed.v1", self.events["extraction.completed.v1"]),
        )
        return [
            f"{handler}: {self.events[topic]} in, {out} answered, {dead[handler]} dead"
            for handler, topic, out in balance
            if self.events[topic] != out + dead[handler]
        ]

    def summary(self, seconds: float) -> dict[str, Any]:
        """The figures of ``assay demo --once --json``."""
        before, after = self.improvement()
        estimate = self.estimate()
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
            "dead_letters": len(self.dead),
            "seconds": round(seconds, 2),
        }
