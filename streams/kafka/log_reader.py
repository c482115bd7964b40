"""Reads topics without a consumer group: from an offset up to another one, or what is written, without end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    NotCoordinatorForGroupError,
)

from schemas.replays import OffsetRange, TopicRanges
from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.settings import KafkaSettings

log = structlog.get_logger(__name__)

T = TypeVar("T")
_POLL_MS = 100
_SETTLE_SECONDS = 0.05
_LOOK_SECONDS = 15.0  # how often ``follow`` looks for new topics and partitions
_NO_TOPIC_SECONDS = 2.0  # the same while none of the topics exists
_PATIENCE_SECONDS = 20.0
_PAUSE_SECONDS = 0.2
_BUSY = (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NodeNotReadyError,
    NotCoordinatorForGroupError,
)
"""Errors while a broker starts, or another one takes over: the request is repeated."""
_AT_ONCE = 200  # records taken from the client at once; what it has fetched beyond is bounded by its own buffers


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


async def follow(
    kafka: KafkaSettings,
    topics: Collection[str],
    start: str,
    *,
    positions: dict[TopicPartition, int] | None = None,
    to_end: bool = False,
    client_id: str = "assay",
) -> AsyncGenerator[list[ConsumerRecord], None]:
    """The committed records of topics as they are written, in lists, without end. Raises KafkaError.

    Topics and partitions that are created later are followed too. A list is empty if no record came for a moment, and
    directly after the partitions were assigned.

    Args:
        kafka: The cluster.
        topics: Names with the prefix.
        start: ``earliest``, ``latest`` or an offset, for partitions that ``positions`` does not have.
        positions: The next offset of each partition, updated before each list. With those of an earlier call, nothing
            is read twice or left out.
        to_end: Ends at the last stable offsets at the time of the start, and fails if no record comes for as long as a
            transaction may take: all of these are committed, so only a silent cluster delays them.
        client_id: The reader's name in the broker's log.
    """
    positions = {} if positions is None else positions
    followed: set[TopicPartition] = set()
    ends: dict[TopicPartition, int] = {}
    look_at, clock = 0.0, asyncio.get_running_loop().time
    patience, last = kafka.transaction_timeout_seconds, clock()
    async with opened(make_reader(kafka, client_id=client_id)) as reader:
        while not (followed and to_end and all(positions[at] >= ends[at] for at in followed)):
            if clock() >= look_at:
                found = await _looked(kafka, topics, followed)
                if to_end and not found:
                    return
                look_at = clock() + (_LOOK_SECONDS if found else _NO_TOPIC_SECONDS)
                if found != followed:
                    followed = found
                    ends = await _seek(reader, found, start, positions) | ends
                yield []
            if not followed:
                await asyncio.sleep(_NO_TOPIC_SECONDS)
                continue
            polled = await reader.getmany(timeout_ms=_POLL_MS)
            last = clock() if polled else last
            if to_end and clock() > last + patience:
                raise KafkaTimeoutError(f"no record came for {patience:g} s")
            positions |= {at: await reader.position(at) for at in followed}
            yield [r for at, records in polled.items() for r in records if not to_end or r.offset < ends[at]]
            # Records that were fetched ahead are returned without a wait, and Ctrl-C would have no effect.
            await asyncio.sleep(0)


async def _looked(kafka: KafkaSettings, topics: Collection[str], followed: set[TopicPartition]) -> set[TopicPartition]:
    """The partitions to follow; those that are followed already, while the cluster does not say."""
    try:
        return set(await existing_partitions(kafka, topics))
    except KafkaError as error:
        if not followed:
            raise
        log.warning("new partitions are looked for later", error=repr(error))
        return followed


async def _seek(
    reader: AIOKafkaConsumer, partitions: set[TopicPartition], start: str, positions: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Assigns the partitions at their positions, or at the start where they have none; returns their ends.

    A position after the end is that of a topic that was deleted and created again.
    """
    reader.assign(list(partitions))
    spans = await spans_from(reader, partitions, start)
    for at, (first, end) in spans.items():
        positions[at] = first if positions.get(at, end + 1) > end else positions[at]
        reader.seek(at, positions[at])
    return {at: end for at, (_, end) in spans.items()}


async def spans_from(
    reader: AIOKafkaConsumer, partitions: Collection[TopicPartition], start: str
) -> dict[TopicPartition, tuple[int, int]]:
    """The offset of ``earliest``, ``latest`` or a number in each partition, and its present end. Raises KafkaError.

    A number outside of a partition becomes its nearest offset. The reader must have the partitions.
    """
    if not partitions:
        return {}
    begins, ends = await reader.beginning_offsets(list(partitions)), await reader.end_offsets(list(partitions))
    bounds = {"earliest": begins, "latest": ends}
    wanted = bounds[start] if start in bounds else dict.fromkeys(partitions, int(start))
    return {at: (min(max(wanted[at], begins[at]), ends[at]), ends[at]) for at in partitions}


@asynccontextmanager
async def paused_reader(
    kafka: KafkaSettings, partitions: Collection[TopicPartition], client_id: str, **options: Any
) -> AsyncIterator[AIOKafkaConsumer]:
    """A reader that is paused on all these partitions, for ``records_between``; options as of ``make_reader``."""
    async with opened(make_reader(kafka, client_id=client_id, **options)) as reader:
        assign_paused(reader, partitions)
        yield reader


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
    wanted = {TopicPartition(kafka.topic_prefix + topic, span.partition): span for span in ranges}
    if not any(span.end > span.start for span in ranges):
        return
    async with paused_reader(kafka, wanted, "assay-replay") as reader:
        firsts, lasts = await reader.beginning_offsets(list(wanted)), await reader.end_offsets(list(wanted))
        spans = {at: (max(firsts[at], span.start), min(lasts[at], span.end)) for at, span in wanted.items()}
        async with aclosing(records_between(reader, spans)) as records:
            async for record in records:
                yield record


async def committed_ranges(kafka: KafkaSettings, topics: Iterable[str]) -> tuple[TopicRanges, ...]:
    """The committed records of these topics, named without the prefix, as of now. Raises KafkaError.

    A topic that does not exist is left out.
    """
    prefix = kafka.topic_prefix
    found = await existing_partitions(kafka, [prefix + topic for topic in topics])
    if not found:
        return ()
    async with opened(make_reader(kafka, client_id="assay-replay")) as reader:
        starts, ends = await reader.beginning_offsets(found), await reader.end_offsets(found)
    ranges: dict[str, list[OffsetRange]] = {}
    for place in found:
        span = OffsetRange(partition=place.partition, start=starts[place], end=max(starts[place], ends[place]))
        ranges.setdefault(place.topic.removeprefix(prefix), []).append(span)
    return tuple(TopicRanges(topic=topic, ranges=tuple(span)) for topic, span in ranges.items())


async def existing_partitions(kafka: KafkaSettings, topics: Collection[str]) -> list[TopicPartition]:
    """The partitions of those topics that exist, in order; the names have the prefix. Raises KafkaError."""
    async with opened(make_admin(kafka)) as admin:
        existing = sorted({*topics} & {*await patiently(admin.list_topics)})
        described = await patiently(lambda: admin.describe_topics(existing)) if existing else []
    return sorted(TopicPartition(topic["topic"], at["partition"]) for topic in described for at in topic["partitions"])


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Repeats what is asked while a broker starts or another one takes over, for up to 20 s."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _PATIENCE_SECONDS
    while True:
        try:
            return await ask()
        except _BUSY:
            if loop.time() > until:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)
