"""Looks up records: by position, by key from the newest to the oldest, and the last ones of topics.

Of the last records of each partition two offsets are read: the last record and the marker of its transaction. If a
replay or a backfill wrote them, a bounded number of earlier records is read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError
from aiokafka.partitioner import DefaultPartitioner

from schemas.documents import DocumentIndexed, IndexChange
from schemas.event import RUN_HEADER
from streams.kafka.groups import RECORD_FETCH
from streams.kafka.log_reader import existing_partitions, paused_reader, records_between, spans_from
from streams.kafka.settings import KafkaSettings
from streams.topology import DOCUMENTS_INDEXED, PAGES_SCORED, Handler
from streams.topology.codec import decode

_FIRST_STEP = 500
_LARGEST_STEP = 20_000  # offsets that are read at once, from the end backwards; the step doubles

Place = tuple[TopicPartition, int]  # the position of a record; its topic has the prefix


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads records of some partitions, within a time limit; ``record_reader`` opens one."""

    reader: AIOKafkaConsumer
    spans: Mapping[TopicPartition, tuple[int, int]]
    limit_seconds: float

    async def at(self, partition: TopicPartition, offset: int) -> ConsumerRecord | None:
        """The committed record at an offset; None if retention has deleted it, or it never was. Raises KafkaError."""
        return (await self.several([(partition, offset)])).get((partition, offset))

    async def several(self, places: Iterable[Place]) -> dict[Place, ConsumerRecord]:
        """The committed records at these offsets; those that are gone are missing. Raises KafkaError."""
        left: dict[TopicPartition, list[int]] = {}
        for partition, offset in sorted(set(places), reverse=True):
            begin, end = self.spans.get(partition, (0, 0))
            if begin <= offset < end:
                left.setdefault(partition, []).append(offset)
        found: dict[Place, ConsumerRecord] = {}
        while left:
            # One record of each partition at a time.
            spans = {at: (offset := offsets.pop(), offset + 1) for at, offsets in left.items()}
            left = {at: offsets for at, offsets in left.items() if offsets}
            async with aclosing(
                records_between(self.reader, spans, limit_seconds=self.limit_seconds, first_only=True)
            ) as records:
                async for record in records:
                    found[TopicPartition(record.topic, record.partition), record.offset] = record
        return found


@asynccontextmanager
async def record_reader(kafka: KafkaSettings, partitions: Iterable[TopicPartition]) -> AsyncIterator[RecordReader]:
    """A reader of records of these partitions, whose topics have the prefix. Raises KafkaError."""
    wanted = set(partitions)
    known = sorted(wanted & {*await existing_partitions(kafka, {at.topic for at in wanted})})
    async with paused_reader(kafka, known, "assay-record", **RECORD_FETCH) as reader:
        yield RecordReader(reader, await spans_from(reader, known, "earliest"), kafka.transaction_timeout_seconds)


async def read_newest_first(
    kafka: KafkaSettings,
    keys: Mapping[str, Collection[bytes]],
    since: datetime | None,
    *,
    every_partition: bool = False,
    progress: Callable[[int, int], None] = lambda _, __: None,
) -> AsyncGenerator[list[ConsumerRecord], None]:
    """The committed records with one of the keys, in steps; a step is older than the one before. Raises KafkaError.

    Args:
        kafka: The cluster.
        keys: The wanted keys by topic, without the prefix. Topics that do not exist are left out.
        since: Older records are not read.
        every_partition: Read all partitions: a producer may have another rule for the partition of a key.
        progress: Called after each step with the number of offsets that were read, and of all.
    """
    names = {kafka.topic_prefix + topic: frozenset(wanted) for topic, wanted in keys.items()}
    partitions = await existing_partitions(kafka, names)
    if not every_partition:
        numbers = {name: [at.partition for at in partitions if at.topic == name] for name in names}
        # The partition that the Java client, aiokafka and Assay choose.
        choose = DefaultPartitioner()
        mine = {
            (name, choose(key, numbers[name], numbers[name])) for name in names if numbers[name] for key in names[name]
        }
        partitions = [at for at in partitions if at in mine]
    if not partitions:
        return
    async with paused_reader(kafka, partitions, "assay-why") as reader:
        firsts, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
        if since is not None:
            found = await reader.offsets_for_times(dict.fromkeys(partitions, int(1000 * since.timestamp())))
            firsts = {at: ends[at] if found[at] is None else max(firsts[at], found[at].offset) for at in partitions}
        total, done, step = sum(ends[at] - firsts[at] for at in partitions), 0, _FIRST_STEP
        held: list[ConsumerRecord] = []
        while spans := {at: (max(firsts[at], ends[at] - step), ends[at]) for at in partitions if firsts[at] < ends[at]}:
            oldest: dict[TopicPartition, float] = {}
            async with aclosing(records_between(reader, spans)) as reading:
                async for record in reading:
                    at = TopicPartition(record.topic, record.partition)
                    oldest[at] = min(record.timestamp, oldest.get(at, inf))
                    if record.key in names[record.topic]:
                        held.append(record)
            ends |= {at: start for at, (start, _) in spans.items()}
            done += sum(end - start for start, end in spans.values())
            progress(done, total)
            # A busy partition goes back a shorter time than a quiet one: it may have newer records than were found.
            horizon = max((oldest.get(at, inf) for at in partitions if firsts[at] < ends[at]), default=-inf)
            ready = [record for record in held if record.timestamp >= horizon]
            held = [record for record in held if record.timestamp < horizon]
            yield sorted(ready, key=lambda record: (record.timestamp, record.offset), reverse=True)
            step = min(2 * step, _LARGEST_STEP)


_BACK = (2, 50, 500)
"""Offsets from a partition's end that are read; the next number applies if all records found are of replays."""
_SECONDS = 20.0
_FURTHER_SECONDS = 3.0  # the time limit for the second and third number


@dataclass(frozen=True, slots=True)
class Decision:
    """The rules of a handler's last decision, and its record's timestamp."""

    config_version: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LatestDecisions:
    """The last decisions on live records."""

    # By the handler's name.
    of: Mapping[str, Decision]
    # Handlers with records of replays and backfills only, in the offsets that were read.
    only_replayed: tuple[str, ...] = ()


async def read_latest_decisions(settings: KafkaSettings, handlers: Sequence[Handler]) -> LatestDecisions:
    """The newest decision of each handler among the last records of its topics. Raises KafkaError.

    Records of replays and backfills do not count, because they may be made under other rules. If they are at the end of
    a partition, up to 500 offsets are read.
    """
    prefix = settings.topic_prefix
    topics = {prefix + topic.name for handler in handlers for topic in handler.emits}
    sources = {f"assay/{handler.name}": handler.name for handler in handlers}
    latest: dict[str, Decision] = {}
    replayed: set[str] = set()
    partitions = await existing_partitions(settings, topics)
    if not partitions:
        return LatestDecisions({})
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        async for record in _last_records(reader, partitions):
            headers = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
            handler = sources.get(headers.get("ce_source", ""))
            version = _config_version(record.value)
            if handler is None or version is None:
                continue
            if RUN_HEADER in headers:
                replayed.add(handler)
                continue
            at = datetime.fromtimestamp(record.timestamp / 1000, UTC)
            if handler not in latest or latest[handler].at < at:
                latest[handler] = Decision(version, at)
    return LatestDecisions(latest, tuple(h.name for h in handlers if h.name in replayed and h.name not in latest))


async def read_outdated_points(settings: KafkaSettings) -> tuple[int, int]:
    """Pages with points of another decision than their last one, and all pages that were read. Raises KafkaError.

    The last offsets of scored and of indexed pages are read. Each indexed page names the decision that it was made of.
    A decision after the last write is not indexed yet, and points of a later fetch are no older ones.
    """
    topics = {settings.topic_prefix + topic.name for topic in (PAGES_SCORED, DOCUMENTS_INDEXED)}
    partitions = await existing_partitions(settings, topics)
    last: dict[bytes | None, tuple[bytes | None, int]] = {}
    of_points: dict[bytes | None, bytes | None] = {}
    written: dict[bytes | None, int] = {}
    fetched: dict[bytes | None, datetime | None] = {}
    if not partitions:
        return 0, 0
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        begins, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
        spans = {place: (max(begins[place], ends[place] - _BACK[1]), ends[place]) for place in partitions}
        async for record in records_between(reader, spans, limit_seconds=_SECONDS):
            headers = dict(record.headers)
            if record.topic.endswith(PAGES_SCORED.name):
                last[record.key] = headers.get("ce_id"), record.timestamp
                continue
            event, cause = decode(DOCUMENTS_INDEXED, record.value, record.headers, None), headers.get("ce_causationid")
            if isinstance(event, DocumentIndexed):
                written[record.key], fetched[cause] = record.timestamp, event.fetched_at
                if event.change is not IndexChange.OUTDATED:
                    of_points[record.key] = cause
    both = [key for key, (_, at) in last.items() if key in of_points and at <= written[key]]
    outdated = [key for key in both if of_points[key] != last[key][0]]
    same = [key for key in outdated if last[key][0] in fetched and fetched[last[key][0]] == fetched[of_points[key]]]
    return len(same), len(both)


async def read_dated_after(settings: KafkaSettings, topics: Collection[str], moment: datetime) -> dict[str, datetime]:
    """Topics with records dated after a moment (UTC), and the date of such a record. Raises KafkaError.

    The names have the prefix; topics that do not exist are left out.
    """
    partitions = await existing_partitions(settings, topics)
    if not partitions:
        return {}
    async with paused_reader(settings, partitions, "assay-latest", **RECORD_FETCH) as reader:
        found = await reader.offsets_for_times(dict.fromkeys(partitions, int(1000 * moment.timestamp())))
    dated: dict[str, datetime] = {}
    for partition, at in found.items():
        if at is not None:
            date = datetime.fromtimestamp(at.timestamp / 1000, UTC)
            dated[partition.topic] = max(date, dated.get(partition.topic, date))
    return dated


async def _last_records(reader: Any, partitions: Sequence[TopicPartition]) -> AsyncIterator[ConsumerRecord]:
    """The last records of each partition, and earlier ones if no live record is among them."""
    begins, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
    unknown, seen = set(partitions), 0
    for back in _BACK:
        spans = {
            partition: (max(begins[partition], ends[partition] - back), ends[partition] - seen)
            for partition in unknown
            if begins[partition] < ends[partition] - seen
        }
        limit = _FURTHER_SECONDS if seen else _SECONDS
        try:
            async for record in records_between(reader, spans, limit_seconds=limit):
                yield record
                if RUN_HEADER not in dict(record.headers):
                    unknown.discard(TopicPartition(record.topic, record.partition))
        except KafkaTimeoutError:
            if not seen:
                raise
            return
        seen = back


def _config_version(value: bytes | None) -> str | None:
    try:
        event = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    version = event.get("config_version") if isinstance(event, Mapping) else None
    return version if isinstance(version, str) else None
