"""``docs/metrics.md``: every metric, every label and its values, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streams.generate.documents import IN_MARKDOWN
from streams.telemetry.labels import LABELS, TASKS, label_rows, most_series
from streams.telemetry.metric_defs import METRICS, MetricDef


def metrics_page() -> dict[Path, str]:
    """The page."""
    metrics = "\n".join(
        f"| `{metric.name}` | {metric.kind} | {metric.unit} | {', '.join(metric.labels)} | {most_series(metric)} "
        f"| {metric.meaning} |"
        for metric in METRICS
    )
    labels = "\n".join(f"| {name} | {meaning} | {_values(name)} |" for name, meaning in LABELS.items())
    page = f"""{IN_MARKDOWN}

# Metrics

Every process answers on `/metrics`. Beside these stand FastStream's own metrics, under the prefix `faststream`: their
label `handler` is the topic, `consumer_group` tells who reads it, and their duration and sizes are those of the
hand-over, so durations and ages are read here. A replay's group stands there without the name of its plan. What one
page or question went through is told by [traces](traces.md).

| metric | kind | unit | labels | series at most | meaning |
|---|---|---|---|---|---|
{metrics}

No label holds an address, a query, a plan or an identifier. The number of series is that of a process that runs every
handler, with another model for each task; all in all it exposes {sum(map(most_series, METRICS))} at most, however long
it runs and whatever it is fed. A handler's own process has its share of them.

| label | meaning | values |
|---|---|---|
{labels}
"""
    return {Path("docs/metrics.md"): page}


def _values(label: str) -> str:
    """A label's values; where metrics differ in them, those of each."""
    if label == "version":
        return "the one that is installed"
    if label == "model":
        return "one for each task: `llm.model`, or the task's own"
    if label in ("handler", "topic"):
        return "as the topology has them"
    by_values: dict[tuple[str, ...], list[MetricDef]] = {}
    for metric in METRICS:
        if label in metric.labels:
            by_values.setdefault(tuple(dict.fromkeys(_of(metric, label))), []).append(metric)
    told = {values: ", ".join(f"`{value}`" if value else "empty" for value in values) for values in by_values}
    if len(told) == 1:
        return next(iter(told.values()))
    return "<br>".join(
        f"{', '.join(metric.name for metric in metrics)}: {told[values]}" for values, metrics in by_values.items()
    )


def _of(metric: MetricDef, label: str) -> Iterator[str]:
    for group, rows in label_rows(metric, dict.fromkeys(TASKS, "")).items():
        if label in group:
            yield from sorted(row[group.index(label)] for row in rows)
