import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from streams.telemetry.labels import TASKS, label_rows, most_series
from streams.telemetry.metrics import METRICS, MetricDef, Metrics
from tests.streams.telemetry.strays import strays

MODELS = {task: f"model-of-{task}" for task in TASKS}


def test_undeclared_label_is_refused() -> None:
    odd = MetricDef(name="assay_odd_total", kind="counter", meaning="Odd.", unit="1", labels=("handler", "host"))
    with pytest.raises(KeyError, match="host"):
        label_rows(odd, MODELS)


def test_series_bound_equals_what_a_full_process_exposes() -> None:
    for metric in METRICS:
        families = exposed_by(metric)
        base = metric.name.removesuffix("_total")
        names = (base, metric.name, f"{base}_created")
        assert sum(len(family.samples) for family in families if family.name in names) == most_series(metric)
        assert not strays(families, MODELS)


def exposed_by(metric: MetricDef) -> list[Metric]:
    """What a process exposes of a metric that has seen every combination of labels."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    collector = getattr(metrics, metric.name.removeprefix("assay_"))
    combinations: list[dict[str, str]] = [{}]
    for group, rows in label_rows(metric, MODELS).items():
        combinations = [seen | dict(zip(group, row, strict=True)) for seen in combinations for row in rows]
    for labels in combinations:
        if "version" in metric.labels:
            labels["version"] = "1.0"
        child = collector.labels(**labels) if labels else collector
        match metric.kind:
            case "counter":
                child.inc()
            case "gauge":
                child.set(1)
            case "histogram":
                child.observe(1)
    return list(text_string_to_metric_families(generate_latest(registry).decode()))


def test_all_series_together_are_few() -> None:
    assert sum(map(most_series, METRICS)) < 5000, "a series costs Prometheus some kilobytes for as long as it is kept"
