"""Reads every topic with librdkafka and the JSON Schemas, as a consumer that knows nothing else of Assay.

``python tools/read_events.py BOOTSTRAP_SERVERS [PREFIX]`` checks that each value fits its schema and has no field
unknown to it, that each ``event_id`` is the ``ce_id``, and that the events can be joined by their ids. It prints a line
for each topic and ends with 1 if anything is wrong.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from jsonschema import Draft202012Validator, FormatChecker

SCHEMAS = Path(__file__).parents[1] / "schemas" / "json"
SECONDS = 10.0
FRAME_BYTES = 5
"""A schema registry's frame: a zero byte, and the id of the schema."""
JOINS = {
    "batch_id": ("retrieval.batches.v1",),
    "request_id": ("snippets.requested.v1", "ranking.requested.v1", "retrieval.batches.v1", "relevance.requested.v1"),
    "claim_id": ("claims.extracted.v1",),
    "extraction_id": ("extraction.needed.v1",),
    "utterance_id": ("utterances.recorded.v1",),
}
"""The ids in values, and the topics of which one must have an event with the id."""

FORMATS = FormatChecker()
"""Checks days; ``is_instant`` checks instants, for which jsonschema would need another package."""

Events = dict[str, list[dict[str, Any]]]


def main(servers: str, prefix: str = "") -> int:
    """Reads and checks; returns the exit status."""
    events: Events = defaultdict(list)
    wrong: list[str] = []
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        topic = path.name.removesuffix(".schema.json")
        schema = json.loads(path.read_text("utf-8"))
        validator = Draft202012Validator(schema, format_checker=FORMATS)
        count = 0
        for place, value, headers in records(servers, prefix + topic):
            count += 1
            if value is None or "assay_url" in headers:
                continue  # a tombstone, or a page as its bytes
            event = json.loads(value[FRAME_BYTES:] if value.startswith(b"\0") else value)
            wrong += [f"{place}: {error.json_path} {error.message[:200]}" for error in validator.iter_errors(event)]
            wrong += [f"{place}: {name} is unknown to the schema" for name in unknown(schema, schema, event)]
            event_id = event.get("event_id") or event.get("eventId")
            if headers.get("ce_source", "").startswith("assay/") and event_id != headers.get("ce_id"):
                wrong.append(f"{place}: event_id is {event_id}, ce_id is {headers.get('ce_id')}")
            events[topic].append(event)
        print(f"{topic:30} {count:6,} records")
    wrong += unjoined(events)
    for problem in wrong[:50]:
        print(problem, file=sys.stderr)
    print(f"{sum(map(len, events.values())):,} events, {len(wrong):,} problems")
    return 1 if wrong else 0


def records(servers: str, topic: str) -> Iterator[tuple[str, bytes | None, dict[str, str]]]:
    """All committed records of a topic up to its end: place, value and headers."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "read-events",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        known = consumer.list_topics(topic, SECONDS).topics[topic]
        if known.error is not None:
            raise SystemExit(f"{topic}: {known.error}")
        consumer.assign([TopicPartition(topic, number, 0) for number in known.partitions])
        reading = len(known.partitions)
        while reading:
            record = consumer.poll(SECONDS)
            if record is None:
                raise SystemExit(f"{topic}: no record and no end within {SECONDS:g} s")
            if (error := record.error()) is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise SystemExit(f"{topic}: {error}")
                reading -= 1
                continue
            given: Any = record.headers() or ()
            headers = {name: (value or b"").decode("utf-8", "replace") for name, value in given}
            yield f"{topic}/{record.partition()}/{record.offset()}", record.value(), headers
    finally:
        consumer.close()


@FORMATS.checks("date-time", raises=ValueError)
def is_instant(value: object) -> bool:
    """Whether a text is an instant with a time zone; every other value is."""
    return not isinstance(value, str) or ("T" in value and datetime.fromisoformat(value).tzinfo is not None)


def unknown(schema: Mapping[str, Any], node: Mapping[str, Any], value: Any, where: str = "$") -> Iterator[str]:
    """The fields that no alternative of a schema names."""
    nodes = list(alternatives(schema, node))
    if isinstance(value, dict):
        fields: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        is_map = any(isinstance(each.get("additionalProperties"), dict) for each in nodes)
        for each in nodes:
            for name, inner in each.get("properties", {}).items():
                fields[name].append(inner)
        for name, item in value.items():
            if name in fields:
                yield from unknown(schema, {"anyOf": fields[name]}, item, f"{where}.{name}")
            elif not is_map:
                yield f"{where}.{name}"
    elif isinstance(value, list):
        inner = {"anyOf": [each["items"] for each in nodes if isinstance(each.get("items"), dict)]}
        for item in value:
            yield from unknown(schema, inner, item, f"{where}[]")


def alternatives(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A node without references and unions."""
    if reference := node.get("$ref"):
        yield from alternatives(schema, schema["$defs"][reference.rpartition("/")[2]])
    for inner in (*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())):
        yield from alternatives(schema, inner)
    yield node


def unjoined(events: Events) -> Iterator[str]:
    """The ids that no event of the topics where they begin has."""
    for name, topics in JOINS.items():
        known = {of(event, name) for topic in topics for event in events[topic]}
        for topic, found in events.items():
            lost = {of(event, name) for event in found} - known - {None}
            yield from (f"{topic}: {name} {each} is in none of {', '.join(topics)}" for each in sorted(lost))
    scored = {event["page_id"] for event in events["pages.scored.v1"]}
    for event in events["documents.indexed.v1"]:
        if event["page_id"] not in scored:
            yield f"documents.indexed.v1: page_id {event['page_id']} is not in pages.scored.v1"


def of(event: Mapping[str, Any], name: str) -> Any:
    """An id, in either naming style."""
    first, *others = name.split("_")
    return event.get(name) or event.get(first + "".join(other.capitalize() for other in others))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
