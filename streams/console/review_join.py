"""Joins marks with the decisions that they are about, and with the inputs of those decisions.

A decision is read at its position. Its input is the record that the decision names in ``ce_causationid``; it is looked
for under the decision's key, from the newest record to the oldest. Only positions are kept in memory, and each record
is read when its row is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition

from schemas.event import Event
from schemas.outcome import Dead
from schemas.review import DecisionReviewed
from streams.console.entries import Position
from streams.kafka.lookups import read_newest_first, record_reader
from streams.kafka.settings import KafkaSettings
from streams.replay.selection import DECISION_FIELDS, identity_of, values_at
from streams.topology import handler_named, topic_named
from streams.topology.codec import decode, timestamp

Progress = Callable[[str, int, int], None]  # takes what is done, how much of it, and its total
_Read = Callable[[Position], Awaitable[ConsumerRecord | None]]


@dataclass(slots=True)
class _Wanted:
    """The inputs to look for on a topic: their keys, and the decisions on each by the identity of the input."""

    keys: set[bytes] = field(default_factory=set)
    decisions: defaultdict[str, list[Position]] = field(default_factory=lambda: defaultdict(list))


async def joined(
    kafka: KafkaSettings, marks: Sequence[DecisionReviewed], progress: Progress
) -> AsyncGenerator[dict[str, Any], None]:
    """The rows of marks as plain JSON types, in their order. Raises KafkaError."""
    places = [Position(its.decision.topic, its.decision.partition, its.decision.offset) for its in marks]
    wanted: defaultdict[str, _Wanted] = defaultdict(_Wanted)
    async with _reading(kafka, places) as read:
        for done, (mark, place) in enumerate(zip(marks, places, strict=True), 1):
            record, handler = await read(place), handler_named(mark.decision.handler)
            cause = dict(record.headers).get("ce_causationid") if record is not None else None
            if record is not None and cause is not None and handler is not None:
                inputs = wanted[handler.consumes.name]
                inputs.keys.add(record.key or b"")
                inputs.decisions[cause.decode("utf-8", "replace")].append(place)
            progress("reading decisions", done, len(marks))
    sources: dict[Position, Position] = {}
    for name, inputs in wanted.items():
        sources |= await _find_inputs(kafka, name, inputs, progress)
    async with _reading(kafka, [*places, *sources.values()]) as read:
        for done, (mark, place) in enumerate(zip(marks, places, strict=True), 1):
            yield await _row(read, mark, place, sources.get(place))
            progress("writing rows", done, len(marks))


@asynccontextmanager
async def _reading(kafka: KafkaSettings, places: Iterable[Position]) -> AsyncIterator[_Read]:
    """Gives the function that reads the record at one of the places; it returns None for one that is gone."""
    partitions = {at: TopicPartition(kafka.topic_prefix + at.topic, at.partition) for at in places}
    async with record_reader(kafka, partitions.values()) as reader:
        yield lambda at: reader.at(partitions[at], at.offset)


async def _find_inputs(
    kafka: KafkaSettings, topic: str, wanted: _Wanted, progress: Progress
) -> dict[Position, Position]:
    found: dict[Position, Position] = {}
    looking = partial(progress, f"looking for inputs on {topic}")
    async with aclosing(read_newest_first(kafka, {topic: wanted.keys}, None, progress=looking)) as steps:
        async for records in steps:
            for record in records:
                decisions = wanted.decisions.pop(identity_of(record), ())
                found |= dict.fromkeys(decisions, Position(topic, record.partition, record.offset))
            if not wanted.decisions:
                break
    return found


async def _row(read: _Read, mark: DecisionReviewed, place: Position, source: Position | None) -> dict[str, Any]:
    """A mark with its decision and its input; ``missing`` says for people why one of the two is not there.

    ``decided`` is the value of the decision that ``--outcome`` of a replay tests. ``label`` is the value for
    training and accuracy: the decided one if it is right, otherwise the expected one; null if it is unknown.
    """
    about = mark.decision
    decision, why = await _event(read, place, "the decision")
    missing = [why]
    event: Event | None = None
    if source is not None:
        event, why = await _event(read, source, "the input")
        missing.append(why)
    elif decision is not None:
        missing.append(f"the input is gone, or has another key than {about.subject!r}")
    decided = _decided(decision)
    return {
        "handler": about.handler,
        "config_version": about.config_version,
        "subject": about.subject,
        "decided": decided,
        "right": mark.right,
        "expected": mark.expected,
        "expected_facts": mark.expected_facts,
        "label": decided if mark.right else mark.expected,
        "reviewer": mark.reviewer,
        "note": mark.note,
        "reviewed_at": None if mark.reviewed_at is None else mark.reviewed_at.isoformat(),
        "decision": {**asdict(place), "event_id": about.event_id, "event": decision and decision.to_wire()},
        "input": source and {**asdict(source), "event": event and event.to_wire()},
        "missing": [why for why in missing if why],
    }


def _decided(decision: Event | None) -> str | list[str] | None:
    """The value of the field that says how a decision ended; several values if a list has it."""
    if decision is None or (path := DECISION_FIELDS.get(type(decision))) is None:
        return None
    values = list(values_at(decision.to_wire(), path))
    return values[0] if len(values) == 1 else values


async def _event(read: _Read, at: Position, what: str) -> tuple[Event | None, str]:
    record, topic = await read(at), topic_named(at.topic)
    if record is None or topic is None:
        return None, f"{what} is gone: {at}"
    event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
    return (None, f"{what} can't be read: {event.detail}") if isinstance(event, Dead) else (event, "")
