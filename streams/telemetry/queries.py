"""What queries look like from outside, whichever way they come: a line of the log each, and the metrics.

The log has scores and labels (R-233), never what was asked: a query may be private. At debug level it has that too.
"""

from __future__ import annotations

from typing import Literal

import structlog

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageOutcome
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

Via = Literal["kafka", "http", "command"]
"""Which way a query comes."""
VIAS: tuple[Via, ...] = ("kafka", "http")
"""Those that are counted: a command has no metrics."""
RefusalReason = Literal["invalid", "busy", "unavailable", "timeout", "failed"]
"""Why a query has no answer; queries that come over Kafka wait, or become dead letters."""

_SHOWN = 200
"""Characters of an id, a query or an error in a line of the log."""
_TOP = 5
"""Results whose scores and labels are told, and among which the share of HIGH is counted."""


class QueryMetrics:
    """Tells the log and the metrics of queries that come one way."""

    def __init__(self, metrics: Metrics | None, via: Via) -> None:
        """Takes where to count, None for nowhere, and which way the queries come."""
        self._metrics = metrics
        self._via: Via = via

    def answered(self, completed: RankingCompleted, seconds: float) -> None:
        """A query has its results, so many seconds after the work on it began."""
        top = completed.results[:_TOP]
        log.info(
            "query answered",
            request_id=completed.request_id[:_SHOWN],
            via=self._via,
            intent=str(completed.intent.intent),
            stages=[str(stage) for stage in completed.stages],
            failed=[str(note.stage) for note in completed.notes if note.outcome is StageOutcome.FAILED],
            results=len(completed.results),
            cts_scores=[result.cts_score for result in top],
            trust_labels=[result.trust_label for result in top],
            milliseconds=round(seconds * 1000, 1),
            judged_by=completed.llm.judged_by if completed.llm else None,
            cost_usd=completed.llm.cost_usd if completed.llm else 0.0,
        )
        log.debug("query asked", request_id=completed.request_id[:_SHOWN], query=completed.query[:_SHOWN])
        if self._metrics is not None:
            self._count(self._metrics, completed, seconds)

    def refused(self, request: RankingRequested, reason: RefusalReason, detail: str, seconds: float) -> None:
        """A query has no answer."""
        log.warning(
            "query refused",
            request_id=request.request_id[:_SHOWN],
            via=self._via,
            reason=reason,
            detail=detail[:_SHOWN],
            milliseconds=round(seconds * 1000, 1),
        )
        log.debug("query asked", request_id=request.request_id[:_SHOWN], query=request.query[:_SHOWN])
        if self._metrics is not None:
            self._metrics.queries_total.labels(reason, "", self._via).inc()

    def _count(self, metrics: Metrics, completed: RankingCompleted, seconds: float) -> None:
        outcome = "answered" if completed.results else "empty"
        metrics.queries_total.labels(outcome, completed.intent.intent, self._via).inc()
        metrics.query_seconds.labels(self._via).observe(seconds)
        for note in completed.notes:
            metrics.query_stages_total.labels(note.stage, note.outcome).inc()
        for result in completed.results:
            source = result.reasoning_metadata.label_source
            metrics.query_results_total.labels(result.trust_label, source).inc()
        if top := completed.results[:_TOP]:
            metrics.query_high_share.observe(sum(result.trust_label == "HIGH" for result in top) / len(top))
        if completed.trees is not None and completed.trees.agreement is not None:
            metrics.query_trees_agreement.observe(completed.trees.agreement)
