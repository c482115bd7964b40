"""The configuration of Prometheus: scraping, and alerts and recording rules over declared metrics.

Thresholds come from the section ``alerts`` of the configuration and from the objectives of the topology. Alerts cover
live traffic only, not replays and backfills. Each alert has an entry in the runbook, ``docs/operations.md``. Recording
rules hold expressions that several panels and alerts use, or that are expensive.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from streams.generate.promql import (
    LAG_READER,
    WORKERS,
    increase,
    level,
    once,
    quantile,
    rate,
    scraping,
    series,
    services,
)
from streams.settings.model import PipelineSettings
from streams.telemetry.metrics import Metrics
from streams.telemetry.settings import AlertSettings
from streams.topology import HANDLERS, Handler
from streams.topology.text import to_yaml

FOLDER = Path("config/generated/prometheus")
RECORDING, ALERTS = "recording.yml", "alerts.yml"
AGE_P99 = f"handler:{Metrics.event_age_seconds.name}:p99_10m"
"""The 99th percentile of the age of a handler's inputs when they were done, over 10 minutes."""
IN_TIME = f"handler:{Metrics.event_age_seconds.name}:in_time10m"
"""Share of a handler's inputs that were done within its objective, over 10 minutes."""
LATE = f"handler:{Metrics.event_age_seconds.name}:late10m"
"""How many of a handler's inputs were not done within its objective, over 10 minutes."""
TIER_SHARE = f"tier:{Metrics.pages_scored_total.name}:share1h"
"""A tier's share of the pages of an hour. Without pages there is no value: NaN would stay in every later mean."""


def recording_rules() -> list[dict[str, Any]]:
    """The rules as Prometheus reads them."""
    pages = increase(Metrics.pages_scored_total, "tier", window="1h")
    return [
        {"record": AGE_P99, "expr": quantile(0.99, Metrics.event_age_seconds, "handler", window="10m")},
        *({"record": IN_TIME, "expr": _in_time(handler), "labels": {"handler": handler.name}} for handler in HANDLERS),
        *({"record": LATE, "expr": _late_ratio(handler), "labels": {"handler": handler.name}} for handler in HANDLERS),
        {
            "record": TIER_SHARE,
            "expr": f"{pages}\n  / on () group_left () ({increase(Metrics.pages_scored_total, window='1h')} > 0)",
        },
    ]


def _late_ratio(handler: Handler) -> str:
    bound = str(float(handler.slo_seconds))
    done = increase(Metrics.event_age_seconds, window="10m", part="_bucket", handler=handler.name, le=bound)
    return f"{increase(Metrics.event_age_seconds, window='10m', part='_count', handler=handler.name)}\n  - {done}"


def _in_time(handler: Handler) -> str:
    """Each objective is a bucket bound of the histogram, so the share is exact."""
    bound = str(float(handler.slo_seconds))
    done = rate(Metrics.event_age_seconds, window="10m", part="_bucket", handler=handler.name, le=bound)
    return f"{done}\n  / {rate(Metrics.event_age_seconds, window='10m', part='_count', handler=handler.name)}"


Severity = Literal["page", "ticket"]
Comparison = Literal["==", "<", ">"]

STALL_LASTS_SECONDS = 120
"""How long a stall must last before the alert fires."""
_OWN_TOPIC = {"topic": r"!~.*[.]retry[.].*"}
"""Records in retry topics wait on purpose."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of an alert.

    Attributes:
        watched: An expression with one series for each thing that can be wrong.
        comparison: How a wrong value compares with the bound.
        bound: The bound.
        unless: Series by handler that suppress the condition; may be empty.
    """

    watched: str
    comparison: Comparison
    bound: float
    unless: str = ""

    @property
    def expression(self) -> str:
        """True while the condition holds."""
        condition = f"{self.watched} {self.comparison} {self.bound:g}"
        return f"({condition}\n  unless on (handler) {self.unless})" if self.unless else condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert.

    Attributes:
        name: Also the heading of its entry in the runbook.
        severity: ``page`` needs an operator now, ``ticket`` can wait for the morning.
        lasting: How long a condition must hold.
        conditions: One of them is enough.
        summary: One line, with Prometheus' templates.
        description: The measured values, and the consequences if no operator acts.
    """

    name: str
    severity: Severity
    lasting: str
    conditions: tuple[Condition, ...]
    summary: str
    description: str

    @property
    def expression(self) -> str:
        """One series for each thing that is wrong."""
        return "\nor ".join(condition.expression for condition in self.conditions)

    @property
    def runbook(self) -> str:
        """The link to its entry in the checkout."""
        return f"docs/operations.md#{self.name.lower()}"


def alerts(settings: AlertSettings) -> tuple[Alert, ...]:
    """All alerts, in the order of the runbook."""
    return (
        _worker_down(settings),
        _restarts(settings),
        _stalled(settings),
        _late(settings),
        _dead_letters(),
        _dead_letter_pauses(),
        _breaker_open(),
        _in_doubt(settings),
        _loop_lag(settings),
        _retention(settings),
        _lost(settings),
        _lag_unknown(),
        _budget(settings),
        _tier_mix(settings),
    )


def _worker_down(settings: AlertSettings) -> Alert:
    # A container that is gone has no address, so Prometheus scrapes nothing and `up` is absent instead of 0.
    gone = (
        Condition(f'absent(up{{job="{WORKERS}", service="{name}"}})', "==", 1) for name in services(settings.not_run)
    )
    return Alert(
        name="AssayWorkerDown",
        severity="page",
        lasting="2m",
        conditions=(Condition(f'up{{job="{WORKERS}"}}', "==", 0), *gone),
        summary="{{ $labels.service }} does not answer",
        description="No answer from a worker of {{ $labels.service }} for 2 minutes. Its records wait; nothing is lost"
        " as long as retention is.",
    )


def _restarts(settings: AlertSettings) -> Alert:
    # The worker answers between two restarts, so AssayWorkerDown does not fire.
    began = f"changes({series(Metrics.started_at_seconds)}[15m])"
    return Alert(
        name="AssayWorkerRestarts",
        severity="page",
        lasting="0m",
        conditions=(Condition(began, ">", settings.restarts),),
        summary="{{ $labels.service }} restarts repeatedly",
        description="A worker of {{ $labels.service }} ({{ $labels.instance }}) has restarted {{ $value }} times in 15"
        " minutes. Each time it processes its records in flight again. If one input ends the process, the records"
        " behind it wait.",
    )


def _stalled(settings: AlertSettings) -> Alert:
    waiting = f"({once('sum', Metrics.group_lag_records, 'handler', **_run(settings), **_OWN_TOPIC)}"
    waiting += f"\n  or {level('sum', Metrics.consumer_lag_records, 'handler', **_OWN_TOPIC)})"
    # New records are not late. The alert for a record in flight fires before the worker ends itself.
    waiting = f"min_over_time({waiting}[3m:15s])"
    # Commits of the handler's own group: a replay has another one. Records of a backfill are in the same transactions.
    excuses = f"({rate(Metrics.transactions_total, 'handler', window='10m', result='committed')} > 0"
    # Only replicas with records in flight count: the others say nothing about the dependency.
    paused = f"{series(Metrics.breaker_open)} and on (instance, handler) {series(Metrics.records_held)} > 0"
    excuses += f"\n  or min by (handler) ({paused}) == 1)"
    oldest = level("max", Metrics.oldest_unfinished_seconds, "handler")
    return Alert(
        name="AssayHandlerStalled",
        severity="page",
        lasting=f"{STALL_LASTS_SECONDS // 60}m",
        conditions=(Condition(waiting, ">", 0, excuses), Condition(oldest, ">", settings.stalled_seconds)),
        summary="{{ $labels.handler }} has records waiting and finishes none",
        description="{{ $labels.handler }} makes no progress ({{ $value | humanize }}: waiting records while"
        " none was done for 10 minutes, or seconds that one record has been in flight).",
    )


def _late(settings: AlertSettings) -> Alert:
    age = f"printf \"{AGE_P99}{{handler='%s'}}\" $labels.handler | query | first | value | humanizeDuration"
    return Alert(
        name="AssayAgeOverObjective",
        severity="page",
        lasting="10m",
        conditions=(Condition(IN_TIME, "<", settings.share_in_time, f"{LATE} < {settings.late_inputs}"),),
        summary="{{ $labels.handler }} is late: {{ $value | humanizePercentage }} of its inputs are done in time",
        description="Only {{ $value | humanizePercentage }} of the inputs of {{ $labels.handler }} were done within its"
        f" objective in 10 minutes; 99 in 100 took up to {{{{ {age} }}}}. The dashboard of handlers shows the"
        " objective above its row.",
    )


def _dead_letters() -> Alert:
    by = ("handler", "reason")
    dead = series(Metrics.dead_events_total)
    # Each process has its own counters. A new counter starts at its first value, which `increase` does not show.
    grown = f"({dead} unless {dead} offset 10m)\n  or increase({dead}[10m])"
    return Alert(
        name="AssayDeadLetters",
        severity="ticket",
        lasting="0m",
        conditions=(Condition(f"sum by ({', '.join(by)}) ({grown})", ">", 0),),
        summary="{{ $labels.handler }} refused records: {{ $labels.reason }}",
        description='About {{ $value | printf "%.0f" }} records of {{ $labels.handler }} went to its dead letter'
        " topic in 10 minutes, reason {{ $labels.reason }}. They are kept until the topic's retention ends.",
    )


def _dead_letter_pauses() -> Alert:
    pauses = series(Metrics.dead_letter_pauses_total)
    return Alert(
        name="AssayDeadLetterPause",
        severity="page",
        lasting="0m",
        conditions=(
            Condition(
                f"sum by (handler) (({pauses} unless {pauses} offset 10m)\n  or increase({pauses}[10m]))", ">", 0
            ),
        ),
        summary="{{ $labels.handler }} is paused: most of its records become dead letters",
        description="More than dlq.max_share of the records of {{ $labels.handler }} in a minute became dead letters,"
        ' so intake pauses and tries again (about {{ $value | printf "%.0f" }} pauses in 10 minutes). A bad deploy or a'
        " producer of bad records does this. The other records wait in Kafka.",
    )


def _breaker_open() -> Alert:
    # A provider that answers occasionally closes the breaker for a moment, so the share of 10 minutes counts.
    handlers = f"max by (handler) (avg_over_time({series(Metrics.breaker_open)}[10m]))"
    models = f"max by (model) (avg_over_time({series(Metrics.llm_breaker_open)}[10m]))"
    return Alert(
        name="AssayBreakerOpen",
        severity="page",
        lasting="5m",
        conditions=(Condition(handlers, ">", 0.5), Condition(models, ">", 0.5)),
        summary="{{ if $labels.handler }}{{ $labels.handler }} is paused: its dependency is down"
        "{{ else }}The model {{ $labels.model }} is not called: it keeps failing{{ end }}",
        description="{{ if $labels.handler }}Intake of {{ $labels.handler }} was paused"
        "{{ else }}The model {{ $labels.model }} keeps failing and was not called{{ end }}"
        " for {{ $value | humanizePercentage }} of the last 10 minutes. Records wait and"
        " nothing is decided; lag grows until the provider is back.",
    )


def _in_doubt(settings: AlertSettings) -> Alert:
    return Alert(
        name="AssayCommitsInDoubt",
        severity="ticket",
        lasting="5m",
        conditions=(
            Condition(
                increase(Metrics.transactions_total, "handler", window="15m", result="in_doubt"),
                ">",
                settings.in_doubt_transactions,
            ),
        ),
        summary="{{ $labels.handler }} does not know whether its transactions are committed",
        description='About {{ $value | printf "%.0f" }} transactions of {{ $labels.handler }} ended in doubt in 15'
        " minutes. The worker reads the committed offset and writes the outputs again if the offset did not move."
        " With exactly once nothing is lost or duplicated, but lag grows.",
    )


def _loop_lag(settings: AlertSettings) -> Alert:
    return Alert(
        name="AssayLoopLag",
        severity="ticket",
        lasting="5m",
        conditions=(
            Condition(f"avg_over_time({series(Metrics.loop_lag_seconds)}[5m])", ">", settings.loop_lag_seconds),
        ),
        summary="{{ $labels.instance }} wakes {{ $value | humanizeDuration }} late",
        description="The event loop of {{ $labels.instance }} ({{ $labels.service }}) wakes"
        " {{ $value | humanizeDuration }} late on average: the processor is too slow, or one input blocks it."
        " Heartbeats and deadlines fail next.",
    )


def _retention(settings: AlertSettings) -> Alert:
    left = once("min", Metrics.group_retention_left_seconds, "handler", "topic", **_run(settings))
    return Alert(
        name="AssayRetentionNear",
        severity="page",
        lasting="5m",
        conditions=(Condition(left, "<", settings.retention_left_seconds),),
        summary="{{ $labels.topic }} will delete records that {{ $labels.handler }} has not read",
        description="The oldest record of {{ $labels.topic }} that {{ $labels.handler }} has not committed is deleted"
        " in {{ $value | humanizeDuration }}. After that it is lost to {{ $labels.handler }}.",
    )


def _lost(settings: AlertSettings) -> Alert:
    return Alert(
        name="AssayRecordsLost",
        severity="page",
        lasting="0m",
        conditions=(Condition(once("sum", Metrics.group_lost_records, "handler", "topic", **_run(settings)), ">", 0),),
        summary="{{ $labels.topic }} has deleted records that {{ $labels.handler }} had not read",
        description="Retention has deleted about {{ $value | humanize }} records of {{ $labels.topic }} before"
        " {{ $labels.handler }} read them. It deletes more while {{ $labels.handler }} is stopped.",
    )


def _lag_unknown() -> Alert:
    return Alert(
        name="AssayLagUnknown",
        severity="ticket",
        lasting="5m",
        conditions=(
            Condition(f'up{{job="{LAG_READER}"}}', "==", 0),
            Condition(f'absent(up{{job="{LAG_READER}"}})', "==", 1),
        ),
        summary="The lag of the groups is unknown",
        description="`assay lag --serve` has not answered for 5 minutes. Handlers go on, but no alert would report a"
        " stopped group, or records that retention is about to delete.",
    )


def _budget(settings: AlertSettings) -> Alert:
    share = f"(min({series(Metrics.llm_budget_left_usd)}) / max({series(Metrics.llm_budget_usd)}))"
    return Alert(
        name="AssayBudgetNear",
        severity="ticket",
        lasting="5m",
        conditions=(Condition(share, "<", settings.budget_left_share),),
        summary="{{ $value | humanizePercentage }} of the day's budget for models is left",
        description="{{ $value | humanizePercentage }} of the day's budget is left. When it is spent, handlers that ask"
        " models are paused until midnight UTC and their lag grows.",
    )


def _tier_mix(settings: AlertSettings) -> Alert:
    shift = f"abs({TIER_SHARE} - avg_over_time({TIER_SHARE}[1d] offset 1h))"
    enough = f"{increase(Metrics.pages_scored_total, window='1h')} >= {settings.tier_shift_pages}"
    return Alert(
        name="AssayTierMixDrift",
        severity="ticket",
        lasting="15m",
        conditions=(Condition(f"({shift}\n  and on () {enough})", ">", settings.tier_shift),),
        summary="The share of tier {{ $labels.tier }} has moved by {{ $value | humanizePercentage }} in a day",
        description="The share of tier {{ $labels.tier }} in the pages of the last hour is"
        " {{ $value | humanizePercentage }} away from its mean over the day before: other sources, a changed rule, or"
        " pages that are parsed differently. The index was sized for another mix.",
    )


def _run(settings: AlertSettings) -> dict[str, str]:
    """Selects handlers that are deployed."""
    return {"handler": f"!~{'|'.join(settings.not_run)}"} if settings.not_run else {}


def prometheus(document: dict[str, Any]) -> dict[Path, str]:
    """The scrape configuration and the rules, by path in the checkout.

    Args:
        document: The configuration; its section ``alerts`` has the thresholds.

    Raises:
        pydantic.ValidationError: A threshold is invalid.
        ValueError: A stalled worker would end itself before the alert fires.
    """
    settings = AlertSettings.model_validate(document.get("alerts", {}))
    _check_stall(settings, PipelineSettings.model_validate(document.get("pipeline", {})))
    return {
        FOLDER / "prometheus.yml": to_yaml(scraping([RECORDING, ALERTS])),
        FOLDER / RECORDING: to_yaml(_group("assay-recording", recording_rules())),
        FOLDER / ALERTS: to_yaml(_group("assay", [alert_rule(alert) for alert in alerts(settings)])),
    }


def alert_rule(alert: Alert) -> dict[str, Any]:
    """An alert as Prometheus reads it."""
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "description": alert.description, "runbook": alert.runbook},
    }


def _check_stall(settings: AlertSettings, pipeline: PipelineSettings) -> None:
    if settings.stalled_seconds + STALL_LASTS_SECONDS >= pipeline.stalled_seconds:
        raise ValueError(
            f"alerts.stalled_seconds has to be at least {STALL_LASTS_SECONDS} s below pipeline.stalled_seconds"
            f" ({pipeline.stalled_seconds:g} s), when a worker ends itself; it is {settings.stalled_seconds} s"
        )


def _group(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"groups": [{"name": name, "rules": rules}]}
