"""What Prometheus scrapes, and what it wakes somebody for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.generate.compose_workers import HTTP_PORT, service_name
from streams.generate.documents import to_yaml
from streams.telemetry.metric_defs import (
    CONSUMER_LAG,
    DEAD_EVENTS,
    EVENT_AGE,
    HANDLER_EVENTS,
    OLDEST_UNFINISHED,
)
from streams.topology import HANDLERS, Handler

FOLDER = Path("config/generated/prometheus")
JOB = "assay"
WITHIN_OBJECTIVE = 0.99
"""Share of inputs that has to be done within the objective; the topology states objectives so."""
STALLED_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert.

    Attributes:
        name: Also the heading of its entry in ``docs/operations.md``.
        expression: True while something is wrong, one series for each thing that is.
        lasting: How long it has to be true.
        summary: One line for the person who is woken, with Prometheus templates.
        severity: ``page`` or ``ticket``.
    """

    name: str
    expression: str
    lasting: str
    summary: str
    severity: str


def prometheus() -> dict[Path, str]:
    """The scrape configuration and the rules."""
    return {FOLDER / "prometheus.yml": to_yaml(_scraping()), FOLDER / "alerts.yml": to_yaml(_rules())}


def alerts() -> tuple[Alert, ...]:
    """All alerts, in the order of the runbook."""
    lag = f"sum by (handler) ({CONSUMER_LAG.name})"
    progress = f"sum by (handler) (rate({HANDLER_EVENTS.name}[10m]))"
    dead = f"sum by (handler, reason) ({DEAD_EVENTS.name})"
    return (
        Alert(
            name="AssayWorkerDown",
            # A container that is gone has no address any more, so nothing is scraped and nothing is 0.
            expression="\nor ".join([f'up{{job="{JOB}"}} == 0', *(_gone(handler) for handler in HANDLERS)]),
            lasting="2m",
            summary="{{ $labels.service }} does not answer",
            severity="page",
        ),
        Alert(
            name="AssayHandlerStalled",
            expression=f"({lag} > 0\n  unless {progress} > 0)\n"
            f"or max by (handler) ({OLDEST_UNFINISHED.name}) > {STALLED_SECONDS}",
            lasting="5m",
            summary="{{ $labels.handler }} has records waiting and finishes none",
            severity="page",
        ),
        Alert(
            name="AssayDeadLetters",
            # A counter that is new starts at its first value, which no increase shows: hence the second half.
            expression=f"sum by (handler, reason) (increase({DEAD_EVENTS.name}[10m])) > 0\n"
            f"or ({dead}\n  unless {dead.removesuffix(')')} offset 10m)) > 0",
            lasting="0m",
            summary="{{ $labels.handler }} refused records: {{ $labels.reason }}",
            severity="ticket",
        ),
        Alert(
            name="AssayAgeOverObjective",
            expression="\nor ".join(_over_objective(handler) for handler in HANDLERS),
            lasting="10m",
            summary="{{ $labels.handler }} is late: {{ $value | humanizePercentage }} of its inputs are done in time",
            severity="page",
        ),
    )


def _over_objective(handler: Handler) -> str:
    selected = f'handler="{handler.name}"'
    in_time = f'sum by (handler) (rate({EVENT_AGE.name}_bucket{{{selected},le="{float(handler.slo_seconds)}"}}[10m]))'
    all_of_them = f"sum by (handler) (rate({EVENT_AGE.name}_count{{{selected}}}[10m]))"
    return f"{in_time}\n  / {all_of_them} < {WITHIN_OBJECTIVE}"


def _gone(handler: Handler) -> str:
    return f'absent(up{{job="{JOB}",service="{service_name(handler)}"}})'


def _scraping() -> dict[str, Any]:
    """One job over all workers; a service with several replicas answers the name look-up with each of them."""
    return {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": ["alerts.yml"],
        "scrape_configs": [
            {
                "job_name": JOB,
                "dns_sd_configs": [
                    {
                        "names": [service_name(handler) for handler in HANDLERS],
                        "type": "A",
                        "port": HTTP_PORT,
                        "refresh_interval": "15s",
                    }
                ],
                "relabel_configs": [{"source_labels": ["__meta_dns_name"], "target_label": "service"}],
            },
            {"job_name": "prometheus", "static_configs": [{"targets": ["localhost:9090"]}]},
        ],
    }


def _rules() -> dict[str, Any]:
    rules = [
        {
            "alert": alert.name,
            "expr": alert.expression,
            "for": alert.lasting,
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "runbook": f"docs/operations.md#{alert.name.lower()}"},
        }
        for alert in alerts()
    ]
    return {"groups": [{"name": "assay", "rules": rules}]}
