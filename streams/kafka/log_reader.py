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
_SETTLE_SECONDS = 0.05
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
    """The records of each partition from an offset up to another one.

    Transaction markers occupy offsets, so the reader's position says that a partition is at its end, not a number of
    records.

    Args:
        reader: Has all these partitions and is paused on them, before and after (``assign_paused``).
        spans: The first offset and the end of each partition.
        patience_seconds: Raises if no partition advances for this time; None for no limit.
        limit_seconds: Raises after this time in all, the caller's own included; None for no limit.
        first_only: Only the first record of each partition.

    Raises:
        KafkaTimeoutError: A time limit is over.
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
            # Records that were fetched ahead are returned without a wait, and Ctrl-C would have no effect.
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


async def await_open_transactions(
    reader: AIOKafkaConsumer, uncommitted: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> None:
    """Waits until every record that is written by now is committed or aborted, and so can be read.

    An open transaction hides the committed records behind it. A caller limits the time.

    Args:
        reader: Reads committed records.
        uncommitted: Sees the end of open transactions, too.
        partitions: Of the cluster; neither reader needs them assigned.
    """
    ends = await uncommitted.end_offsets(partitions)
    readable = await reader.end_offsets(partitions)
    while any(readable[at] < ends[at] for at in partitions):
        await asyncio.sleep(_SETTLE_SECONDS)
        readable = await reader.end_offsets(partitions)


def assign_paused(reader: AIOKafkaConsumer, partitions: Collection[TopicPartition]) -> None:
    """Assigns all partitions at once: a reader that gets them one by one can stop to deliver records."""
    reader.assign(list(partitions))
    reader.pause(*partitions)


async def read_log(
    kafka: KafkaSettings, topic: str, ranges: Sequence[OffsetRange]
) -> AsyncGenerator[ConsumerRecord, None]:
    """The committed records of a topic in these ranges, at most one range for each partition. Raises KafkaError.

    Skips records that retention has deleted. A range ends at the last stable offset at the latest. The topic must
    exist; its name is without the prefix.
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
    """The committed records of these topics, named without the prefix, as of now. Raises KafkaError.

    A topic that does not exist is left out.
    """
    prefix = kafka.topic_prefix
    async with opened(make_admin(kafka)) as admin:
        existing = set(await admin.list_topics())
        known = [prefix + topic for topic in topics if prefix + topic in existing]
        described = await admin.describe_topics(known) if known else []
    found = sorted(TopicPartition(its["topic"], one["partition"]) for its in described for one in its["partitions"])
    if not found:
        return ()
    async with opened(make_reader(kafka, client_id="assay-replay")) as reader:
        starts, ends = await reader.beginning_offsets(found), await reader.end_offsets(found)
    ranges: dict[str, list[OffsetRange]] = {}
    for place in found:
        its = OffsetRange(partition=place.partition, start=starts[place], end=max(starts[place], ends[place]))
        ranges.setdefault(place.topic.removeprefix(prefix), []).append(its)
    return tuple(TopicRanges(topic=topic, ranges=tuple(its)) for topic, its in ranges.items())
