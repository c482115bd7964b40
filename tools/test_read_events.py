"""The consumer finds unknown fields and ids without a beginning."""

from collections import defaultdict
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tools.read_events import FORMATS, unjoined, unknown

SCHEMA: dict[str, Any] = {
    "properties": {"a": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]}, "map": {"additionalProperties": {}}},
    "$defs": {"Inner": {"properties": {"list": {"items": {"properties": {"b": {}}}}}}},
}


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


@pytest.mark.parametrize(
    ("text", "valid"),
    [("2024-05-03T08:00:00Z", True), ("2024-05-03T08:00:00", False), ("2024-05-03", False), ("noon", False)],
)
def test_an_instant_without_a_zone_is_found(text: str, valid: bool) -> None:
    assert Draft202012Validator({"format": "date-time"}, format_checker=FORMATS).is_valid(text) is valid
