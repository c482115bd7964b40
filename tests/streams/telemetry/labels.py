"""The values of each label of the metrics, which are closed sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import get_args

from schemas.claims import ClaimBand, ClaimStatus
from schemas.documents import IndexChange
from schemas.extraction import ExtractionTrigger
from schemas.llm import CallOutcome
from schemas.outcome import CHILD_ENDS, DeadReason, DropReason, RetryReason, Stage
from schemas.pages import LabelSource, Tier, TrustLabel
from schemas.ranking import Intent, StageName, StageOutcome
from schemas.relevance import RelevanceOutcome, SnippetFailure
from schemas.replies import FetchFailure
from schemas.retrieval import ResultType
from schemas.search import Recommendation, SearchScoreSource
from schemas.states import State
from streams.telemetry.labels import LANES, PAGE_FEATURES, TASKS, VIAS, Cause, RefusalReason
from streams.telemetry.metrics import MetricDef, Metrics
from streams.topology import HANDLERS

Rows = frozenset[tuple[str, ...]]  # values of some labels that occur together
Groups = dict[tuple[str, ...], Rows]  # the rows of labels that depend on each other, by these labels


def label_rows(metric: MetricDef, models: Mapping[str, str]) -> Groups:
    """Every row of values that a sample of a metric may have, for each group of labels that depend on each other.

    ``models`` is the model of each task. ``version`` is the installed version and has no rows.
    """
    asked = [(task, models.get(task, "")) for task in TASKS]
    of_models = {("task", "model"): frozenset(asked)} | _independent(model=[model for _, model in asked])
    known = {**_SHARED, **of_models, **_OWN.get(metric.name, {})}
    left = [label for label in metric.labels if label != "version"]
    groups: Groups = {}
    # The largest group first: a label that depends on another has no values of its own.
    for group in sorted(known, key=len, reverse=True):
        if set(group) <= set(left):
            groups[group] = known[group]
            left = [label for label in left if label not in group]
    if left:
        raise KeyError(f"{metric.name}: no values are defined for {', '.join(left)}")
    return groups


def _independent(**values: Iterable[str]) -> Groups:
    """The groups of labels that depend on no other label."""
    return {(label,): frozenset((str(value),) for value in allowed) for label, allowed in values.items()}


_SHARED: Groups = {
    ("handler", "topic"): frozenset(
        (handler.name, topic)
        for handler in HANDLERS
        for topic in (handler.consumes.name, *(retry.topic for retry in handler.retry_topics))
    ),
    **_independent(
        handler=[handler.name for handler in HANDLERS],
        lane=LANES,
        stage=Stage,
        result=("committed", "in_doubt"),
        tier=get_args(Tier),
        trust_label=get_args(TrustLabel),
        label_source=get_args(LabelSource),
        via=VIAS,
        feature=PAGE_FEATURES,
        change=IndexChange,
        state=State,
        plan=("full", "tiered"),
        result_type=ResultType,
        verdict=("passed", "failed"),
        recommendation=Recommendation,
        score_source=SearchScoreSource,
        status=ClaimStatus,
        band=ClaimBand,
        task=TASKS,
        direction=("in", "out"),
        cause=get_args(Cause),
    ),
}
_DECODE_REASONS = (DeadReason.UNDECODABLE, DeadReason.INVALID, DeadReason.UNKNOWN_VERSION, DeadReason.BAD_INSTANT)
_ENCODE_REASONS = (DeadReason.OUTPUT_TOO_LARGE, DeadReason.OUTPUT_INVALID)
_OWN: dict[str, Groups] = {
    Metrics.handler_events_total.name: {
        ("outcome", "reason"): frozenset(
            [
                ("emit", ""),
                *product(("drop",), map(str, DropReason)),
                *product(("retry",), map(str, RetryReason)),
                *product(("dead",), map(str, DeadReason)),
            ]
        )
    },
    Metrics.retries_total.name: _independent(reason=RetryReason),
    Metrics.dead_events_total.name: {
        ("reason", "stage"): frozenset(
            [
                *product((*_DECODE_REASONS, DeadReason.TOO_LARGE), (Stage.DECODE,)),
                *((reason, Stage.HANDLE) for reason in DeadReason if reason not in _DECODE_REASONS + _ENCODE_REASONS),
                *product(_ENCODE_REASONS, (Stage.ENCODE,)),
            ]
        )
    },
    Metrics.child_processes_ended_total.name: _independent(reason=CHILD_ENDS),
    Metrics.extractions_triggered_total.name: _independent(reason=ExtractionTrigger),
    Metrics.snippets_total.name: _independent(reason=("", *SnippetFailure)),
    Metrics.relevance_judgments_total.name: _independent(outcome=RelevanceOutcome),
    Metrics.queries_total.name: {
        ("outcome", "intent"): frozenset(
            [*product(("answered", "empty"), map(str, Intent)), *product(get_args(RefusalReason), ("",))]
        )
    },
    Metrics.query_stages_total.name: _independent(stage=StageName, outcome=StageOutcome),
    Metrics.fetches_total.name: _independent(outcome=("ok", *FetchFailure)),
    Metrics.fetch_robots_total.name: _independent(outcome=("fetched", "none", "kept", *FetchFailure)),
    Metrics.llm_requests_total.name: _independent(outcome=CallOutcome),
    Metrics.llm_offline_total.name: _independent(outcome=CallOutcome),
    Metrics.replay_records_total.name: _independent(outcome=("replayed", "passed_over")),
}
