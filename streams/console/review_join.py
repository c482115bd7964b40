"""Joins marks with the decisions that they are about, and with the inputs of those decisions.

A decision is read at its position. Its input is the record that the decision names in ``ce_causationid``; it is looked
for under the decision's key, from the newest record to the oldest. Only positions are kept in memory, and each record
is read when its row is made.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from aiokafka import ConsumerRecord, TopicPartition

from handlers.html.links import host_of, registrable_domain
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.outcome import Dead
from schemas.review import DecisionReviewed, ReviewedDecision
from streams.kafka.lookups import RecordReader, read_newest_first, record_reader
from streams.kafka.settings import KafkaSettings
from streams.replay.decisions import DECISION_FIELDS, identity_of, values_at
from streams.topology import Topic, handler_named, topic_named
from streams.topology.codec import decode, timestamp


class Place(NamedTuple):
    """The position of a record; ``topic`` is without the prefix."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A mark with the decision and its input.

    Attributes:
        decision: The decision; None if its record is gone or unreadable.
        source: The input; None if it is gone, unreadable, or not under the decision's key.
        source_place: Where the input is.
        missing: Why the decision or its input is not there, for people.
    """

    review: DecisionReviewed
    decision: Event | None
    source: Event | None
    source_place: Place | None
    missing: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """The row as plain JSON types.

        ``decided`` is the value of the decision that ``--outcome`` of a replay tests. ``label`` is the value for
        training and accuracy: the decided one if it is right, otherwise the expected one; null if it is unknown.
        """
        review, about = self.review, self.review.decision
        decided = _decided(self.decision)
        place = self.source_place
        return {
            "handler": about.handler,
            "config_version": about.config_version,
            "subject": about.subject,
            "decided": decided,
            "right": review.right,
            "expected": review.expected,
            "label": decided if review.right else review.expected,
            "reviewer": review.reviewer,
            "note": review.note,
            "reviewed_at": None if review.reviewed_at is None else review.reviewed_at.isoformat(),
            "decision": {
                "topic": about.topic,
                "partition": about.partition,
                "offset": about.offset,
                "event_id": about.event_id,
                "event": None if self.decision is None else self.decision.to_wire(),
            },
            "input": None
            if place is None
            else {**place._asdict(), "event": None if self.source is None else self.source.to_wire()},
            "missing": list(self.missing),
        }


def _decided(decision: Event | None) -> str | list[str] | None:
    """The value of the field that says how a decision ended; several values if a list has it."""
    path = None if decision is None else DECISION_FIELDS.get(type(decision))
    if decision is None or path is None:
        return None
    values = list(values_at(decision.to_wire(), path))
    return values[0] if len(values) == 1 else values


async def joined(
    kafka: KafkaSettings, marks: Sequence[DecisionReviewed], progress: Callable[[str, int, int], None]
) -> AsyncGenerator[ReviewRow, None]:
    """The rows of marks, in their order. ``progress`` takes what is done, how much of it, and its total.

    Raises:
        KafkaError: The cluster can't be read.
    """
    places = [Place(its.decision.topic, its.decision.partition, its.decision.offset) for its in marks]
    sources: dict[Place, tuple[str, bytes]] = {}
    async with record_reader(kafka, [_partition(kafka, place) for place in places]) as reader:
        for done, (mark, place) in enumerate(zip(marks, places, strict=True), 1):
            record = await reader.at(_partition(kafka, place), place.offset)
            if record is not None and (cause := _cause_of(record, mark.decision)) is not None:
                sources[place] = cause
            progress("reading decisions", done, len(marks))
    found = await _find_inputs(kafka, marks, sources, progress)
    needed = {_partition(kafka, place) for place in (*places, *found.values())}
    async with record_reader(kafka, needed) as reader:
        for done, (mark, place) in enumerate(zip(marks, places, strict=True), 1):
            yield await _row(kafka, reader, mark, place, found.get(place))
            progress("writing rows", done, len(marks))


async def _find_inputs(
    kafka: KafkaSettings,
    marks: Iterable[DecisionReviewed],
    sources: Mapping[Place, tuple[str, bytes]],
    progress: Callable[[str, int, int], None],
) -> dict[Place, Place]:
    """The positions of inputs by the position of their decision."""
    wanted: dict[str, dict[str, list[Place]]] = {}
    keys: dict[str, set[bytes]] = {}
    found: dict[Place, Place] = {}
    for mark in marks:
        place = Place(mark.decision.topic, mark.decision.partition, mark.decision.offset)
        handler = handler_named(mark.decision.handler)
        if place in sources and handler is not None:
            identity, key = sources[place]
            wanted.setdefault(handler.consumes.name, {}).setdefault(identity, []).append(place)
            keys.setdefault(handler.consumes.name, set()).add(key)
    for topic, identities in wanted.items():
        left = set(identities)
        steps = read_newest_first(
            kafka, {topic: keys[topic]}, None, progress=partial(progress, f"looking for inputs on {topic}")
        )
        async with aclosing(steps):
            async for records in steps:
                for record in records:
                    if (identity := identity_of(record)) in left:
                        left.discard(identity)
                        at = Place(topic, record.partition, record.offset)
                        found |= dict.fromkeys(identities[identity], at)
                if not left:
                    break
    return found


async def _row(
    kafka: KafkaSettings, reader: RecordReader, mark: DecisionReviewed, place: Place, source: Place | None
) -> ReviewRow:
    decision, why = await _event(kafka, reader, place, "the decision")
    missing = [why] if why else []
    event: Event | None = None
    if source is not None:
        event, why = await _event(kafka, reader, source, "the input")
        missing += [why] if why else []
    elif decision is not None:
        missing.append(f"the input is gone, or has another key than {mark.decision.subject!r}")
    return ReviewRow(mark, decision, event, source, tuple(missing))


async def _event(kafka: KafkaSettings, reader: RecordReader, place: Place, what: str) -> tuple[Event | None, str]:
    record, topic = await reader.at(_partition(kafka, place), place.offset), topic_named(place.topic)
    if record is None or topic is None:
        return None, f"{what} is gone: {place.topic}/{place.partition}/{place.offset}"
    event = decode(topic, record.value, record.headers, timestamp(record.timestamp))
    return (None, f"{what} can't be read: {event.detail}") if isinstance(event, Dead) else (event, "")


def _cause_of(record: ConsumerRecord, about: ReviewedDecision) -> tuple[str, bytes] | None:
    """The identity of a decision's input, and the key under which it is looked for."""
    headers = {name: value for name, value in record.headers if value is not None}
    cause, topic = headers.get("ce_causationid"), topic_named(about.topic)
    if cause is None or topic is None:
        return None
    return cause.decode("utf-8", "replace"), _key_of_input(topic, record)


def _key_of_input(topic: Topic, record: ConsumerRecord) -> bytes:
    """The key of a decision's input: that of the decision, except for extractions, whose key is a domain."""
    if topic.event is ExtractionCompleted:
        event = decode(topic, record.value, record.headers, None)
        if isinstance(event, ExtractionCompleted):
            return registrable_domain(host_of(event.target_url)).encode()
    return record.key or b""


def _partition(kafka: KafkaSettings, place: Place) -> TopicPartition:
    return TopicPartition(kafka.topic_prefix + place.topic, place.partition)
