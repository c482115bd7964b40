"""Reads a bounded part of a topic without a consumer group: from an offset up to another one, then it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from schemas.replays import OffsetRange, TopicRanges
from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.settings import KafkaSettings

_POLL_MS = 100
_AT_ONCE = 200
"""Records taken from the client at once; what it has fetched beyond is bounded by its own buffers."""


async def records_between(
    reader: AIOKafkaConsumer,
    spans: Mapping[TopicPartition, tuple[int, int]],
    *,
    patience_seconds: float | None = None,
    limit_seconds: float | None = None,
    first_only: bool = False,
) -> AsyncGenerator[ConsumerRecord, None]:
    """The records of each partition from an offset on and before another one.

    Transaction markers occupy offsets, so a partition is at its end where the reader's position says so, and not after
    so many records.

    Args:
        reader: It has all these partitions and is paused on them, as ``assign_paused`` leaves it. It is so again after
            the last record.
        spans: The first offset and the end of each partition.
        patience_seconds: It gives up if no partition gets further for so long; None waits as long as it takes.
        limit_seconds: It gives up after so long in all, the caller's own time included; None for no limit.
        first_only: Only the first record of each partition.

    Raises:
        KafkaTimeoutError: A limit of time is over.
    """
    waiting = {partition for partition, (start, end) in spans.items() if start < end}
    for partition in waiting:
        reader.seek(partition, spans[partition][0])
    if waiting:
        reader.resume(*waiting)
    began = moved_at = time.monotonic()
    positions: dict[TopicPartition, int] = {}
    try:
        while waiting:
            done = set()
            for partition, records in (
                await reader.getmany(*waiting, timeout_ms=_POLL_MS, max_records=None if first_only else _AT_ONCE)
            ).items():
                for record in records:
                    if record.offset < spans[partition][1]:
                        yield record
                        if first_only:
                            done.add(partition)
                            break
            # What is fetched ahead comes without a wait, and Ctrl-C would not be heard.
            await asyncio.sleep(0)
            before, positions = positions, {at: await reader.position(at) for at in waiting}
            done |= {at for at, position in positions.items() if position >= spans[at][1]}
            if done:
                reader.pause(*done)
                waiting -= done
            now = time.monotonic()
            moved_at = moved_at if positions == before else now
            for limit, since in ((patience_seconds, moved_at), (limit_seconds, began)):
                if waiting and limit is not None and now - since > limit:
                    raise KafkaTimeoutError(f"no record came for {limit:g} s; partitions left: {len(waiting)}")
    finally:
        if waiting:
            reader.pause(*waiting)


def assign_paused(reader: AIOKafkaConsumer, partitions: Collection[TopicPartition]) -> None:
    """Gives a reader all its partitions at once: one that is assigned anew for each can come to a standstill."""
    reader.assign(list(partitions))
    reader.pause(*partitions)


async def read_log(
    kafka: KafkaSettings, topic: str, ranges: Sequence[OffsetRange]
) -> AsyncGenerator[ConsumerRecord, None]:
    """The committed records of a topic in these ranges, those of each partition in their order.

    What retention has deleted is passed over, and so is what is not committed yet: a range that reaches beyond what
    can be read now ends there.

    Args:
        kafka: The cluster's address and the prefix of topics.
        topic: Name before the prefix; it exists.
        ranges: At most one for each partition.

    Raises:
        KafkaError: The cluster can't be read.
    """
    wanted = {TopicPartition(kafka.topic_prefix + topic, its.partition): its for its in ranges}
    if not any(its.end > its.start for its in ranges):
        return
    async with opened(make_reader(kafka, client_id="assay-replay")) as reader:
        assign_paused(reader, wanted)
        firsts, lasts = await reader.beginning_offsets(list(wanted)), await reader.end_offsets(list(wanted))
        spans = {at: (max(firsts[at], its.start), min(lasts[at], its.end)) for at, its in wanted.items()}
        async with aclosing(records_between(reader, spans)) as records:
            async for record in records:
                yield record


async def committed_ranges(kafka: KafkaSettings, topics: Iterable[str]) -> tuple[TopicRanges, ...]:
    """Everything that is committed to these topics by now; a topic that does not exist is left out.

    Args:
        kafka: The cluster's address and the prefix of topics.
        topics: Names before the prefix.

    Raises:
        KafkaError: The cluster can't be read.
    """
    prefix = kafka.topic_prefix
    found = await _partitions(kafka, [prefix + topic for topic in topics])
    if not found:
        return ()
    async with opened(make_reader(kafka, client_id="assay-replay")) as reader:
        starts = await reader.beginning_offsets(found)
        ends = await reader.end_offsets(found)
    ranges: dict[str, list[OffsetRange]] = {}
    for partition in found:
        its = OffsetRange(
            partition=partition.partition, start=starts[partition], end=max(starts[partition], ends[partition])
        )
        ranges.setdefault(partition.topic.removeprefix(prefix), []).append(its)
    return tuple(TopicRanges(topic=topic, ranges=tuple(its)) for topic, its in ranges.items())


async def _partitions(kafka: KafkaSettings, topics: Sequence[str]) -> list[TopicPartition]:
    async with opened(make_admin(kafka)) as admin:
        existing = set(await admin.list_topics())
        known = [topic for topic in topics if topic in existing]
        described = await admin.describe_topics(known) if known else []
    return sorted(
        TopicPartition(topic["topic"], partition["partition"])
        for topic in described
        for partition in topic["partitions"]
    )
