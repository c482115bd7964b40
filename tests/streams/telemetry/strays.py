"""Finds series that the declarations do not allow, in a registry or in scraped text."""

from collections.abc import Iterable, Mapping

from prometheus_client.metrics_core import Metric

from streams.telemetry.metrics import METRICS, MetricDef
from tests.streams.telemetry.labels import label_rows

PREFIX = "assay_"


def strays(families: Iterable[Metric], models: Mapping[str, str]) -> list[str]:
    """Samples of Assay's own metrics that are not declared, or whose labels take values that are not allowed."""
    declared = {name: metric for metric in METRICS for name in (metric.name, metric.name.removesuffix("_total"))}
    found = []
    for family in families:
        # Read back from the text form, the moment since when a metric counts is a family of its own.
        name = family.name.removesuffix("_created")
        if not name.startswith(PREFIX):
            continue
        metric = declared.get(name)
        for sample in family.samples:
            if metric is None or not _is_allowed(metric, sample.labels, models):
                found.append(f"{sample.name} {dict(sorted(sample.labels.items()))}")
    return found


def _is_allowed(metric: MetricDef, labels: Mapping[str, str], models: Mapping[str, str]) -> bool:
    if set(labels) - {"le"} != set(metric.labels):
        return False
    rows = label_rows(metric, models).items()
    return all(tuple(labels[label] for label in group) in allowed for group, allowed in rows)
