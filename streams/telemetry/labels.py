"""The labels of metrics: what each means, which values it takes, and so how many series a metric has at most.

Every set is closed: an enum's members, the handlers and topics of the topology, the models that the configuration names
for the tasks. Nothing that a record, a page or a server says becomes a value, so no input can make series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Literal, get_args

from schemas.claims import ClaimBand, ClaimStatus
from schemas.documents import IndexChange
from schemas.extraction import ExtractionTrigger
from schemas.llm import CallOutcome
from schemas.outcome import DeadReason, DropReason, RetryReason, Stage
from schemas.pages import LabelSource, Tier, TrustLabel
from schemas.ranking import Intent, StageName, StageOutcome
from schemas.relevance import RelevanceOutcome, SnippetFailure
from schemas.replies import FetchFailure
from schemas.retrieval import ResultType
from schemas.search import Recommendation, SearchScoreSource
from streams.telemetry import metric_defs as defs
from streams.telemetry.metric_defs import MetricDef
from streams.topology import HANDLERS

Via = Literal["kafka", "http", "command"]
"""Which way a query comes."""
VIAS: tuple[Via, ...] = ("kafka", "http")
"""Those that are counted: a command has no metrics."""
RefusalReason = Literal["invalid", "busy", "unavailable", "timeout", "failed"]
"""Why a query has no answer; queries that come over Kafka wait, or become dead letters."""
Lane = Literal["live", "replay"]
LANES: tuple[Lane, ...] = get_args(Lane)
Cause = Literal["settings", "journal", "breaker", "limit", "budget", "shut", "down"]
"""Why nobody could be asked."""
PAGE_FEATURES = (
    "has_doi",
    "citation_count",
    "external_links_count",
    "has_references_section",
    "has_headings",
    "has_statistics",
    "schema_type",
    "has_author",
    "has_byline",
    "has_date",
    "is_wire_report",
    "domain_is_academic",
    "domain_is_government",
)
"""The observations whose rates show when a crawler, or the web, has changed."""
TASKS = tuple(handler.name for handler in HANDLERS if handler.asks_models)
"""What language models are asked for, under the names of the handlers that ask."""

LABELS = {
    "handler": "A handler of the topology.",
    "topic": "What a handler reads, without prefix: its own topic, or one of its retry topics.",
    "outcome": "What came of it.",
    "reason": "What a refusal, a retry or a trigger carries; empty where there is none.",
    "stage": "Where a record was refused; or a stage of a query.",
    "lane": "live for ordinary traffic, replay for replays and backfills: the record has a run, or the group is one's.",
    "result": "How a transaction ended.",
    "tier": "How far a page is trusted, and how deep it is indexed.",
    "trust_label": "How far a page is trusted, in a word.",
    "label_source": "What a trust label rests on: the page's score, or the fallback where it has none.",
    "intent": "What a query is after; empty where it has no answer.",
    "via": "Which way a query came: kafka or http.",
    "feature": "An observation of a page that is true or not, or more than none.",
    "change": "What indexing a page did.",
    "plan": "full for every document chunked in full, tiered for each as its tier has it.",
    "result_type": "What a retrieved result is.",
    "verdict": "On a batch of results.",
    "recommendation": "Whether to go on searching.",
    "score_source": "model, or rubric where no model was there or its answer was none.",
    "status": "success; with any other there is no score.",
    "band": "Of a claim's score; failed without one.",
    "task": "What a language model is asked for: the name of a handler.",
    "model": "The language model of the task, as the configuration names it.",
    "direction": "in for prompts, out for replies.",
    "cause": "Why nobody could be asked.",
    "version": "The installed version of Assay.",
}
"""Every label there is. A metric with another label fails the tests."""

Rows = frozenset[tuple[str, ...]]
"""Values of some labels that occur together."""


def label_rows(metric: MetricDef, models: Mapping[str, str]) -> dict[tuple[str, ...], Rows]:
    """The values that a metric's labels take; labels that depend on each other stand together.

    Args:
        metric: A declared metric.
        models: The model of each task, as the configuration has it.

    Returns:
        For each group of labels every row of values that a sample may have. ``version`` is whatever is installed, and
        has no rows.
    """
    asked = [(task, models.get(task, "")) for task in TASKS]
    of_models = {**_rows(("task", "model"), asked), **_each("model", (model for _, model in asked))}
    known = {**_SHARED, **of_models, **_OWN.get(metric.name, {})}
    left = [label for label in metric.labels if label != "version"]
    groups: dict[tuple[str, ...], Rows] = {}
    # The largest group first: a label that depends on another has no values of its own.
    for group in sorted(known, key=len, reverse=True):
        if set(group) <= set(left):
            groups[group] = known[group]
            left = [label for label in left if label not in group]
    if left:
        raise KeyError(f"{metric.name}: nobody has said which values {', '.join(left)} takes")
    return groups


def most_series(metric: MetricDef) -> int:
    """How many series of a metric a process that runs every handler exposes at most.

    Counters and histograms have one more a row, that tells since when they count; a histogram of values below zero has
    no sum, for that could fall.
    """
    beside = 3 if metric.buckets and metric.buckets[0] < 0 else 4
    a_row = {"gauge": 1, "counter": 2, "histogram": len(metric.buckets) + beside}[metric.kind]
    models = {task: task for task in TASKS}  # each has another
    return prod((len(rows) for rows in label_rows(metric, models).values()), start=a_row)


def _rows(labels: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], Rows]:
    return {labels: frozenset(rows)}


def _each(label: str, values: Iterable[str]) -> dict[tuple[str, ...], Rows]:
    return {(label,): frozenset((str(value),) for value in values)}


_HANDLERS = tuple(handler.name for handler in HANDLERS)
_TIERS, _TRUST_LABELS = get_args(Tier), get_args(TrustLabel)
_SHARED: dict[tuple[str, ...], Rows] = {
    **_each("handler", _HANDLERS),
    **_rows(
        ("handler", "topic"),
        (
            (handler.name, topic)
            for handler in HANDLERS
            for topic in (handler.consumes.name, *(tier.topic for tier in handler.tiers))
        ),
    ),
    **_each("lane", LANES),
    **_each("stage", Stage),
    **_each("result", ("committed", "in_doubt")),
    **_each("tier", _TIERS),
    **_each("trust_label", _TRUST_LABELS),
    **_each("label_source", get_args(LabelSource)),
    **_each("via", VIAS),
    **_each("feature", PAGE_FEATURES),
    **_each("change", IndexChange),
    **_each("plan", ("full", "tiered")),
    **_each("result_type", ResultType),
    **_each("verdict", ("passed", "failed")),
    **_each("recommendation", Recommendation),
    **_each("score_source", SearchScoreSource),
    **_each("status", ClaimStatus),
    **_each("band", ClaimBand),
    **_each("task", TASKS),
    **_each("direction", ("in", "out")),
    **_each("cause", get_args(Cause)),
}
_OWN: dict[str, dict[tuple[str, ...], Rows]] = {
    defs.HANDLER_EVENTS.name: _rows(
        ("outcome", "reason"),
        [
            ("emit", ""),
            *product(("drop",), map(str, DropReason)),
            *product(("retry",), map(str, RetryReason)),
            *product(("dead",), map(str, DeadReason)),
        ],
    ),
    defs.RETRIES.name: _each("reason", RetryReason),
    defs.DEAD_EVENTS.name: _each("reason", DeadReason),
    defs.EXTRACTIONS_TRIGGERED.name: _each("reason", ExtractionTrigger),
    defs.SNIPPETS.name: _each("reason", ("", *SnippetFailure)),
    defs.RELEVANCE_JUDGMENTS.name: _each("outcome", RelevanceOutcome),
    defs.QUERIES.name: _rows(
        ("outcome", "intent"),
        [
            *product(("answered", "empty"), map(str, Intent)),
            *product(get_args(RefusalReason), ("",)),
        ],
    ),
    defs.QUERY_STAGES.name: {**_each("stage", StageName), **_each("outcome", StageOutcome)},
    defs.FETCHES.name: _each("outcome", ("ok", *FetchFailure)),
    defs.FETCH_ROBOTS.name: _each("outcome", ("fetched", "none", "kept", *FetchFailure)),
    defs.LLM_REQUESTS.name: _each("outcome", CallOutcome),
    defs.LLM_OFFLINE.name: _each("outcome", CallOutcome),
    defs.REPLAY_RECORDS.name: _each("outcome", ("replayed", "passed_over")),
}
