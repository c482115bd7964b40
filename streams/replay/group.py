"""The consumer group of a plan: its start and end offsets, its progress, and what retention has deleted of its ranges.

The pipeline commits each result together with its offset, so another process continues behind the last result. The
group's committed offsets are the progress, also of other processes.

A consumer whose offset was deleted by retention continues at the first record without an error. Intake therefore
reports gaps (``Partition.on_gap``). The part of a gap before the partition's first offset was deleted; the rest are
transaction markers. The plan has the deleted ranges that all processes found.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError

from schemas.replays import OffsetRange, ReplayPlan
from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.groups import GroupState, read_groups
from streams.kafka.settings import KafkaSettings
from streams.kafka.topic_table import GroupOffsets
from streams.kafka.transactions import RecordWriter, transactional_id
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.replay.plan import ReplayTroubleError, handler_of, merged, stage_of
from streams.runtime.clock import Clock
from streams.topology.topics import run_group

Gap = tuple[TopicPartition, int, int]
"""A partition, and the offsets in it that the consumer skipped: from the first, up to the second."""
_START_SECONDS = 15.0  # the longest time until committed start offsets can be read
_START_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class PlanGroup:
    kafka: KafkaSettings
    plan: ReplayPlan

    @property
    def subscription(self) -> Subscription:
        """What the group reads. A replay has no retry topics."""
        handler = replace(handler_of(self.plan), retry_later=())
        return Subscription(handler, own_group=run_group(handler.name, self.plan))

    @property
    def name(self) -> str:
        return self.kafka.topic_prefix + run_group(stage_of(self.plan).handler, self.plan)

    @property
    def starts(self) -> GroupOffsets:
        """Where the group begins. Committed together with the change that says that it has begun."""
        return GroupOffsets(self.name, {place: span.start for place, span in self._ranges.items()})

    @property
    def ends(self) -> dict[TopicPartition, int]:
        return {place: span.end for place, span in self._ranges.items()}

    @property
    def _ranges(self) -> dict[TopicPartition, OffsetRange]:
        stage = stage_of(self.plan)
        return {TopicPartition(self.kafka.topic_prefix + stage.topic, span.partition): span for span in stage.ranges}

    async def await_start(self, clock: Clock) -> None:
        """Waits until the committed start offsets can be read.

        Raises ReplayTroubleError if the cluster has deleted the group's offsets.
        """
        until = clock.monotonic() + _START_SECONDS
        async with opened(make_admin(self.kafka)) as admin:
            while remaining((await read_groups(admin, [self.name]))[self.name], self.ends) is None:
                if clock.monotonic() > until:
                    raise ReplayTroubleError(
                        "the cluster has forgotten how far the plan has come (offsets.retention.minutes); drop it and "
                        "begin anew"
                    )
                await clock.sleep(_START_POLL_SECONDS)

    async def fence(self) -> None:
        """Fences every producer of the group, so a suspended process can't commit any more. Raises KafkaError."""
        deadline = self.kafka.transaction_timeout_seconds

        async def fence_writer(place: TopicPartition) -> None:
            own_id = transactional_id(self.name, place)
            writer = RecordWriter(lambda: make_producer(self.kafka, own_id, "assay-replay"), deadline)
            try:
                await writer.start()
            except TimeoutError:
                raise KafkaTimeoutError(f"the cluster did not answer within {deadline:g} s") from None
            finally:
                await writer.stop()

        await asyncio.gather(*(fence_writer(place) for place in self.ends))


def remaining(state: GroupState, ends: Mapping[TopicPartition, int]) -> int | None:
    """Offsets left up to these ends; None if an offset is not known, as when the group has just started."""
    if not ends.keys() <= state.offsets.keys():
        return None
    return sum(max(0, end - state.offsets[place]) for place, end in ends.items())


async def deleted_ranges(
    group: ConsumerGroup, gaps: list[Gap], ends: Mapping[TopicPartition, int]
) -> list[OffsetRange]:
    """The ranges up to ``ends`` that were deleted before the group read them here, since the last call.

    Removes the gaps that it has looked at from ``gaps``. Without an answer of the cluster the result is empty, and the
    next call reports them.
    """
    consumer = group.consumer
    if consumer is None:
        return []
    # If retention has deleted every record of a partition, no record shows the gap.
    cursors = [(place, partition.cursor) for place, partition in group.partitions.items()]
    seen = gaps + [(place, at.next_offset, at.position) for place, at in cursors if at.next_offset < at.position]
    if not seen:
        return []
    with contextlib.suppress(KafkaError, OSError):
        begins = await consumer.beginning_offsets(list({place for place, _, _ in seen}))
        gaps[:] = [gap for gap in gaps if gap not in seen]
        return merged(
            OffsetRange(partition=place.partition, start=start, end=last)
            for place, start, end in seen
            if start < (last := min(end, begins.get(place, 0), ends.get(place, 0)))
        )
    return []


def held_up(group: ConsumerGroup, ends: Mapping[TopicPartition, int]) -> str:
    """Why the work waits; "" while it doesn't."""
    seconds, cause = group.kept_waiting
    if seconds > 0:
        return f"waits for what is down ({cause})"
    consumer = group.consumer
    for place, partition in group.partitions.items():
        known = consumer is not None and place in consumer.assignment()
        stable = consumer.last_stable_offset(place) if consumer is not None and known else None
        if stable is not None and 0 <= stable <= partition.position() < ends.get(place, 0):
            return f"waits for a transaction that is open on {place.topic}"
    return ""
