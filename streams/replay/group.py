"""One consumer group of a plan: reads ranges of a topic to their ends through the pipeline, and survives kills.

The pipeline commits each result together with its offset, so another process continues behind the last result. The
group's committed offsets are the progress, also of other processes.

A consumer whose offset was deleted by retention continues at the first record without an error. The group therefore
notes gaps in intake. The part of a gap before the partition's first offset was deleted; the rest are transaction
markers. The plan has the deleted ranges that all processes found.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Self

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError

from schemas.replays import OffsetRange, ReplayPlan, ReplayStage
from streams.kafka.clients import group_of, make_admin, make_producer, opened
from streams.kafka.groups import GroupState, read_groups
from streams.kafka.settings import KafkaSettings
from streams.kafka.topic_table import GroupOffsets
from streams.kafka.transactions import RecordWriter, transactional_id
from streams.llm.limits import Shares
from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import committer_factory
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.health import Health
from streams.pipeline.intake import IntakeBroker
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import RecordWork
from streams.replay.pace import ReplayRate
from streams.replay.plan import ReplayTroubleError, handler_of
from streams.replay.session import PlanSession
from streams.replay.transitions import merged
from streams.runtime.clock import Clock
from streams.topology.names import run_group

Gap = tuple[TopicPartition, int, int]
"""A partition, and the offsets in it that the consumer skipped: from the first, up to the second."""
_UNHEALTHY_LOOKS = 20
"""Consecutive failed health checks after which this process gives up."""
_START_SECONDS = 15.0
"""The longest time until committed start offsets can be read."""
_START_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class ReplaySubscription(Subscription):
    """What a group of a plan reads.

    Attributes:
        reads: The handler's own topic, before the prefix.
        own_group: The plan's group, before the prefix.
    """

    reads: str = ""
    own_group: str = ""

    @property
    def topic(self) -> str:
        """The topic that is read."""
        return self.reads

    @property
    def group(self) -> str:
        """The plan's group."""
        return self.own_group


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """How far a group has come: offsets left in its ranges, and its members."""

    remaining: int
    members: int

    @classmethod
    def of(cls, state: GroupState, ends: Mapping[TopicPartition, int]) -> Self | None:
        """The progress towards these ends; None if an offset is not known, as when the group has just started."""
        if not ends.keys() <= state.offsets.keys():
            return None
        return cls(sum(max(0, end - state.offsets[place]) for place, end in ends.items()), state.members)


@dataclass(frozen=True, slots=True)
class PlanGroup:
    """A consumer group of a plan, and the ranges that it reads, one for each partition."""

    kafka: KafkaSettings
    subscription: Subscription
    ranges: tuple[OffsetRange, ...]

    @classmethod
    def of_stage(cls, kafka: KafkaSettings, plan: ReplayPlan, stage: ReplayStage) -> Self:
        """The group that runs a stage. A replay has no retry topics."""
        handler = replace(handler_of(stage), retry_later=())
        group = run_group(stage.handler, plan)
        return cls(kafka, ReplaySubscription(handler, reads=stage.topic, own_group=group), stage.ranges)

    @property
    def name(self) -> str:
        """The group's name on the cluster."""
        return group_of(self.kafka, self.subscription)

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Where the ranges end."""
        return ends_of(self.kafka, self.subscription.topic, self.ranges)

    @property
    def starts(self) -> GroupOffsets:
        """Where the group begins. Committed together with the change that says that it has begun."""
        return GroupOffsets(self.name, {place: its.start for place, its in zip(self.ends, self.ranges, strict=True)})

    async def progress(self) -> GroupProgress | None:
        """How far the group has come; None if the cluster does not report an offset. Raises KafkaError."""
        async with opened(make_admin(self.kafka)) as admin:
            return GroupProgress.of((await read_groups(admin, [self.name]))[self.name], self.ends)

    async def await_start(self, clock: Clock) -> None:
        """Waits until the committed start offsets can be read.

        Raises:
            ReplayTroubleError: The cluster has deleted the group's offsets.
            KafkaError: The cluster can't be reached.
        """
        until = clock.monotonic() + _START_SECONDS
        async with opened(make_admin(self.kafka)) as admin:
            while not self.ends.keys() <= (await read_groups(admin, [self.name]))[self.name].offsets.keys():
                if clock.monotonic() > until:
                    raise ReplayTroubleError(
                        "the cluster has forgotten how far the plan has come (offsets.retention.minutes); drop it and "
                        "begin anew"
                    )
                await clock.sleep(_START_POLL_SECONDS)

    async def fence(self) -> None:
        """Fences every producer of the group, so a process that was suspended can't commit any more.

        Raises:
            KafkaError: The cluster can't be reached.
        """
        deadline = self.kafka.transaction_timeout_seconds

        async def one(place: TopicPartition) -> None:
            own_id = transactional_id(self.name, place)
            writer = RecordWriter(lambda: make_producer(self.kafka, own_id, "assay-replay"), deadline)
            try:
                await writer.start()
            except TimeoutError:
                raise KafkaTimeoutError(f"the cluster did not answer within {deadline:g} s") from None
            finally:
                await writer.stop()

        await asyncio.gather(*(one(place) for place in self.ends))


def ends_of(kafka: KafkaSettings, topic: str, ranges: Sequence[OffsetRange]) -> dict[TopicPartition, int]:
    """The ends of ranges by partition; ``topic`` is before the prefix."""
    return {TopicPartition(kafka.topic_prefix + topic, its.partition): its.end for its in ranges}


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


class StageReader:
    """This process's membership in a plan's group: ``async with``."""

    def __init__(
        self,
        session: PlanSession,
        group: PlanGroup,
        work: RecordWork,
        pace: ReplayRate,
        breaker: Breaker,
        shares: Shares | None = None,
    ) -> None:
        """Wires the group; nothing is opened yet. ``pace`` and ``shares`` get the number of assigned partitions."""
        settings, subscription = session.settings, group.subscription
        self._session = session
        self._plan_group = group
        self._admin: Any = None
        self._open = AsyncExitStack()
        handler = subscription.handler

        def on_held(its: Subscription, held: int, of: int) -> None:
            pace.told(held, of)
            if shares is not None:
                shares.on_assignment(handler.name, its.topic, held, of)

        # Even if live traffic is written at least once: duplicates of a replay could not be found afterwards.
        exactly_once = settings.model_copy(update={"delivery": "exactly_once"})
        observer = PipelineMetrics(session.metrics, handler.name, "replay")

        self._gaps: list[Gap] = []
        self._group = ConsumerGroup(
            subscription,
            work,
            committer_factory(exactly_once, subscription, session.clock, observer, session.is_ours),
            settings.pipeline,
            session.clock,
            observer,
            breaker,
            on_held,
            group.ends,
            pace.seconds,
            lambda place, start, end: self._gaps.append((place, start, end)),
        )
        self._health = Health((self._group,), settings, session.clock, session.metrics)
        self._broker = IntakeBroker(settings, (self._group,), session.metrics.registry)
        self._unhealthy_looks = 0

    async def __aenter__(self) -> Self:
        """Joins the group and begins to work."""
        settings = self._session.settings
        async with AsyncExitStack() as opening:
            self._admin = await opening.enter_async_context(opened(make_admin(settings.kafka)))
            # Registered before each start, so that an interrupted start is closed as well.
            opening.push_async_callback(self._broker.stop)
            opening.push_async_callback(self._group.stop, settings.pipeline.drain_seconds)
            await self._broker.start()
            opening.push_async_callback(self._health.stop)
            await self._health.start()
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Finishes and commits the records in flight within the drain budget, and leaves the group."""
        await self._open.aclose()

    async def update_progress(self) -> bool:
        """Updates the session's progress from the cluster. Returns whether the group has read its ranges.

        Raises:
            ReplayTroubleError: This process can't go on; another one can.
        """
        verdict = self._health.alive()
        self._unhealthy_looks = 0 if verdict.well else self._unhealthy_looks + 1
        if self._unhealthy_looks >= _UNHEALTHY_LOOKS:
            raise ReplayTroubleError(f"{'; '.join(verdict.problems)}; nothing is lost, resume it")
        progress, name = self._session.progress, self._plan_group.name
        found = None
        with contextlib.suppress(KafkaError, OSError):
            found = GroupProgress.of((await read_groups(self._admin, [name]))[name], self._plan_group.ends)
        if found is None:
            progress.note = "Kafka does not report the progress"
            return False
        progress.note, progress.remaining, progress.members = self._held_up, found.remaining, found.members
        return not found.remaining

    async def deleted(self) -> list[OffsetRange]:
        """The ranges that were deleted before they were read here, since the last call."""
        return await deleted_ranges(self._group, self._gaps, self._plan_group.ends)

    @property
    def own_remaining(self) -> int:
        """Offsets left in the partitions that this process holds."""
        held, ends = self._group.partitions, self._plan_group.ends
        return sum(
            max(0, ends[place] - (partition.committed or 0)) for place, partition in held.items() if place in ends
        )

    @property
    def _held_up(self) -> str:
        """Why the work waits; "" while it doesn't."""
        seconds, cause = self._group.kept_waiting
        if seconds > 0:
            return f"waits for what is down ({cause})"
        consumer = self._group.consumer
        for place, partition in self._group.partitions.items():
            known = consumer is not None and place in consumer.assignment()
            stable = consumer.last_stable_offset(place) if consumer is not None and known else None
            if stable is not None and 0 <= stable <= partition.position() < self._plan_group.ends.get(place, 0):
                return f"waits for a transaction that is open on {place.topic}"
        return ""
