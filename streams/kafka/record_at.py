"""Reads single records by their position."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.groups import read_topics
from streams.kafka.log_reader import assign_paused, records_between
from streams.kafka.settings import KafkaSettings

_FETCH_BYTES = 65_536
"""Bytes that are fetched for a record, but at least one whole batch: what follows the record is not needed."""
_FETCH_WAIT_MS = 100


Place = tuple[TopicPartition, int]
"""The position of a record; its topic has the prefix."""


class RecordReader:
    """Reads records of some partitions; ``record_reader`` opens one."""

    def __init__(self, reader: AIOKafkaConsumer, spans: dict[TopicPartition, tuple[int, int]], seconds: float) -> None:
        self._reader = reader
        self._spans = spans
        self._seconds = seconds

    async def at(self, partition: TopicPartition, offset: int) -> ConsumerRecord | None:
        """The committed record at an offset; None if retention has deleted it, or it never was. Raises KafkaError."""
        return (await self.several([(partition, offset)])).get((partition, offset))

    async def several(self, places: Iterable[Place]) -> dict[Place, ConsumerRecord]:
        """The committed records at these offsets; those that are gone are missing. Raises KafkaError."""
        left: dict[TopicPartition, list[int]] = {}
        for partition, offset in sorted(set(places), reverse=True):
            begin, end = self._spans.get(partition, (0, 0))
            if begin <= offset < end:
                left.setdefault(partition, []).append(offset)
        found: dict[Place, ConsumerRecord] = {}
        while left:
            # One record of each partition at a time.
            spans = {at: (offset := offsets.pop(), offset + 1) for at, offsets in left.items()}
            left = {at: offsets for at, offsets in left.items() if offsets}
            async with aclosing(
                records_between(self._reader, spans, limit_seconds=self._seconds, first_only=True)
            ) as records:
                async for record in records:
                    found[TopicPartition(record.topic, record.partition), record.offset] = record
        return found


@asynccontextmanager
async def record_reader(kafka: KafkaSettings, partitions: Iterable[TopicPartition]) -> AsyncIterator[RecordReader]:
    """A reader of records of these partitions, whose topics have the prefix. Raises KafkaError."""
    wanted = set(partitions)
    async with opened(make_admin(kafka)) as admin:
        states = await read_topics(admin, {at.topic for at in wanted})
    known = sorted(at for at in wanted if at.topic in states and at.partition in states[at.topic].partitions)
    reader = make_reader(kafka, client_id="assay-record", fetch_wait_ms=_FETCH_WAIT_MS, fetch_bytes=_FETCH_BYTES)
    async with opened(reader):
        assign_paused(reader, known)
        begins, ends = (await reader.beginning_offsets(known), await reader.end_offsets(known)) if known else ({}, {})
        spans = {at: (begins[at], ends[at]) for at in known}
        yield RecordReader(reader, spans, kafka.transaction_timeout_seconds)
