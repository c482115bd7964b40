"""Editors' marks: reads and writes ``decisions.reviewed.v1``, and joins marks with decisions and their inputs.

A decision is read at its position. Its input is the record that the decision names in ``ce_causationid``; it is looked
for under the decision's key, from the newest record to the oldest. Only positions are kept in memory, and each record
is read when its row is made.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition

from schemas.event import Envelope, Event, derive_id
from schemas.outcome import Dead
from schemas.review import DecisionReviewed
from streams.console.entries import Position
from streams.kafka.clients import make_producer, opened
from streams.kafka.lookups import read_newest_first, record_reader
from streams.kafka.settings import KafkaSettings
from streams.kafka.topic_table import TopicTable
from streams.replay.selection import identity_of, values_at
from streams.runtime.clock import SystemClock
from streams.topology import DECISIONS_REVIEWED, handler_named, topic_named
from streams.topology.codec import decode, encode, timestamp
from streams.views.words import DECISION_FIELDS

_95_PERCENT = 1.959964


@dataclass(frozen=True, slots=True)
class Agreement:
    """The marks on decisions of a handler under one version of its rules; "" if their events name no version."""

    handler: str
    config_version: str
    right: int
    wrong: int

    @property
    def share(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share (Wilson), which is also valid for a few marks and for a share of 0 or 1."""
        z, n, p = _95_PERCENT, self.right + self.wrong, self.share
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        spread = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return min(p, max(0.0, centre - spread)), max(p, min(1.0, centre + spread))  # rounding must not exclude it


def newest_marks(reviews: Iterable[DecisionReviewed]) -> dict[str, DecisionReviewed]:
    """The mark of each decision: the newest that was not withdrawn; ``reviews`` are in the order of their records."""
    newest: dict[str, DecisionReviewed] = {}
    for review in reviews:
        at, before = review.reviewed_at, newest.get(review.decision.identity)
        # Without times, the order of the records decides.
        if before is None or before.reviewed_at is None or at is None or at >= before.reviewed_at:
            newest[review.decision.identity] = review
    return {identity: review for identity, review in newest.items() if not review.withdrawn}


def agreement(marks: Iterable[DecisionReviewed]) -> tuple[Agreement, ...]:
    """The agreement by handler and version; ``marks`` has one mark for each decision (``newest_marks``)."""
    counts = Counter((its.decision.handler, its.decision.config_version or "", its.right) for its in marks)
    groups = sorted({(handler, version) for handler, version, _ in counts})
    return tuple(
        Agreement(handler, version, counts[handler, version, True], counts[handler, version, False])
        for handler, version in groups
    )


MOST_MARKS = 100_000  # decisions whose marks are kept in memory; the oldest leave


class Marks(TopicTable[DecisionReviewed]):
    """The newest mark of each decision, by the identity of the decision."""

    def __init__(self, kafka: KafkaSettings) -> None:
        super().__init__(kafka, DECISIONS_REVIEWED, "assay-reviews", SystemClock(), random.random)
        self._producer: Any = None

    def note(self, value: DecisionReviewed) -> None:
        before = self.rows.pop(value.decision.identity, None)
        self.rows |= newest_marks([value] if before is None else [before, value])
        if len(self.rows) > MOST_MARKS:
            del self.rows[next(iter(self.rows))]

    async def aclose(self) -> None:
        self._producer = None
        await super().aclose()

    async def write(self, review: DecisionReviewed, now: datetime) -> None:
        """Writes a mark, and returns when Kafka has it. The same mark again changes nothing. Raises KafkaError."""
        async with self._lock:
            if self._producer is None:
                producer = make_producer(self._kafka, None, "assay-console")
                self._producer = await self._clients.enter_async_context(opened(producer))
            decision = review.decision.identity
            parts = (review.right, review.expected, review.note, review.reviewer, review.reviewed_at)
            envelope = Envelope(derive_id("review", decision, *parts), "assay/console", now, decision, decision)
            record = encode(DECISIONS_REVIEWED, review, envelope)
            name = self._kafka.topic_prefix + record.topic
            await self._producer.send_and_wait(name, record.value, key=record.key, headers=list(record.headers))
        self.note(review)


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
