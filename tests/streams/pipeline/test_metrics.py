import json
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry

from schemas.event import Event
from schemas.outcome import DeadReason, RetryReason, Stage
from streams.pipeline.metrics import PipelineMetrics
from streams.telemetry.labels import Lane
from streams.telemetry.metrics import Metrics
from streams.topology import TOPICS
from tests.samples import EXAMPLES
from tests.tables import tables

TABLES = tables(__file__)

COUNTED = json.loads(Path(__file__).with_name("counted_events.json").read_bytes())
"""Events with outcomes that no generated example has."""


KINDS = {topic.name: topic.event for topic in TOPICS}


def example(name: str, differs: dict[str, Any]) -> Event:
    """An example, or one of ``COUNTED``, with other fields; a mapping changes fields of the one that is there."""
    path = EXAMPLES / f"{name}.json"
    kind = KINDS[name.partition("/")[0]]
    event = kind.model_validate_json(path.read_bytes() if path.exists() else json.dumps(COUNTED[name])).model_dump()
    for field, value in differs.items():
        event[field] = {**event[field], **value} if isinstance(value, dict) else value
    return kind.model_validate(event)


def told(*events: Event, replayed: bool = False) -> dict[str, float]:
    """What is counted of these events, by metric and labels, without what stayed at nothing."""
    registry = CollectorRegistry()
    PipelineMetrics(Metrics(registry), "toy").emitted(events, replayed, 0.25)
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.value and not sample.name.endswith(("_created", "_bucket"))
    }


@pytest.mark.parametrize("case", TABLES["what_is_counted_and_logged"], ids=lambda case: case["case"])
def test_what_is_counted_and_logged(case: dict[str, Any]) -> None:
    """R-122."""
    with structlog.testing.capture_logs() as logs:
        counted = told(*(example(*of) for of in case["of"]), replayed=case.get("replayed", False))
    assert counted == case["counted"]
    assert len(logs) == len(case.get("logged", logs))
    for entry, holds in zip(logs, case.get("logged", logs), strict=True):
        assert not {name: entry[name] for name, text in holds.items() if str(text) not in str(entry[name])}


@pytest.mark.parametrize(
    ("name", "differs", "field", "length"),
    [
        ("relevance.judged.v1/timeout", {"outcome": "error", "detail": "status 500 " + "x" * 1000}, "detail", 200),
        ("claims.evaluated.v1/no_score", {"claim_id": "c" * 1000}, "claim_id", 200),
    ],
)
def test_foreign_text_is_logged_bounded(name: str, differs: dict[str, Any], field: str, length: int) -> None:
    with structlog.testing.capture_logs() as logs:
        told(example(name, differs))
    assert [len(entry[field]) for entry in logs] == [length]


def test_held_records_and_lag_are_gauges() -> None:
    registry = CollectorRegistry()
    observer = PipelineMetrics(Metrics(registry), "toy")
    for records in (5, 3):
        observer.holds("pages.crawled.v1", records, 1000 * records, records - 1, 0.5)
        observer.lags("pages.crawled.v1", 10 * records)
    observer.holds("pages.crawled.v1.assay.toy.retry.1m", 2, 10, 1, 0.25)
    observer.rebalanced()
    observer.committed("in_doubt", 0.25)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"assay_{name}", {"handler": "toy", **labels})

    assert (value("records_held"), value("bytes_held"), value("handler_in_flight")) == (5, 3010, 3)
    assert value("oldest_unfinished_seconds", lane="live") == 0.5
    assert value("consumer_lag_records", topic="pages.crawled.v1", lane="live") == 30
    assert value("rebalances_total") == 1
    assert value("transactions_total", result="in_doubt", lane="live") == 1
    assert value("transaction_seconds_sum") == 0.25


@pytest.mark.parametrize(
    ("group", "replayed", "lane"),
    [("live", False, "live"), ("live", True, "replay"), ("replay", False, "replay"), ("replay", True, "replay")],
)
def test_replayed_records_are_counted_in_their_own_lane(group: Lane, replayed: bool, lane: str) -> None:
    registry = CollectorRegistry()
    observer = PipelineMetrics(Metrics(registry), "toy", group)
    observer.handled("dead", "invalid", 0.25, 3600.0, replayed)
    observer.died(DeadReason.INVALID, Stage.DECODE, replayed)
    observer.retried(RetryReason.UNAVAILABLE, replayed)
    observer.committed("committed", 0.1)
    observer.lags("pages.crawled.v1" if group == "live" else "pages.crawled.v1.replay.after-the-fix", 7)
    observer.breaker(closed=False)
    labels = {"handler": "toy", "topic": "pages.crawled.v1", "lane": group}
    assert registry.get_sample_value("assay_consumer_lag_records", labels) == 7, "no label has a plan's name in it"
    lanes = {
        sample.name.removeprefix("assay_"): sample.labels["lane"]
        for metric in registry.collect()
        for sample in metric.samples
        if sample.value and "lane" in sample.labels and not sample.name.endswith(("_created", "_bucket"))
    }
    of_the_record = ("handler_events_total", "handler_duration_seconds_count", "dead_events_total", "retries_total")
    assert [lanes.pop(name) for name in of_the_record] == [lane] * 4
    assert lanes.pop("handler_duration_seconds_sum") == lane
    assert lanes == dict.fromkeys(("transactions_total", "consumer_lag_records", "breaker_open"), group)
    ages = registry.get_sample_value("assay_event_age_seconds_count", {"handler": "toy"})
    assert ages == (lane == "live"), "what is done again is as old as it is, and late for nobody"


def test_a_breaker_that_opens_says_why() -> None:
    observer = PipelineMetrics(Metrics(CollectorRegistry()), "toy")
    with structlog.testing.capture_logs() as logs:
        observer.breaker(False, "OSError: No space left on device")
        observer.breaker(True)
    assert [entry.get("cause") for entry in logs] == ["OSError: No space left on device", None]
