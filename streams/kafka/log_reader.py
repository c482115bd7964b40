"""Records that stand on a topic already, read from one offset to another without a consumer group.

In: a topic and offset ranges. Out: the committed records in them, one after another, and then an end: what is written
meanwhile is not waited for. What reads the past (selections, estimates, differences) reads it here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from schemas.replays import OffsetRange, TopicRanges
from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.settings import KafkaSettings

_POLL_MS = 100
_AT_ONCE = 200
"""Records taken from the client at once; what it has fetched beyond is bounded by its own buffers."""


async def read_log(
    kafka: KafkaSettings, topic: str, ranges: Sequence[OffsetRange]
) -> AsyncGenerator[ConsumerRecord, None]:
    """The committed records of a topic in these ranges, those of each partition in their order.

    What retention has deleted is passed over, and so is what is not committed yet: a range that reaches beyond what
    can be read now ends there. Transaction markers occupy offsets, so a partition is at its end where the reader's
    position says so, and not after so many records.

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
        # All at once: a reader that is assigned anew for each partition can come to a standstill.
        reader.assign(list(wanted))
        ends = await _seek(reader, wanted)
        while ends:
            taken = await reader.getmany(*ends, timeout_ms=_POLL_MS, max_records=_AT_ONCE)
            for partition, records in taken.items():
                for record in records:
                    if record.offset < ends[partition]:
                        yield record
            # What is fetched ahead comes without a wait, and Ctrl-C would not be heard.
            await asyncio.sleep(0)
            for partition in [partition for partition in ends if await reader.position(partition) >= ends[partition]]:
                del ends[partition]
                reader.pause(partition)


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


async def _seek(reader: AIOKafkaConsumer, wanted: Mapping[TopicPartition, OffsetRange]) -> dict[TopicPartition, int]:
    """Goes to where each range starts; returns where those end that hold anything, and pauses the others."""
    firsts, lasts = await reader.beginning_offsets(list(wanted)), await reader.end_offsets(list(wanted))
    ends = {}
    for partition, its in wanted.items():
        start, end = max(firsts[partition], its.start), min(lasts[partition], its.end)
        if start < end:
            reader.seek(partition, start)
            ends[partition] = end
        else:
            reader.pause(partition)
    return ends


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
