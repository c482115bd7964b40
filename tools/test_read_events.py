"""A consumer with librdkafka and the JSON Schemas only understands every event of the demonstration."""

from collections import defaultdict
from typing import Any

import pytest

from streams.cli.demo import run_demo
from streams.settings import load_settings
from tools.read_events import main, unjoined, unknown

SCHEMA: dict[str, Any] = {
    "properties": {"a": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]}, "map": {"additionalProperties": {}}},
    "$defs": {"Inner": {"properties": {"list": {"items": {"properties": {"b": {}}}}}}},
}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_event_of_the_demonstration_is_valid_and_joined(
    kafka: str, topic_prefix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix}, http={"enabled": False})
    assert run_demo(settings, once=True, as_json=True, pages=None) == 0
    capfd.readouterr()
    status = main(kafka, topic_prefix)
    read = capfd.readouterr()
    assert status == 0, read.err
    assert read.out.endswith(" 0 problems\n")


def test_unknown_fields_are_found_at_any_depth() -> None:
    value = {"a": {"list": [{"b": 1}, {"c": 2}]}, "map": {"x": 1}, "d": None}
    assert list(unknown(SCHEMA, SCHEMA, value)) == ["$.a.list[].c", "$.d"]


def test_ids_that_no_event_begins_are_found() -> None:
    events: dict[str, list[dict[str, Any]]] = defaultdict(list)
    events["retrieval.batches.v1"] = [{"batchId": "one"}]
    events["search.evaluated.v1"] = [{"batch_id": "one"}, {"batch_id": "two"}]
    events["documents.indexed.v1"] = [{"page_id": "lost"}]
    first, second = unjoined(events)
    assert first.startswith("search.evaluated.v1: batch_id two is in none")
    assert second.startswith("documents.indexed.v1: page_id lost")
