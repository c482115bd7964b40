"""The metrics of one handler's records, outputs and transactions."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from prometheus_client import Counter

from schemas.claims import ClaimEvaluated, ClaimStatus
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.outcome import DeadReason, RetryReason, Stage
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import RelevanceJudged, RelevanceOutcome, SnippetExtracted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated, SearchScoreSource
from streams.telemetry.labels import LANES, PAGE_FEATURES, Lane
from streams.telemetry.metrics import Metrics
from streams.telemetry.queries import QueryMetrics

log = structlog.get_logger(__name__)

_SHOWN = 200
"""Characters of an address, a reply or an error in a line of the log."""


class PipelineMetrics:
    """Counts one handler's records, outputs and transactions.

    What the group of a replay does is told apart from live traffic, and so is a record that a run has written, whoever
    reads it: nobody is woken by a backfill.
    """

    def __init__(self, metrics: Metrics, handler: str, lane: Lane = "live") -> None:
        """Binds the handler's label once, so the hot path doesn't look it up; ``lane`` is that of the group."""
        self._metrics = metrics
        self._handler = handler
        self._lane: Lane = lane
        self._duration = {its: metrics.handler_duration_seconds.labels(handler, its) for its in LANES}
        self._age = metrics.event_age_seconds.labels(handler)
        metrics.breaker_open.labels(handler, lane).set(0)
        self._outcomes: dict[tuple[str, str, Lane], Counter] = {}
        # At 0 from the start, so that the first one counts as an increase.
        metrics.transactions_total.labels(handler, "in_doubt", lane)
        self._features: dict[tuple[str, Lane], Counter] = {}
        self._queries = {its: QueryMetrics(metrics if its == "live" else None, "kafka") for its in LANES}
        self._held: dict[str, tuple[int, int, int, float]] = {}

    def handled(self, outcome: str, reason: str, seconds: float, age: float | None, replayed: bool) -> None:
        """A record came to its outcome, ``seconds`` after its work began and ``age`` seconds after it was produced.

        ``replayed`` says here and below that a run has written the record: a replay or a backfill.
        """
        lane = self._lane_of(replayed)
        counter = self._outcomes.get((outcome, reason, lane))
        if counter is None:
            counter = self._metrics.handler_events_total.labels(self._handler, outcome, reason, lane)
            self._outcomes[outcome, reason, lane] = counter
        counter.inc()
        self._duration[lane].observe(seconds)
        if age is not None and lane == "live":
            self._age.observe(max(age, 0.0))

    def retried(self, reason: RetryReason, replayed: bool) -> None:
        """A record is tried again, in place or from a retry topic."""
        self._metrics.retries_total.labels(self._handler, reason, self._lane_of(replayed)).inc()

    def died(self, reason: DeadReason, stage: Stage, replayed: bool) -> None:
        """A record became a dead letter."""
        self._metrics.dead_events_total.labels(self._handler, reason, stage, self._lane_of(replayed)).inc()

    def committed(self, result: str, seconds: float) -> None:
        """A commit ended: ``committed`` or ``in_doubt``."""
        self._metrics.transactions_total.labels(self._handler, result, self._lane).inc()
        self._metrics.transaction_seconds.labels(self._handler).observe(seconds)

    def rebalanced(self) -> None:
        """The group's partitions were dealt out anew."""
        self._metrics.rebalances_total.labels(self._handler).inc()

    def holds(self, topic: str, records: int, size: int, in_flight: int, oldest_seconds: float) -> None:
        """What the handler has in hand of a topic now; shown is the sum over its own and its retry topics."""
        self._held[topic] = (records, size, in_flight, oldest_seconds)
        all_records, all_sizes, all_in_flight, ages = zip(*self._held.values(), strict=True)
        self._metrics.records_held.labels(self._handler).set(sum(all_records))
        self._metrics.bytes_held.labels(self._handler).set(sum(all_sizes))
        self._metrics.handler_in_flight.labels(self._handler).set(sum(all_in_flight))
        self._metrics.oldest_unfinished_seconds.labels(self._handler, self._lane).set(max(ages))

    def breaker(self, closed: bool, cause: str = "") -> None:
        """The handler's circuit breaker opened, because of ``cause``, or closed."""
        self._metrics.breaker_open.labels(self._handler, self._lane).set(not closed)
        if closed:
            log.info("circuit breaker closed, intake resumed", handler=self._handler)
        else:
            log.warning("circuit breaker open, intake paused", handler=self._handler, cause=cause or "unknown")

    def lags(self, topic: str, records: int) -> None:
        """How far the handler is behind on the partitions it holds.

        A replay reads the topic itself or a plan's copy of it; the plan's name is no label.
        """
        if self._lane == "replay":
            topic = topic.partition(".replay.")[0]
        self._metrics.consumer_lag_records.labels(self._handler, topic, self._lane).set(records)

    def emitted(self, events: Sequence[Event], replayed: bool, seconds: float) -> None:
        """Events that a record caused in so many seconds: what the trust and result dashboards show (R-270)."""
        metrics = self._metrics
        for event in events:
            match event:
                case ScoredPage():
                    self._scored(event, self._lane_of(replayed))
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
                case ExtractionNeeded() if not _is_sent_on(event):
                    metrics.extractions_triggered_total.labels(event.reason).inc()
                case RetrievalEvaluated():
                    metrics.batches_total.labels("passed" if event.passed else "failed").inc()
                case RelevanceJudged():
                    metrics.relevance_judgments_total.labels(event.outcome).inc()
                    _tell_judgment(event)
                case SnippetExtracted():
                    metrics.snippets_total.labels(event.failure or "").inc()
                case SearchEvaluated():
                    metrics.searches_evaluated_total.labels(event.recommendation, event.score_source).inc()
                    if event.score_source is SearchScoreSource.MODEL:
                        metrics.search_judge_drift.observe(abs(event.quality_score - event.rubric.total))
                case ClaimEvaluated():
                    metrics.claims_evaluated_total.labels(event.status, event.band).inc()
                    _tell_claim(event)
                case RankingCompleted():
                    self._queries[self._lane_of(replayed)].answered(event, seconds)
                case _:
                    pass

    def _lane_of(self, replayed: bool) -> Lane:
        return "replay" if replayed else self._lane

    def _scored(self, page: ScoredPage, lane: Lane) -> None:
        metrics = self._metrics
        metrics.pages_scored_total.labels(page.tier, page.trust_label, lane).inc()
        if page.cts_score is not None:
            metrics.cts_score.observe(page.cts_score)
        for name in PAGE_FEATURES:
            if getattr(page.trust_features, name):
                counter = self._features.get((name, lane))
                if counter is None:
                    counter = self._features[name, lane] = metrics.page_features_total.labels(name, lane)
                counter.inc()


def _is_sent_on(event: ExtractionNeeded) -> bool:
    """Whether an extraction sends one of its listing's items on to another domain; no batch triggered that one."""
    return event.reason is ExtractionTrigger.AGGREGATOR_DETECTED and not event.follow


def _tell_claim(event: ClaimEvaluated) -> None:
    """How a claim was judged, under the ids that find it again (R-155)."""
    where = {"claim_id": event.claim_id[:_SHOWN], "source_id": (event.source_id or "")[:_SHOWN] or None}
    if event.status in (ClaimStatus.MALFORMED, ClaimStatus.MODEL_FAILED):
        log.warning("claim has no score", status=event.status, detail=event.detail[:_SHOWN], tries=event.tries, **where)
    else:
        score = event.decontextualization_score
        log.info("claim judged", status=event.status, band=event.band, score=score, **where)


def _tell_judgment(event: RelevanceJudged) -> None:
    """How a source was judged, and what went wrong where nobody has judged it (R-115, R-122)."""
    where = {"url": event.url[:_SHOWN], "request_id": event.request_id}
    raw = (event.raw or "")[:_SHOWN]
    match event.outcome:
        case RelevanceOutcome.RELEVANT:
            log.info("source judged relevant", **where)
        case RelevanceOutcome.IRRELEVANT:
            log.info("source judged irrelevant", raw=raw, **where)
        case RelevanceOutcome.UNDECIDED:
            log.info("words do not show whether a source is relevant, treated as irrelevant", **where)
        case RelevanceOutcome.NO_EVIDENCE:
            log.info("source has neither title nor summary, treated as irrelevant", **where)
        case RelevanceOutcome.UNPARSED:
            log.warning("the reply is no judgment, source treated as irrelevant", raw=raw, **where)
        case RelevanceOutcome.TIMEOUT:
            milliseconds = event.llm.latency_ms if event.llm else None
            log.warning("judgment timed out, source treated as irrelevant", milliseconds=milliseconds, **where)
        case RelevanceOutcome.ERROR:
            log.warning("judgment failed, source treated as irrelevant", detail=(event.detail or "")[:_SHOWN], **where)
    if event.summary_failure is not None:
        log.warning("summary could not be read", detail=event.summary_failure, **where)
