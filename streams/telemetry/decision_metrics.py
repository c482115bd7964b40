"""Counts and logs the decisions in the events of handlers, and the answers to queries."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from prometheus_client import Counter

from schemas.claims import ClaimEvaluated, ClaimStatus
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.pages import ScoredPage
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageOutcome
from schemas.relevance import RelevanceJudged, RelevanceOutcome, SnippetExtracted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated, SearchScoreSource
from streams.telemetry.labels import LANES, PAGE_FEATURES, Lane, RefusalReason, Via
from streams.telemetry.metrics import Metrics, unexposed_metrics

log = structlog.get_logger(__name__)

_SHOWN = 200  # longest id, query or error in a log line, in characters
_TOP = 5  # the first results, whose scores and labels are logged and whose share of HIGH is counted


class QueryMetrics:
    """Logs and counts queries that arrive in one way.

    The log has scores and labels. It has the query itself at debug level only: a query may be private.
    """

    def __init__(self, metrics: Metrics | None, via: Via) -> None:
        """Without metrics queries are only logged."""
        self._metrics = metrics or unexposed_metrics()
        self._via: Via = via

    def answered(self, completed: RankingCompleted, seconds: float) -> None:
        """Records the answer to a query; ``seconds`` have passed since the work on it began."""
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
        metrics = self._metrics
        outcome = "answered" if completed.results else "empty"
        metrics.queries_total.labels(outcome, completed.intent.intent, self._via).inc()
        metrics.query_seconds.labels(self._via).observe(seconds)
        for note in completed.notes:
            metrics.query_stages_total.labels(note.stage, note.outcome).inc()
        for result in completed.results:
            source = result.reasoning_metadata.label_source
            metrics.query_results_total.labels(result.trust_label, source).inc()
        if top:
            metrics.query_high_share.observe(sum(result.trust_label == "HIGH" for result in top) / len(top))
        if completed.trees is not None and completed.trees.agreement is not None:
            metrics.query_trees_agreement.observe(completed.trees.agreement)

    def refused(self, request: RankingRequested, reason: RefusalReason, detail: str, seconds: float) -> None:
        log.warning(
            "query refused",
            request_id=request.request_id[:_SHOWN],
            via=self._via,
            reason=reason,
            detail=detail[:_SHOWN],
            milliseconds=round(seconds * 1000, 1),
        )
        log.debug("query asked", request_id=request.request_id[:_SHOWN], query=request.query[:_SHOWN])
        self._metrics.queries_total.labels(reason, "", self._via).inc()


class DecisionMetrics:
    """Counts the decisions in the events of all handlers, and logs those that operators search for."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._features: dict[tuple[str, Lane], Counter] = {}
        self._queries = {lane: QueryMetrics(metrics if lane == "live" else None, "kafka") for lane in LANES}

    def emitted(self, events: Sequence[Event], lane: Lane, seconds: float) -> None:
        metrics = self._metrics
        for event in events:
            match event:
                case ScoredPage():
                    self._scored(event, lane)
                case DocumentIndexed():
                    metrics.documents_indexed_total.labels(event.tier, event.change).inc()
                    metrics.index_points_written_total.inc(event.points_written)
                    metrics.index_points_removed_total.inc(event.points_removed)
                case ResultsClassified():
                    for result in event.results:
                        metrics.results_classified_total.labels(result.result_type).inc()
                    if event.extraction_reason is not None:
                        # For the orchestrator's operators, in the words of the requirement.
                        message = f"Extraction needed: {event.extraction_reason}"
                        log.warning(message, batch_id=event.batch_id)
                    if event.improvement is not None:
                        metrics.actionable_improvement.observe(event.improvement)
                        metrics.actionable_before_total.inc(max(0.0, event.actionable_information - event.improvement))
                        metrics.actionable_after_total.inc(event.actionable_information)
                case ExtractionNeeded() if event.follow or event.reason is not ExtractionTrigger.AGGREGATOR_DETECTED:
                    # Others forward an item of a listing to another domain; no batch triggered them.
                    metrics.extractions_triggered_total.labels(event.reason).inc()
                case RetrievalEvaluated():
                    metrics.batches_total.labels("passed" if event.passed else "failed").inc()
                case RelevanceJudged():
                    metrics.relevance_judgments_total.labels(event.outcome).inc()
                    _log_judgment(event)
                case SnippetExtracted():
                    metrics.snippets_total.labels(event.failure or "").inc()
                case SearchEvaluated():
                    metrics.searches_evaluated_total.labels(event.recommendation, event.score_source).inc()
                    if event.score_source is SearchScoreSource.MODEL:
                        metrics.search_judge_drift.observe(abs(event.quality_score - event.rubric.total))
                case ClaimEvaluated():
                    metrics.claims_evaluated_total.labels(event.status, event.band).inc()
                    _log_claim(event)
                case RankingCompleted():
                    self._queries[lane].answered(event, seconds)

    def _scored(self, page: ScoredPage, lane: Lane) -> None:
        metrics = self._metrics
        metrics.pages_scored_total.labels(page.tier, page.trust_label, lane).inc()
        metrics.page_states_total.labels(page.state, lane).inc()
        if page.cts_score is not None:
            metrics.cts_score.observe(page.cts_score)
        for name in PAGE_FEATURES:
            if getattr(page.trust_features, name):
                # Up to 13 for each page: the look-up of a child costs more than its increment.
                if (counter := self._features.get((name, lane))) is None:
                    counter = self._features[name, lane] = metrics.page_features_total.labels(name, lane)
                counter.inc()


def _log_claim(event: ClaimEvaluated) -> None:
    where = {"claim_id": event.claim_id[:_SHOWN], "source_id": (event.source_id or "")[:_SHOWN] or None}
    if event.status in (ClaimStatus.MALFORMED, ClaimStatus.MODEL_FAILED):
        log.warning("claim has no score", status=event.status, detail=event.detail[:_SHOWN], tries=event.tries, **where)
    else:
        score = event.decontextualization_score
        log.info("claim judged", status=event.status, band=event.band, score=score, **where)


def _log_judgment(event: RelevanceJudged) -> None:
    where = {"url": event.url[:_SHOWN], "request_id": event.request_id}
    call_id = event.llm.call_id if event.llm else None
    match event.outcome:
        case RelevanceOutcome.RELEVANT:
            log.info("source judged relevant", **where)
        case RelevanceOutcome.IRRELEVANT:
            log.info("source judged irrelevant", call_id=call_id, **where)
        case RelevanceOutcome.UNDECIDED:
            log.info("words do not show whether a source is relevant, treated as irrelevant", **where)
        case RelevanceOutcome.NO_EVIDENCE:
            log.info("source has neither title nor summary, treated as irrelevant", **where)
        case RelevanceOutcome.UNPARSED:
            log.warning("the reply is no judgment, source treated as irrelevant", call_id=call_id, **where)
        case RelevanceOutcome.TIMEOUT:
            milliseconds = event.llm.latency_ms if event.llm else None
            log.warning("judgment timed out, source treated as irrelevant", milliseconds=milliseconds, **where)
        case RelevanceOutcome.ERROR:
            log.warning("judgment failed, source treated as irrelevant", detail=(event.detail or "")[:_SHOWN], **where)
    if event.summary_failure is not None:
        log.warning("summary could not be read", detail=event.summary_failure, **where)
