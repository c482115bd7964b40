"""PromQL expressions over declared metrics, for panels, recording rules and alerts; and the scraped services.

Metrics with the label ``lane`` are narrowed to live traffic unless another lane is requested, so a replay moves no
curve and fires no alert.
"""

from __future__ import annotations

from typing import Any, Literal

from streams.generate.compose_workers import HTTP_PORT, service_name
from streams.telemetry.metrics import MetricDef, Metrics
from streams.topology import HANDLERS

WORKERS = "assay"
"""The job of the workers."""
LAG_READER = "assay-lag"
"""The job of ``assay lag --serve``, which also reports groups without consumers."""
REPLAYS = "assay-replay"
"""The job of replays, which run now and then."""


def services(not_run: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The worker services, each once, without those of handlers that are not run."""
    return tuple(dict.fromkeys(service_name(handler) for handler in HANDLERS if handler.name not in not_run))


def scraping(rule_files: list[str]) -> dict[str, Any]:
    """``prometheus.yml``; a service with several replicas answers the name look-up with each of them."""
    return {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": rule_files,
        "scrape_configs": [
            _job(WORKERS, services()),
            _job(LAG_READER, ("lag",)),
            _job(REPLAYS, ("replay",)),
            {"job_name": "prometheus", "static_configs": [{"targets": ["localhost:9090"]}]},
        ],
    }


def _job(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    look_up = {"names": list(names), "type": "A", "port": HTTP_PORT, "refresh_interval": "15s"}
    return {
        "job_name": name,
        "dns_sd_configs": [look_up],
        "relabel_configs": [{"source_labels": ["__meta_dns_name"], "target_label": "service"}],
    }


SPAN = "$__rate_interval"
"""The window that Grafana chooses for a rate."""
RANGE = "$__range"
"""The whole range of time that a dashboard shows."""
LIVE, REPLAY = "live", "replay"

_OF_REPLAYS_AND_GROUPS = (
    Metrics.replay_records_total,
    Metrics.replay_remaining_records,
    Metrics.replay_cost_usd_total,
    Metrics.replay_waiting,
    Metrics.group_lag_records,
    Metrics.group_lag_seconds,
    Metrics.group_retention_left_seconds,
    Metrics.group_lost_records,
    Metrics.group_members,
    Metrics.topic_dead_letters,
)
"""Workers do not export these metrics, so they need no filter by job."""

Aggregate = Literal["sum", "max", "min"]


def series(metric: MetricDef, part: str = "", **where: str) -> str:
    """The series of a metric.

    Args:
        metric: The metric.
        part: ``_bucket``, ``_sum`` or ``_count`` of a histogram.
        where: Values by label. ``~`` begins a regular expression, ``!~`` one that must not match, and ``!`` a value
            that must not be equal.

    Raises:
        ValueError: The metric has no such label, or such a part; a bug in a declaration.
    """
    if (metric.kind == "histogram") != bool(part):
        raise ValueError(f"{metric.name} is a {metric.kind}, so {part or 'no part'} can't be asked for")
    if "lane" in metric.labels:
        where = {"lane": LIVE, **where}
    elif metric not in _OF_REPLAYS_AND_GROUPS:
        where = {"job": f"!{REPLAYS}", **where}
    if unknown := where.keys() - {*metric.labels, "job", "le"}:
        raise ValueError(f"{metric.name} has no label {', '.join(sorted(unknown))}")
    return f"{metric.name}{part}{_braces(where)}"


def level(aggregate: Aggregate, metric: MetricDef, *by: str, **where: str) -> str:
    """The value of a gauge, over all processes."""
    return f"{_over(aggregate, by)}({series(metric, **where)})"


def once(aggregate: Aggregate, metric: MetricDef, *by: str, **where: str) -> str:
    """An aggregate of a gauge that several processes export with the same value: each series counts once."""
    once_each = f"max by ({', '.join(metric.labels)}) ({series(metric, **where)})"
    return f"{aggregate} by ({', '.join(by)}) ({once_each})" if by else f"{aggregate}({once_each})"


def rate(metric: MetricDef, *by: str, window: str = SPAN, part: str = "", **where: str) -> str:
    """The rate of a counter."""
    return f"{_over('sum', by)}(rate({series(metric, part, **where)}[{window}]))"


def increase(metric: MetricDef, *by: str, window: str = RANGE, part: str = "", **where: str) -> str:
    """The increase of a counter in a window."""
    return f"{_over('sum', by)}(increase({series(metric, part, **where)}[{window}]))"


def quantile(share: float, metric: MetricDef, *by: str, window: str = SPAN, **where: str) -> str:
    """A quantile of a histogram."""
    return f"histogram_quantile({share}, {rate(metric, *by, 'le', window=window, part='_bucket', **where)})"


def mean(metric: MetricDef, *by: str, window: str = SPAN, **where: str) -> str:
    """The mean of a histogram's observations."""
    total = rate(metric, *by, window=window, part="_sum", **where)
    return f"{total} / {rate(metric, *by, window=window, part='_count', **where)}"


def legend(by: tuple[str, ...]) -> str:
    """Label values as a legend shows them."""
    return " ".join(f"{{{{{label}}}}}" for label in by)


def _over(aggregate: str, by: tuple[str, ...]) -> str:
    return f"{aggregate} by ({', '.join(by)}) " if by else aggregate


def _braces(where: dict[str, str]) -> str:
    if not where:
        return ""
    return "{" + ", ".join(_matcher(label, value) for label, value in where.items()) + "}"


def _matcher(label: str, value: str) -> str:
    for mark, operator in (("!~", "!~"), ("!", "!="), ("~", "=~")):
        if value.startswith(mark):
            return f'{label}{operator}"{value.removeprefix(mark)}"'
    return f'{label}="{value}"'
