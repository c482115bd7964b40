"""Every metric of Assay, declared once: name, kind, unit, labels and meaning.

``Metrics`` declares each metric as a class attribute. On the class, the attribute is the definition, as in
``Metrics.fetches_total.name``. On an instance, it is the instrument, as in ``metrics.fetches_total.labels("ok")``. The
type checker therefore refuses a metric that is not declared, and ``set`` on a counter.

The dashboards and the alert rules are generated from these declarations. The values of a label are
a closed set. FastStream's own metrics have the prefix ``faststream`` and are not declared here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Generic, Literal, TypeVar, overload

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric

Kind = Literal["counter", "gauge", "histogram"]
Instrument = TypeVar("Instrument", bound=MetricWrapperBase)


@dataclass(frozen=True, slots=True)
class MetricDef:
    """A metric."""

    name: str  # as it is scraped, with the suffixes that Prometheus asks for
    kind: Kind
    meaning: str  # one sentence for the documentation and the exposition's HELP line
    unit: str  # what one of it is: seconds, bytes, records, points, or 1
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()  # upper bounds of a histogram's buckets, without infinity


class Declared(Generic[Instrument]):
    """A metric as an attribute of a class; its name is the attribute's with the prefix ``assay_``."""

    def __init__(
        self,
        instrument: Callable[..., Instrument],
        kind: Kind,
        unit: str,
        meaning: str,
        labels: tuple[str, ...] = (),
        buckets: tuple[float, ...] = (),
    ) -> None:
        self._instrument = instrument
        self.definition = MetricDef("", kind, meaning, unit, labels, buckets)

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.definition = replace(self.definition, name=f"assay_{attribute}")

    @overload
    def __get__(self, instance: None, owner: type) -> MetricDef: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Instrument: ...

    def __get__(self, instance: object | None, owner: type) -> MetricDef | Instrument:
        # An instance has its instruments in its own dictionary, which comes before a descriptor without ``__set__``.
        return self.definition

    def make(self, registry: CollectorRegistry) -> Instrument:
        metric = self.definition
        buckets: dict[str, Any] = {"buckets": metric.buckets} if metric.buckets else {}
        return self._instrument(metric.name, metric.meaning, metric.labels, registry=registry, **buckets)


class UnsetGauge(Gauge):
    """A gauge without labels that exposes nothing before it is set.

    Otherwise a budget that is not set would read as spent, and an index that this process does not have as empty.
    """

    _holds: Callable[[], bool] = staticmethod(lambda: False)

    def set(self, value: float) -> None:
        self.set_while(value, lambda: True)

    def set_while(self, value: float, holds: Callable[[], bool]) -> None:
        """Sets the gauge and exposes it while ``holds()`` is true."""
        self._holds = holds
        super().set(value)

    def collect(self) -> Iterable[Metric]:
        return super().collect() if self._holds() else ()


class BatchHistogram(Histogram):
    """A histogram that takes many values at once: ``observe`` takes two locks for each value."""

    def observe_many(self, values: Sequence[float]) -> None:
        if not values:
            return
        self._sum.inc(sum(values))
        for bucket, number in Counts(bisect_left(self._upper_bounds, value) for value in values).items():
            self._buckets[bucket].inc(number)


def counted(counter: Counter) -> Iterator[tuple[Mapping[str, str], float]]:
    """The labels and the value of each series of a counter."""
    for family in counter.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield sample.labels, sample.value


counter = partial(Declared[Counter], Counter, "counter")
gauge = partial(Declared[Gauge], Gauge, "gauge")
unset_gauge = partial(Declared[UnsetGauge], UnsetGauge, "gauge")


def histogram(
    unit: str, buckets: tuple[float, ...], meaning: str, labels: tuple[str, ...] = ()
) -> Declared[BatchHistogram]:
    return Declared(BatchHistogram, "histogram", unit, meaning, labels, buckets)


DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""1 ms, a short page, to 120 s, an extraction with all its details."""
AGE_BUCKETS = (
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0),
)
"""Each objective of the topology is one of these bounds, so the share within the objective is exact."""
SCORE_BUCKETS = tuple(float(bound) for bound in range(10, 101, 10))
IMPROVEMENT_BUCKETS = (-1.0, -0.5, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SHARE_BUCKETS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DRIFT_BUCKETS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


class Metrics:
    """All metrics of a process, registered with one registry, in the order of the documentation."""

    handler_events_total = counter(
        "records",
        "Inputs with an outcome, by outcome and reason; an input that is processed again counts again.",
        ("handler", "outcome", "reason", "lane"),
    )
    handler_duration_seconds = histogram(
        "seconds",
        DURATION_BUCKETS,
        "Time from the start of the work on an input to its outcome, including waits for services.",
        ("handler", "lane"),
    )
    event_age_seconds = histogram(
        "seconds",
        AGE_BUCKETS,
        "Time from an input's record timestamp to its outcome, just before its commit; the objectives' measure. "
        "Replays and backfills are left out: their inputs are as old as they are.",
        ("handler",),
    )
    handler_in_flight = gauge("records", "Inputs that are being processed.", ("handler",))
    retries_total = counter(
        "tries", "Retries of inputs, by the reason why the attempt before failed.", ("handler", "reason", "lane")
    )
    breaker_open = gauge(
        "1", "1 while intake is paused because a service of the handler is down, else 0.", ("handler", "lane")
    )
    dead_events_total = counter(
        "records", "Inputs written to the dead letter topic.", ("handler", "reason", "stage", "lane")
    )
    dead_letter_pauses_total = counter(
        "pauses", "Pauses of intake because too many records became dead letters.", ("handler", "lane")
    )
    child_processes_ended_total = counter(
        "processes", "Child processes that a record ended; a new one has taken their place.", ("reason",)
    )
    consumer_lag_records = gauge(
        "records",
        "Records between the committed offset and the end of the topic, over the partitions this process holds.",
        ("handler", "topic", "lane"),
    )
    oldest_unfinished_seconds = gauge(
        "seconds", "Time since the oldest unfinished record arrived; 0 if all are finished.", ("handler", "lane")
    )
    transactions_total = counter("transactions", "Transactions, by result.", ("handler", "result", "lane"))
    transaction_seconds = histogram(
        "seconds", DURATION_BUCKETS, "Time from the start of a transaction to its end.", ("handler",)
    )
    rebalances_total = counter("rebalances", "Rebalances of the consumer group.", ("handler",))
    loop_lag_seconds = unset_gauge(
        "seconds", "Delay of the event loop's last short sleep; code that blocks the loop raises it."
    )
    records_held = gauge("records", "Records in memory that are not committed yet.", ("handler",))
    bytes_held = gauge("bytes", "Bytes of the records in memory that are not committed yet.", ("handler",))
    page_states_total = counter("pages", "Scored pages by state: content, or why a page has none.", ("state", "lane"))
    pages_scored_total = counter(
        "pages", "Pages with a trust score, by tier and label.", ("tier", "trust_label", "lane")
    )
    cts_score = histogram("points", SCORE_BUCKETS, "Content trust scores, 0 to 100.")
    page_features_total = counter(
        "pages",
        "Scored pages that have a feature; divided by all scored pages of the lane it is the feature's rate.",
        ("feature", "lane"),
    )
    documents_indexed_total = counter(
        "pages", "Pages sent to the index, by tier and by what changed there.", ("tier", "change")
    )
    index_points_written_total = counter("points", "Points written to the index.")
    index_points_removed_total = counter(
        "points", "Points removed from the index because a page changed its tier or became shorter."
    )
    index_points = unset_gauge("points", "Points in the index at the last count.")
    index_documents = gauge("documents", "Documents in the index by tier, at the last count.", ("tier",))
    index_points_estimated = gauge(
        "points",
        "Points that `assay estimate` calculates for the counted documents, article embeddings included.",
        ("plan",),
    )
    results_classified_total = counter(
        "results",
        "Retrieved results, by type; the share of AGGREGATOR is the detection rate.",
        ("result_type",),
    )
    extractions_triggered_total = counter("requests", "Requests to fetch pages, by what triggered them.", ("reason",))
    batches_total = counter("batches", "Retrieval batches, by verdict.", ("verdict",))
    actionable_improvement = histogram(
        "1",
        IMPROVEMENT_BUCKETS,
        "Change of a batch's actionable information against the batch it was extracted for, -1 to 1.",
    )
    actionable_before_total = counter("1", "Sum of the actionable information of batches before an extraction.")
    actionable_after_total = counter(
        "1",
        "Sum of the actionable information of batches after an extraction. The mean improvement is the difference to "
        "the sum before, divided by the number of improvements; a histogram with values below zero has no sum.",
    )
    relevance_judgments_total = counter(
        "sources",
        "Sources judged for a query, by outcome; unparsed, error and timeout are not judgments.",
        ("outcome",),
    )
    snippets_total = counter(
        "sources",
        "Relevant sources that were read, by the reason why they have no snippet; empty if they have one.",
        ("reason",),
    )
    searches_evaluated_total = counter(
        "batches",
        "Searches judged, by recommendation and by the source of the score.",
        ("recommendation", "score_source"),
    )
    search_judge_drift = histogram(
        "1",
        DRIFT_BUCKETS,
        "Distance between the model's and the rubric's score of a search; it grows if the model drifts.",
    )
    queries_total = counter(
        "queries",
        "Queries that ended, by outcome, intent and way of arrival. A query over Kafka is answered or empty, because "
        "it waits or becomes a dead letter otherwise. Replays are not counted.",
        ("outcome", "intent", "via"),
    )
    query_seconds = histogram(
        "seconds",
        DURATION_BUCKETS,
        "Time from the start of the work on a query to its answer, including calls of models.",
        ("via",),
    )
    query_stages_total = counter(
        "stages",
        "Stages of answered queries, by what they did: ran, off, skipped, shadow, failed.",
        ("stage", "outcome"),
    )
    query_results_total = counter(
        "results",
        "Results of answered queries, by trust label and the source of the label.",
        ("trust_label", "label_source"),
    )
    query_high_share = histogram("1", SHARE_BUCKETS, "Share of HIGH among a query's first five results.")
    query_trees_agreement = histogram(
        "1", SHARE_BUCKETS, "Share of the shown results that the trees in shadow mode would also have shown."
    )
    claims_evaluated_total = counter(
        "claims", "Claims judged, by status and by the band of the score.", ("status", "band")
    )
    fetches_total = counter("fetches", "Pages requested, by outcome: ok, or the failure.", ("outcome",))
    fetches_cached_total = counter(
        "pages", "Requested pages whose result for the same query was in the cache, a page or a refusal."
    )
    fetch_robots_total = counter(
        "origins", "Lookups of robots.txt that were not answered from memory, by result.", ("outcome",)
    )
    fetch_bytes_total = counter("bytes", "Bytes of fetched page bodies, content-decoded.")
    fetch_wait_seconds = histogram("seconds", DURATION_BUCKETS, "Time a fetch waited for its turn at the host.")
    llm_requests_total = counter(
        "requests", "Requests sent to language models, by outcome.", ("task", "model", "outcome")
    )
    llm_request_seconds = histogram(
        "seconds",
        DURATION_BUCKETS,
        "Time of a request to a language model, without the wait for its turn.",
        ("task", "model"),
    )
    llm_queue_seconds = histogram(
        "seconds",
        DURATION_BUCKETS,
        "Time a question waited in its queue: for earlier questions and for the model's limits.",
        ("task", "model"),
    )
    llm_limit_seconds = histogram(
        "seconds",
        DURATION_BUCKETS,
        "Part of that time in which the question was first in its queue and waited for the model's limits.",
        ("task", "model"),
    )
    llm_allowed_requests_per_minute = gauge(
        "requests",
        "Requests a minute that this process may send: its share of the configured or learned limit.",
        ("task", "model"),
    )
    llm_tokens_total = counter(
        "tokens", "Tokens of answers, as the server counted them.", ("task", "model", "direction")
    )
    llm_cost_usd_total = counter(
        "USD",
        "Cost of calls at the configured prices. The cost of a call without an answer is estimated, after a timeout "
        "with the longest reply. A model without a price has no series.",
        ("task", "model"),
    )
    llm_cached_total = counter("answers", "Answers from the journal, which cost nothing.", ("task",))
    llm_offline_total = counter(
        "answers", "Answers of the offline judge, which is used if no model is configured.", ("task", "outcome")
    )
    llm_unavailable_total = counter(
        "questions", "Questions that no model could be asked, by cause.", ("task", "model", "cause")
    )
    llm_breaker_open = gauge("1", "1 while the circuit breaker of a model is open, else 0.", ("model",))
    llm_budget_left_usd = unset_gauge(
        "USD",
        "Rest of the day's budget for language models, over all replicas, at this process's last question; no series "
        "before its first question of a day.",
    )
    llm_budget_usd = unset_gauge("USD", "The day's budget for language models; no series without one.")
    replay_records_total = counter(
        "records",
        "Records of a replay's ranges that the replay has passed: replayed, or passed over.",
        ("handler", "outcome"),
    )
    replay_remaining_records = gauge(
        "records", "Offsets left for a replay, over the partitions this process holds.", ("handler",)
    )
    replay_cost_usd_total = counter("USD", "Cost of a replay's calls of language models.", ("handler",))
    replay_waiting = gauge("1", "1 while a replay waits for live traffic, else 0.", ("handler",))
    group_lag_records = gauge(
        "records",
        "Records that a consumer group has not committed, also if the group is stopped. Counted in offsets, which "
        "include transaction markers; 0 is exact.",
        ("handler", "topic"),
    )
    group_lag_seconds = gauge(
        "seconds",
        "Age of the oldest record that a consumer group has not committed; 0 if it has committed all.",
        ("handler", "topic"),
    )
    group_retention_left_seconds = gauge(
        "seconds",
        "Time until retention deletes the oldest record that a consumer group has not committed.",
        ("handler", "topic"),
    )
    group_lost_records = gauge(
        "records",
        "Records that retention deleted before a consumer group read them, counted in offsets; 0 again after the "
        "group has committed an offset behind them.",
        ("handler", "topic"),
    )
    group_members = gauge("members", "Members of a consumer group.", ("handler", "topic"))
    topic_dead_letters = gauge(
        "records", "Records in a handler's dead letter topic, counted in offsets; 0 is exact.", ("handler",)
    )
    started_at_seconds = unset_gauge(
        "seconds", "Start time of this process, in seconds since 1970; each change is a restart."
    )
    build_info = gauge("1", "Always 1; the label is the version.", ("version",))

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        """Without a registry the metrics are counted and not exposed."""
        self.registry = registry or CollectorRegistry()
        for attribute, declared in _DECLARED.items():
            vars(self)[attribute] = declared.make(self.registry)


@cache
def unexposed_metrics() -> Metrics:
    """One instance for all that is counted and not exposed: replayed queries, and commands without a registry."""
    return Metrics()


_DECLARED = {attribute: value for attribute, value in vars(Metrics).items() if isinstance(value, Declared)}
METRICS: tuple[MetricDef, ...] = tuple(declared.definition for declared in _DECLARED.values())
"""All definitions, in the order of the documentation."""
