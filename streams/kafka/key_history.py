"""Reads the records of a key from the newest to the oldest, from the partition that the key belongs to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from datetime import datetime
from math import inf

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.partitioner import DefaultPartitioner

from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.groups import read_topics
from streams.kafka.log_reader import assign_paused, records_between
from streams.kafka.settings import KafkaSettings

_FIRST_STEP = 500
_LARGEST_STEP = 20_000
"""Offsets that are read at once, from the end backwards; the step doubles."""

Progress = Callable[[int, int], None]
"""Takes the offsets that were read, and all of them."""


async def read_newest_first(
    kafka: KafkaSettings,
    keys: Mapping[str, Collection[bytes]],
    since: datetime | None,
    *,
    every_partition: bool = False,
    progress: Progress = lambda _, __: None,
) -> AsyncGenerator[list[ConsumerRecord], None]:
    """The committed records with one of the keys, in steps; a step is older than the one before. Raises KafkaError.

    Args:
        kafka: The cluster.
        keys: The wanted keys by topic, without the prefix. Topics that do not exist are left out.
        since: Older records are not read.
        every_partition: Read all partitions: a producer may have another rule for the partition of a key.
        progress: Called after each step.
    """
    names = {kafka.topic_prefix + topic: frozenset(wanted) for topic, wanted in keys.items()}
    async with opened(make_admin(kafka)) as admin:
        states = await read_topics(admin, names)
    partitions = [
        TopicPartition(name, number)
        for name, state in states.items()
        for number in sorted(state.partitions)
        if every_partition or number in {_partition_of(key, sorted(state.partitions)) for key in names[name]}
    ]
    if not partitions:
        return
    async with opened(make_reader(kafka, client_id="assay-why")) as reader:
        assign_paused(reader, partitions)
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


def _partition_of(key: bytes, partitions: list[int]) -> int:
    """The partition that the Java client, aiokafka and Assay choose."""
    number: int = DefaultPartitioner()(key, partitions, partitions)
    return number
