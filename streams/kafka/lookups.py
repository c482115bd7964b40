"""Looks up single records: by their position, or by their key from the newest to the oldest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from math import inf

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.partitioner import DefaultPartitioner

from streams.kafka.groups import RECORD_FETCH, paused_reader
from streams.kafka.log_reader import existing_partitions, records_between
from streams.kafka.settings import KafkaSettings

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
        begins, ends = (await reader.beginning_offsets(known), await reader.end_offsets(known)) if known else ({}, {})
        spans = {at: (begins[at], ends[at]) for at in known}
        yield RecordReader(reader, spans, kafka.transaction_timeout_seconds)


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
        mine = {(name, _partition_of(key, numbers[name])) for name in names if numbers[name] for key in names[name]}
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


def _partition_of(key: bytes, partitions: Sequence[int]) -> int:
    """The partition that the Java client, aiokafka and Assay choose."""
    number: int = DefaultPartitioner()(key, partitions, partitions)
    return number
