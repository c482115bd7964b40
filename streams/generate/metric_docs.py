"""``docs/metrics.md``: every metric and every label, from their declarations."""

from __future__ import annotations

from pathlib import Path

from streams.generate.documents import IN_MARKDOWN
from streams.telemetry.metric_defs import LABELS, METRICS


def metrics_page() -> dict[Path, str]:
    """The page."""
    metrics = "\n".join(
        f"| `{metric.name}` | {metric.kind} | {metric.unit} | {', '.join(metric.labels)} | {metric.meaning} |"
        for metric in METRICS
    )
    labels = "\n".join(f"| {name} | {values} |" for name, values in LABELS.items())
    page = f"""{IN_MARKDOWN}

# Metrics

Every process answers on `/metrics`. Beside these stand FastStream's own metrics, under the prefix `faststream`; its
duration is that of the hand-over, so durations and ages are read here.

| metric | kind | unit | labels | meaning |
|---|---|---|---|---|
{metrics}

No label holds an address, a query or an identifier: the number of series is bounded by the topology.

| label | values |
|---|---|
{labels}
"""
    return {Path("docs/metrics.md"): page}
