"""The declared metrics as Prometheus metrics, one attribute each.

An attribute is the metric's name without the prefix ``assay_``. The attributes are spelled out, not computed, so that
the type checker refuses a metric that is not declared, and a counter that is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import Metric

from streams.telemetry import metric_defs as defs
from streams.telemetry.metric_defs import MetricDef


class Metrics:
    """All metrics of a process, registered with one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.handler_events_total = _counter(defs.HANDLER_EVENTS, registry)
        self.handler_duration_seconds = _histogram(defs.HANDLER_DURATION, registry)
        self.event_age_seconds = _histogram(defs.EVENT_AGE, registry)
        self.handler_in_flight = _gauge(defs.HANDLER_IN_FLIGHT, registry)
        self.retries_total = _counter(defs.RETRIES, registry)
        self.breaker_open = _gauge(defs.BREAKER_OPEN, registry)
        self.dead_events_total = _counter(defs.DEAD_EVENTS, registry)
        self.consumer_lag_records = _gauge(defs.CONSUMER_LAG, registry)
        self.oldest_unfinished_seconds = _gauge(defs.OLDEST_UNFINISHED, registry)
        self.transactions_total = _counter(defs.TRANSACTIONS, registry)
        self.transaction_seconds = _histogram(defs.TRANSACTION_SECONDS, registry)
        self.rebalances_total = _counter(defs.REBALANCES, registry)
        self.loop_lag_seconds = _gauge(defs.LOOP_LAG, registry)
        self.records_held = _gauge(defs.RECORDS_HELD, registry)
        self.bytes_held = _gauge(defs.BYTES_HELD, registry)
        self.pages_scored_total = _counter(defs.PAGES_SCORED, registry)
        self.cts_score = _histogram(defs.CTS_SCORE, registry)
        self.page_features_total = _counter(defs.PAGE_FEATURES, registry)
        self.documents_indexed_total = _counter(defs.DOCUMENTS_INDEXED, registry)
        self.index_points_written_total = _counter(defs.POINTS_WRITTEN, registry)
        self.index_points_removed_total = _counter(defs.POINTS_REMOVED, registry)
        self.index_points = _gauge(defs.INDEX_POINTS, registry)
        self.index_documents = _gauge(defs.INDEX_DOCUMENTS, registry)
        self.index_points_estimated = _gauge(defs.INDEX_POINTS_ESTIMATED, registry)
        self.results_classified_total = _counter(defs.RESULTS_CLASSIFIED, registry)
        self.extractions_triggered_total = _counter(defs.EXTRACTIONS_TRIGGERED, registry)
        self.batches_total = _counter(defs.BATCHES, registry)
        self.actionable_improvement = _histogram(defs.ACTIONABLE_IMPROVEMENT, registry)
        self.actionable_before_total = _counter(defs.ACTIONABLE_BEFORE, registry)
        self.actionable_after_total = _counter(defs.ACTIONABLE_AFTER, registry)
        self.relevance_judgments_total = _counter(defs.RELEVANCE_JUDGMENTS, registry)
        self.snippets_total = _counter(defs.SNIPPETS, registry)
        self.searches_evaluated_total = _counter(defs.SEARCHES_EVALUATED, registry)
        self.search_judge_drift = _histogram(defs.SEARCH_JUDGE_DRIFT, registry)
        self.queries_total = _counter(defs.QUERIES, registry)
        self.query_seconds = _histogram(defs.QUERY_SECONDS, registry)
        self.query_stages_total = _counter(defs.QUERY_STAGES, registry)
        self.query_results_total = _counter(defs.QUERY_RESULTS, registry)
        self.query_high_share = _histogram(defs.QUERY_HIGH_SHARE, registry)
        self.query_trees_agreement = _histogram(defs.QUERY_TREES_AGREEMENT, registry)
        self.claims_evaluated_total = _counter(defs.CLAIMS_EVALUATED, registry)
        self.fetches_total = _counter(defs.FETCHES, registry)
        self.fetches_cached_total = _counter(defs.FETCHES_CACHED, registry)
        self.fetch_robots_total = _counter(defs.FETCH_ROBOTS, registry)
        self.fetch_bytes_total = _counter(defs.FETCH_BYTES, registry)
        self.fetch_wait_seconds = _histogram(defs.FETCH_WAIT, registry)
        self.llm_requests_total = _counter(defs.LLM_REQUESTS, registry)
        self.llm_request_seconds = _histogram(defs.LLM_REQUEST_SECONDS, registry)
        self.llm_queue_seconds = _histogram(defs.LLM_QUEUE_SECONDS, registry)
        self.llm_limit_seconds = _histogram(defs.LLM_LIMIT_SECONDS, registry)
        self.llm_allowed_requests_per_minute = _gauge(defs.LLM_ALLOWED, registry)
        self.llm_tokens_total = _counter(defs.LLM_TOKENS, registry)
        self.llm_cost_usd_total = _counter(defs.LLM_COST, registry)
        self.llm_cached_total = _counter(defs.LLM_CACHED, registry)
        self.llm_offline_total = _counter(defs.LLM_OFFLINE, registry)
        self.llm_unavailable_total = _counter(defs.LLM_UNAVAILABLE, registry)
        self.llm_breaker_open = _gauge(defs.LLM_BREAKER_OPEN, registry)
        self.llm_budget_left_usd = UnsetGauge(
            defs.LLM_BUDGET_LEFT.name, defs.LLM_BUDGET_LEFT.meaning, registry=registry
        )
        self.llm_budget_usd = _gauge(defs.LLM_BUDGET, registry)
        self.replay_records_total = _counter(defs.REPLAY_RECORDS, registry)
        self.replay_remaining_records = _gauge(defs.REPLAY_REMAINING, registry)
        self.replay_cost_usd_total = _counter(defs.REPLAY_COST, registry)
        self.replay_waiting = _gauge(defs.REPLAY_WAITING, registry)
        self.group_lag_records = _gauge(defs.GROUP_LAG, registry)
        self.group_lag_seconds = _gauge(defs.GROUP_LAG_SECONDS, registry)
        self.group_retention_left_seconds = _gauge(defs.GROUP_RETENTION_LEFT, registry)
        self.group_lost_records = _gauge(defs.GROUP_LOST, registry)
        self.group_members = _gauge(defs.GROUP_MEMBERS, registry)
        self.topic_dead_letters = _gauge(defs.TOPIC_DEAD_LETTERS, registry)
        self.started_at_seconds = _gauge(defs.STARTED_AT, registry)
        self.build_info = _gauge(defs.BUILD_INFO, registry)


def _counter(definition: MetricDef, registry: CollectorRegistry) -> Counter:
    return Counter(definition.name, definition.meaning, definition.labels, registry=registry)


class UnsetGauge(Gauge):
    """A gauge without labels that says nothing before it is set: what nobody has looked at is not 0.

    A budget that nobody has set would else read as spent, and an index that this process doesn't have as empty.
    """

    _holds: Callable[[], bool] = staticmethod(lambda: False)

    def set(self, value: float) -> None:
        """Sets the gauge, which shows from now on."""
        self.set_while(value, lambda: True)

    def set_while(self, value: float, holds: Callable[[], bool]) -> None:
        """Sets the gauge, which shows for as long as that holds."""
        self._holds = holds
        super().set(value)

    def collect(self) -> Iterable[Metric]:
        """The gauge, or nothing."""
        return super().collect() if self._holds() else ()


def _gauge(definition: MetricDef, registry: CollectorRegistry) -> Gauge:
    kind = Gauge if definition.labels else UnsetGauge
    return kind(definition.name, definition.meaning, definition.labels, registry=registry)


def _histogram(definition: MetricDef, registry: CollectorRegistry) -> Histogram:
    return Histogram(
        definition.name, definition.meaning, definition.labels, buckets=definition.buckets, registry=registry
    )
