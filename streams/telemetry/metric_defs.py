"""Every metric of Assay, declared once: name, kind, unit, labels, and what it means.

``streams.telemetry.metrics`` turns these into Prometheus metrics; dashboards, alert rules and the metrics page of the
docs are generated from them. What values labels take is in ``streams.telemetry.labels``.
FastStream's own metrics are not here; they keep the prefix ``faststream``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDef:
    """A metric.

    Attributes:
        name: As it is scraped, with the suffixes that Prometheus asks for.
        kind: What Prometheus keeps of it.
        meaning: One sentence for the documentation and the exposition's HELP line.
        unit: What one of it is: seconds, bytes, records, points, or 1.
        labels: Its label names, each of bounded cardinality.
        buckets: Upper bounds of a histogram's buckets, without infinity.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""1 ms, a short page, to 120 s, an extraction with all its details."""
AGE_BUCKETS = (
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    900.0,
    3600.0,
    21600.0,
    86400.0,
)
"""Every objective of the topology is one of these bounds, so that the share within it is exact."""
SCORE_BUCKETS = tuple(float(bound) for bound in range(10, 101, 10))
IMPROVEMENT_BUCKETS = (-1.0, -0.5, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SHARE_BUCKETS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DRIFT_BUCKETS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)

HANDLER_EVENTS = MetricDef(
    name="assay_handler_events_total",
    kind="counter",
    meaning="Inputs with an outcome, by outcome and reason; an input that is processed again counts again.",
    unit="records",
    labels=("handler", "outcome", "reason", "lane"),
)
HANDLER_DURATION = MetricDef(
    name="assay_handler_duration_seconds",
    kind="histogram",
    meaning="Time from the start of the work on an input to its outcome, including waits for services.",
    unit="seconds",
    labels=("handler", "lane"),
    buckets=DURATION_BUCKETS,
)
EVENT_AGE = MetricDef(
    name="assay_event_age_seconds",
    kind="histogram",
    meaning="Time from an input's record timestamp to its outcome, just before its commit; the objectives' measure."
    " Replays and backfills are left out: their inputs are as old as they are.",
    unit="seconds",
    labels=("handler",),
    buckets=AGE_BUCKETS,
)
HANDLER_IN_FLIGHT = MetricDef(
    name="assay_handler_in_flight",
    kind="gauge",
    meaning="Inputs that are being processed.",
    unit="records",
    labels=("handler",),
)
RETRIES = MetricDef(
    name="assay_retries_total",
    kind="counter",
    meaning="Tries of an input after the first, by what made the one before fail.",
    unit="tries",
    labels=("handler", "reason", "lane"),
)
BREAKER_OPEN = MetricDef(
    name="assay_breaker_open",
    kind="gauge",
    meaning="1 while intake is paused because a service of the handler is down, else 0.",
    unit="1",
    labels=("handler", "lane"),
)
DEAD_EVENTS = MetricDef(
    name="assay_dead_events_total",
    kind="counter",
    meaning="Inputs written to the dead letter topic.",
    unit="records",
    labels=("handler", "reason", "stage", "lane"),
)
CONSUMER_LAG = MetricDef(
    name="assay_consumer_lag_records",
    kind="gauge",
    meaning="Records between the committed offset and the end of the topic, over the partitions this process holds.",
    unit="records",
    labels=("handler", "topic", "lane"),
)
OLDEST_UNFINISHED = MetricDef(
    name="assay_oldest_unfinished_seconds",
    kind="gauge",
    meaning="How long the oldest record in hand has been in hand; 0 when there is none.",
    unit="seconds",
    labels=("handler", "lane"),
)
TRANSACTIONS = MetricDef(
    name="assay_transactions_total",
    kind="counter",
    meaning="Transactions, by how they ended.",
    unit="transactions",
    labels=("handler", "result", "lane"),
)
TRANSACTION_SECONDS = MetricDef(
    name="assay_transaction_seconds",
    kind="histogram",
    meaning="Time from the begin of a transaction to its end.",
    unit="seconds",
    labels=("handler",),
    buckets=DURATION_BUCKETS,
)
REBALANCES = MetricDef(
    name="assay_rebalances_total",
    kind="counter",
    meaning="Times the group handed its partitions round.",
    unit="rebalances",
    labels=("handler",),
)
LOOP_LAG = MetricDef(
    name="assay_loop_lag_seconds",
    kind="gauge",
    meaning="How late the event loop woke from its last short sleep: work that does not yield shows here.",
    unit="seconds",
)
RECORDS_HELD = MetricDef(
    name="assay_records_held",
    kind="gauge",
    meaning="Records in memory that are not committed yet.",
    unit="records",
    labels=("handler",),
)
BYTES_HELD = MetricDef(
    name="assay_bytes_held",
    kind="gauge",
    meaning="Bytes of the records in memory that are not committed yet.",
    unit="bytes",
    labels=("handler",),
)
PAGES_SCORED = MetricDef(
    name="assay_pages_scored_total",
    kind="counter",
    meaning="Pages with a trust score, by tier and label (R-270).",
    unit="pages",
    labels=("tier", "trust_label", "lane"),
)
CTS_SCORE = MetricDef(
    name="assay_cts_score",
    kind="histogram",
    meaning="Content trust scores, 0 to 100.",
    unit="points",
    buckets=SCORE_BUCKETS,
)
PAGE_FEATURES = MetricDef(
    name="assay_page_features_total",
    kind="counter",
    meaning="Scored pages that have a feature; against all scored pages of the lane it is the feature's rate.",
    unit="pages",
    labels=("feature", "lane"),
)
DOCUMENTS_INDEXED = MetricDef(
    name="assay_documents_indexed_total",
    kind="counter",
    meaning="Pages brought to the index, by tier and by what that changed there.",
    unit="pages",
    labels=("tier", "change"),
)
POINTS_WRITTEN = MetricDef(
    name="assay_index_points_written_total",
    kind="counter",
    meaning="Points written to the index.",
    unit="points",
)
POINTS_REMOVED = MetricDef(
    name="assay_index_points_removed_total",
    kind="counter",
    meaning="Points taken from the index, because a page changed its tier or became shorter.",
    unit="points",
)
INDEX_POINTS = MetricDef(
    name="assay_index_points",
    kind="gauge",
    meaning="Points in the index, as last counted there.",
    unit="points",
)
INDEX_DOCUMENTS = MetricDef(
    name="assay_index_documents",
    kind="gauge",
    meaning="Documents in the index by tier, as last counted there.",
    unit="documents",
    labels=("tier",),
)
INDEX_POINTS_ESTIMATED = MetricDef(
    name="assay_index_points_estimated",
    kind="gauge",
    meaning="Points that `assay estimate` reckons for the documents counted, article embeddings included.",
    unit="points",
    labels=("plan",),
)
RESULTS_CLASSIFIED = MetricDef(
    name="assay_results_classified_total",
    kind="counter",
    meaning="Retrieved results, by what they are; the share of AGGREGATOR is the detection rate of R-068.",
    unit="results",
    labels=("result_type",),
)
EXTRACTIONS_TRIGGERED = MetricDef(
    name="assay_extractions_triggered_total",
    kind="counter",
    meaning="Requests to fetch pages, by what asked for them (R-068).",
    unit="requests",
    labels=("reason",),
)
BATCHES = MetricDef(
    name="assay_batches_total",
    kind="counter",
    meaning="Retrieval batches, by the verdict on them.",
    unit="batches",
    labels=("verdict",),
)
ACTIONABLE_IMPROVEMENT = MetricDef(
    name="assay_actionable_improvement",
    kind="histogram",
    meaning="Change of a batch's actionable information against the batch it was extracted for, -1 to 1 (R-068).",
    unit="1",
    buckets=IMPROVEMENT_BUCKETS,
)
ACTIONABLE_BEFORE = MetricDef(
    name="assay_actionable_before_total",
    kind="counter",
    meaning="Actionable information of the batches that something was extracted for, summed up.",
    unit="1",
)
ACTIONABLE_AFTER = MetricDef(
    name="assay_actionable_after_total",
    kind="counter",
    meaning="Actionable information of the batches that came of the extraction, summed up; less what was before, by the"
    " number of improvements, is the mean improvement, which a histogram with values below zero can't tell.",
    unit="1",
)
RELEVANCE_JUDGMENTS = MetricDef(
    name="assay_relevance_judgments_total",
    kind="counter",
    meaning="Sources judged for a query, by the outcome; unparsed, error and timeout are no opinions (R-130).",
    unit="sources",
    labels=("outcome",),
)
SNIPPETS = MetricDef(
    name="assay_snippets_total",
    kind="counter",
    meaning="Relevant sources that were read, by why they have no snippet; empty for those that have one.",
    unit="sources",
    labels=("reason",),
)
SEARCHES_EVALUATED = MetricDef(
    name="assay_searches_evaluated_total",
    kind="counter",
    meaning="Searches judged, by what was recommended and by whose score (R-099).",
    unit="batches",
    labels=("recommendation", "score_source"),
)
SEARCH_JUDGE_DRIFT = MetricDef(
    name="assay_search_judge_drift",
    kind="histogram",
    meaning="How far a model's score of a search is from the rubric's; it grows where a model drifts (R-102).",
    unit="1",
    buckets=DRIFT_BUCKETS,
)
QUERIES = MetricDef(
    name="assay_queries_total",
    kind="counter",
    meaning="Queries that came to an end, by what they were after and which way they came. Of Kafka's those with"
    " results or without any; replays are left out, for nobody waits for them.",
    unit="queries",
    labels=("outcome", "intent", "via"),
)
QUERY_SECONDS = MetricDef(
    name="assay_query_seconds",
    kind="histogram",
    meaning="Time of an answered query from the start of the work on it, its models' answers included.",
    unit="seconds",
    labels=("via",),
    buckets=DURATION_BUCKETS,
)
QUERY_STAGES = MetricDef(
    name="assay_query_stages_total",
    kind="counter",
    meaning="What each stage of answered queries did: ran, off, skipped, shadow, failed.",
    unit="stages",
    labels=("stage", "outcome"),
)
QUERY_RESULTS = MetricDef(
    name="assay_query_results_total",
    kind="counter",
    meaning="Results that queries were answered with, by their trust label and what it rests on.",
    unit="results",
    labels=("trust_label", "label_source"),
)
QUERY_HIGH_SHARE = MetricDef(
    name="assay_query_high_share",
    kind="histogram",
    meaning="Share of HIGH among a query's first five results.",
    unit="1",
    buckets=SHARE_BUCKETS,
)
QUERY_TREES_AGREEMENT = MetricDef(
    name="assay_query_trees_agreement",
    kind="histogram",
    meaning="Share of the results shown that trees in shadow would have shown as well.",
    unit="1",
    buckets=SHARE_BUCKETS,
)
CLAIMS_EVALUATED = MetricDef(
    name="assay_claims_evaluated_total",
    kind="counter",
    meaning="Claims judged, by how that ended and by the score's band.",
    unit="claims",
    labels=("status", "band"),
)
FETCHES = MetricDef(
    name="assay_fetches_total",
    kind="counter",
    meaning="Pages asked for, by what came: ok, or the failure.",
    unit="fetches",
    labels=("outcome",),
)
FETCHES_CACHED = MetricDef(
    name="assay_fetches_cached_total",
    kind="counter",
    meaning="Pages asked for that had been fetched for the same query before, or refused, and were not fetched again.",
    unit="pages",
)
FETCH_ROBOTS = MetricDef(
    name="assay_fetch_robots_total",
    kind="counter",
    meaning="Times the rules of an origin were looked for, beyond memory, by what was found.",
    unit="origins",
    labels=("outcome",),
)
FETCH_BYTES = MetricDef(
    name="assay_fetch_bytes_total",
    kind="counter",
    meaning="Bytes of page bodies brought home, content-decoded.",
    unit="bytes",
)
FETCH_WAIT = MetricDef(
    name="assay_fetch_wait_seconds",
    kind="histogram",
    meaning="Time that a fetch waited for its turn at the host.",
    unit="seconds",
    buckets=DURATION_BUCKETS,
)
LLM_REQUESTS = MetricDef(
    name="assay_llm_requests_total",
    kind="counter",
    meaning="Requests sent to language models, by how each ended (R-270).",
    unit="requests",
    labels=("task", "model", "outcome"),
)
LLM_REQUEST_SECONDS = MetricDef(
    name="assay_llm_request_seconds",
    kind="histogram",
    meaning="Time of a request to a language model, without the wait for its turn.",
    unit="seconds",
    labels=("task", "model"),
    buckets=DURATION_BUCKETS,
)
LLM_QUEUE_SECONDS = MetricDef(
    name="assay_llm_queue_seconds",
    kind="histogram",
    meaning="Time a question waited for its turn: for those before it, and for the model's limits.",
    unit="seconds",
    labels=("task", "model"),
    buckets=DURATION_BUCKETS,
)
LLM_LIMIT_SECONDS = MetricDef(
    name="assay_llm_limit_seconds",
    kind="histogram",
    meaning="The part of that wait in which the question was first in line, and the model's limits held it back.",
    unit="seconds",
    labels=("task", "model"),
    buckets=DURATION_BUCKETS,
)
LLM_ALLOWED = MetricDef(
    name="assay_llm_allowed_requests_per_minute",
    kind="gauge",
    meaning="Requests a minute that this process may send: its share of the limit, as configured and as learnt.",
    unit="requests",
    labels=("task", "model"),
)
LLM_TOKENS = MetricDef(
    name="assay_llm_tokens_total",
    kind="counter",
    meaning="Tokens of answers, as the server counted them.",
    unit="tokens",
    labels=("task", "model", "direction"),
)
LLM_COST = MetricDef(
    name="assay_llm_cost_usd_total",
    kind="counter",
    meaning="What calls cost by the configured prices, those that brought nothing as estimated: one that was cut off"
    " at its longest reply. No series for a model without a price, whose cost is not known.",
    unit="USD",
    labels=("task", "model"),
)
LLM_CACHED = MetricDef(
    name="assay_llm_cached_total",
    kind="counter",
    meaning="Answers that were in the journal already and cost nothing.",
    unit="answers",
    labels=("task",),
)
LLM_OFFLINE = MetricDef(
    name="assay_llm_offline_total",
    kind="counter",
    meaning="Answers of the offline judge, which stands in where no model is configured.",
    unit="answers",
    labels=("task", "outcome"),
)
LLM_UNAVAILABLE = MetricDef(
    name="assay_llm_unavailable_total",
    kind="counter",
    meaning="Questions that nobody could be asked, so that nothing was judged, by the cause.",
    unit="questions",
    labels=("task", "model", "cause"),
)
LLM_BREAKER_OPEN = MetricDef(
    name="assay_llm_breaker_open",
    kind="gauge",
    meaning="1 while the circuit breaker of a model is open, else 0.",
    unit="1",
    labels=("model",),
)
LLM_BUDGET_LEFT = MetricDef(
    name="assay_llm_budget_left_usd",
    kind="gauge",
    meaning="What is left of the day's budget for language models, all replicas together, as of this process's last"
    " question; no series before its first one of a day.",
    unit="USD",
)
LLM_BUDGET = MetricDef(
    name="assay_llm_budget_usd",
    kind="gauge",
    meaning="The day's budget for language models; no series without one.",
    unit="USD",
)
REPLAY_RECORDS = MetricDef(
    name="assay_replay_records_total",
    kind="counter",
    meaning="Records of a replay's ranges that are behind it, by whether it has done them again or passed them over.",
    unit="records",
    labels=("handler", "outcome"),
)
REPLAY_REMAINING = MetricDef(
    name="assay_replay_remaining_records",
    kind="gauge",
    meaning="Offsets that a replay still has before it, over the partitions this process holds.",
    unit="records",
    labels=("handler",),
)
REPLAY_COST = MetricDef(
    name="assay_replay_cost_usd_total",
    kind="counter",
    meaning="What a replay's questions to language models cost.",
    unit="USD",
    labels=("handler",),
)
REPLAY_WAITING = MetricDef(
    name="assay_replay_waiting",
    kind="gauge",
    meaning="1 while a replay gives way to live traffic, else 0.",
    unit="1",
    labels=("handler",),
)
GROUP_LAG = MetricDef(
    name="assay_group_lag_records",
    kind="gauge",
    meaning="Records that a consumer group has not committed, as seen from outside: also of a group that is stopped."
    " Counted in offsets, so with the markers of transactions; 0 is exact.",
    unit="records",
    labels=("handler", "topic"),
)
GROUP_LAG_SECONDS = MetricDef(
    name="assay_group_lag_seconds",
    kind="gauge",
    meaning="Age of the oldest record that a consumer group has not committed; 0 where there is none.",
    unit="seconds",
    labels=("handler", "topic"),
)
GROUP_RETENTION_LEFT = MetricDef(
    name="assay_group_retention_left_seconds",
    kind="gauge",
    meaning="Time until retention deletes the oldest record that a consumer group has not committed.",
    unit="seconds",
    labels=("handler", "topic"),
)
GROUP_LOST = MetricDef(
    name="assay_group_lost_records",
    kind="gauge",
    meaning="Records that retention has deleted before a consumer group came to them, counted in offsets; 0 again once"
    " it has gone on behind them.",
    unit="records",
    labels=("handler", "topic"),
)
GROUP_MEMBERS = MetricDef(
    name="assay_group_members",
    kind="gauge",
    meaning="Members of a consumer group.",
    unit="members",
    labels=("handler", "topic"),
)
TOPIC_DEAD_LETTERS = MetricDef(
    name="assay_topic_dead_letters",
    kind="gauge",
    meaning="Records that stand in a handler's dead letter topic, counted in offsets; 0 is exact.",
    unit="records",
    labels=("handler",),
)
STARTED_AT = MetricDef(
    name="assay_started_at_seconds",
    kind="gauge",
    meaning="When this process began, in seconds since 1970; each change is a restart.",
    unit="seconds",
)
BUILD_INFO = MetricDef(
    name="assay_build_info",
    kind="gauge",
    meaning="Always 1; the label tells the version.",
    unit="1",
    labels=("version",),
)

METRICS: tuple[MetricDef, ...] = (
    HANDLER_EVENTS,
    HANDLER_DURATION,
    EVENT_AGE,
    HANDLER_IN_FLIGHT,
    RETRIES,
    BREAKER_OPEN,
    DEAD_EVENTS,
    CONSUMER_LAG,
    OLDEST_UNFINISHED,
    TRANSACTIONS,
    TRANSACTION_SECONDS,
    REBALANCES,
    LOOP_LAG,
    RECORDS_HELD,
    BYTES_HELD,
    PAGES_SCORED,
    CTS_SCORE,
    PAGE_FEATURES,
    DOCUMENTS_INDEXED,
    POINTS_WRITTEN,
    POINTS_REMOVED,
    INDEX_POINTS,
    INDEX_DOCUMENTS,
    INDEX_POINTS_ESTIMATED,
    RESULTS_CLASSIFIED,
    EXTRACTIONS_TRIGGERED,
    BATCHES,
    ACTIONABLE_IMPROVEMENT,
    ACTIONABLE_BEFORE,
    ACTIONABLE_AFTER,
    RELEVANCE_JUDGMENTS,
    SNIPPETS,
    SEARCHES_EVALUATED,
    SEARCH_JUDGE_DRIFT,
    QUERIES,
    QUERY_SECONDS,
    QUERY_STAGES,
    QUERY_RESULTS,
    QUERY_HIGH_SHARE,
    QUERY_TREES_AGREEMENT,
    CLAIMS_EVALUATED,
    FETCHES,
    FETCHES_CACHED,
    FETCH_ROBOTS,
    FETCH_BYTES,
    FETCH_WAIT,
    LLM_REQUESTS,
    LLM_REQUEST_SECONDS,
    LLM_QUEUE_SECONDS,
    LLM_LIMIT_SECONDS,
    LLM_ALLOWED,
    LLM_TOKENS,
    LLM_COST,
    LLM_CACHED,
    LLM_OFFLINE,
    LLM_UNAVAILABLE,
    LLM_BREAKER_OPEN,
    LLM_BUDGET_LEFT,
    LLM_BUDGET,
    REPLAY_RECORDS,
    REPLAY_REMAINING,
    REPLAY_COST,
    REPLAY_WAITING,
    GROUP_LAG,
    GROUP_LAG_SECONDS,
    GROUP_RETENTION_LEFT,
    GROUP_LOST,
    GROUP_MEMBERS,
    TOPIC_DEAD_LETTERS,
    STARTED_AT,
    BUILD_INFO,
)
"""All of them, in the order of the documentation."""
