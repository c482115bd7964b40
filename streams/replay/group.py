"""One consumer group of a plan: reads ranges of a topic to their ends through the pipeline, and survives kills.

The pipeline commits each result together with its offset, so another process continues behind the last result. The
group's committed offsets are the progress, also of other processes.

A consumer whose offset was deleted by retention continues at the first record without a word. The group therefore notes
gaps in intake; the part of a gap before the partition's first offset was deleted, the rest are transaction markers. The
ledger merges the deleted ranges of all processes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError

from schemas.replays import OffsetRange
from streams.clock import Clock
from streams.kafka.clients import group_of, make_admin, make_producer, opened
from streams.kafka.groups import GroupState, read_groups
from streams.kafka.transactions import RecordWriter, transactional_id
from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import committers
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.health import Health
from streams.pipeline.intake import IntakeBroker
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import RecordWork
from streams.replay.ledger import Starts
from streams.replay.pace import ReplayRate
from streams.replay.plan import ReplayTroubleError
from streams.replay.ranges import merged
from streams.settings import Settings
from streams.telemetry.metrics import Metrics

Gap = tuple[TopicPartition, int, int]


log = structlog.get_logger(__name__)


class WatchedGroup(ConsumerGroup):
    """A consumer group that knows which offsets went by without a record."""

    def __init__(self, *arguments: Any) -> None:
        """Takes what ``ConsumerGroup`` takes."""
        super().__init__(*arguments)
        self._gaps: list[Gap] = []
        self._on_gap = lambda place, start, end: self._gaps.append((place, start, end))

    async def deleted(self, ends: Mapping[TopicPartition, int]) -> list[OffsetRange]:
        """What was deleted since this was last asked, before it could be read here.

        Args:
            ends: Where the ranges end.

        Returns:
            Ranges by partition; none where the cluster does not answer now, what was noted is kept then.
        """
        consumer = self.consumer
        if consumer is None:
            return []
        # Where nothing is left there is no record that tells of the jump.
        cursors = [(place, partition.cursor) for place, partition in self.partitions.items()]
        gaps = self._gaps + [
            (place, at.next_offset, at.position) for place, at in cursors if at.next_offset < at.position
        ]
        if not gaps:
            return []
        with contextlib.suppress(KafkaError, OSError):
            begins = await consumer.beginning_offsets(list({place for place, _, _ in gaps}))
            self._gaps = [gap for gap in self._gaps if gap not in gaps]
            return merged(
                OffsetRange(partition=place.partition, start=start, end=last)
                for place, start, end in gaps
                if start < (last := min(end, begins.get(place, 0), ends.get(place, 0)))
            )
        return []


_WEDGED_LOOKS = 20
"""Looks in a row at which it is not well after which it is given up."""
_START_SECONDS = 15.0
"""How long it may take until offsets that were committed can be read."""
_START_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """How far a group has come: offsets left in its ranges, and processes that are in it."""

    remaining: int
    members: int

    @classmethod
    def of(cls, state: GroupState, ends: Mapping[TopicPartition, int]) -> Self | None:
        """Made of what the cluster tells of the group; None where it tells no offsets, as when it only starts."""
        if not ends.keys() <= state.offsets.keys():
            return None
        return cls(sum(max(0, end - state.offsets[place]) for place, end in ends.items()), state.members)


class StageReader:
    """This process's part of a plan's group, while the block runs: ``async with``."""

    def __init__(
        self,
        settings: Settings,
        subscription: Subscription,
        ranges: Sequence[OffsetRange],
        work: RecordWork,
        pace: ReplayRate,
        clock: Clock,
        metrics: Metrics,
        breaker: Breaker,
        is_ours: Callable[[], Awaitable[bool]],
        shares: Any = None,
    ) -> None:
        """Wires the group; nothing is opened yet.

        Args:
            settings: Where Kafka is, and how much is held.
            subscription: What is read, and by which group.
            ranges: One for each partition.
            work: What is done with each record.
            pace: When the next one may be started.
            clock: Time.
            metrics: Count what is done.
            breaker: Holds back while what the handler needs is down.
            is_ours: Whether the plan is still there, and the same.
            shares: Told which partitions are here, where models have limits (``streams.llm.limits``).
        """
        self.group_name = group_of(settings.kafka, subscription)
        self._settings = settings
        self._clock = clock
        self._ends = ends_of(settings, subscription.topic, ranges)
        self._admin: Any = None
        self._open = AsyncExitStack()
        handler = subscription.handler
        observer = PipelineMetrics(metrics, handler.name, "replay")

        def on_held(its: Subscription, held: int, of: int) -> None:
            pace.told(held, of)
            if shares is not None:
                shares.on_assignment(handler.name, its.topic, held, of)

        # Whatever live traffic does: nobody could tell afterwards what a replay has done twice.
        exactly_once = settings.model_copy(update={"delivery": "exactly_once"})

        self._group = WatchedGroup(
            subscription,
            work,
            committers(exactly_once, subscription, clock, observer, is_ours),
            settings.pipeline,
            clock,
            observer,
            breaker,
            on_held,
            self._ends,
            pace.seconds,
        )
        self._health = Health((self._group,), settings, clock, metrics)
        self._broker = IntakeBroker(settings, (self._group,), metrics.registry)
        self._sick = 0

    async def __aenter__(self) -> Self:
        """Joins the group and begins to work."""
        async with AsyncExitStack() as opening:
            self._admin = await opening.enter_async_context(opened(make_admin(self._settings.kafka)))
            # Before it is started: what is interrupted half-way is closed as well.
            opening.push_async_callback(self._broker.stop)
            opening.push_async_callback(self._group.stop, self._settings.pipeline.drain_seconds)
            await self._broker.start()
            opening.push_async_callback(self._health.stop)
            await self._health.start()
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Finishes and commits what is in work within the drain's budget, and leaves the group."""
        await self._open.aclose()

    async def standing(self) -> GroupProgress | None:
        """How far the group has come; None where the cluster does not tell now.

        Raises:
            ReplayTroubleError: This process can't go on; another one can.
        """
        verdict = self._health.alive()
        self._sick = 0 if verdict.well else self._sick + 1
        if self._sick >= _WEDGED_LOOKS:
            raise ReplayTroubleError(f"{'; '.join(verdict.problems)}; nothing is lost, resume it")
        with contextlib.suppress(KafkaError, OSError):
            return GroupProgress.of((await read_groups(self._admin, [self.group_name]))[self.group_name], self._ends)
        return None

    async def deleted(self) -> list[OffsetRange]:
        """What of the ranges was deleted since this was last asked, before it could be read here."""
        return await self._group.deleted(self._ends)

    @property
    def own_remaining(self) -> int:
        """Offsets left in the partitions that this process holds."""
        held = self._group.partitions
        return sum(
            max(0, self._ends[place] - (partition.committed or 0))
            for place, partition in held.items()
            if place in self._ends
        )

    @property
    def held_up(self) -> str:
        """Why nothing goes on although there is work; "" where it does."""
        seconds, cause = self._group.kept_waiting
        if seconds > 0:
            return f"waits for what is down ({cause})"
        consumer = self._group.consumer
        for place, partition in self._group.partitions.items():
            known = consumer is not None and place in consumer.assignment()
            stable = consumer.last_stable_offset(place) if consumer is not None and known else None
            if stable is not None and 0 <= stable <= partition.position() < self._ends.get(place, 0):
                return f"waits for a transaction that is open on {place.topic}"
        return ""


async def standing_of(
    settings: Settings, subscription: Subscription, ranges: Sequence[OffsetRange]
) -> GroupProgress | None:
    """How far a plan's group has come, seen from outside; None where the cluster does not tell now.

    Raises:
        KafkaError: The cluster can't be asked.
    """
    name = group_of(settings.kafka, subscription)
    async with opened(make_admin(settings.kafka)) as admin:
        return GroupProgress.of((await read_groups(admin, [name]))[name], ends_of(settings, subscription.topic, ranges))


def ends_of(settings: Settings, topic: str, ranges: Sequence[OffsetRange]) -> dict[TopicPartition, int]:
    """The ends of ranges by partition, as the cluster names them."""
    return {TopicPartition(settings.kafka.topic_prefix + topic, its.partition): its.end for its in ranges}


def starts_of(settings: Settings, subscription: Subscription, ranges: Sequence[OffsetRange]) -> Starts:
    """Where a group of a plan begins: what the ledger is told together with the news that it has begun."""
    name = settings.kafka.topic_prefix + subscription.topic
    return Starts(
        group_of(settings.kafka, subscription), {TopicPartition(name, its.partition): its.start for its in ranges}
    )


async def await_start(
    settings: Settings, subscription: Subscription, ranges: Sequence[OffsetRange], clock: Clock
) -> None:
    """Waits until the offsets of a group that has begun can be read, a moment after the ledger says that it has.

    Raises:
        ReplayTroubleError: The cluster does not know any more how far it has come.
        KafkaError: The cluster can't be reached.
    """
    name, needed = group_of(settings.kafka, subscription), ends_of(settings, subscription.topic, ranges).keys()
    until = clock.monotonic() + _START_SECONDS
    async with opened(make_admin(settings.kafka)) as admin:
        while not needed <= (await read_groups(admin, [name]))[name].offsets.keys():
            if clock.monotonic() > until:
                raise ReplayTroubleError(
                    "the cluster has forgotten how far the plan has come (offsets.retention.minutes); drop it and "
                    "begin anew"
                )
            await clock.sleep(_START_LOOK_SECONDS)


async def fence(settings: Settings, subscription: Subscription, ranges: Sequence[OffsetRange]) -> None:
    """Keeps processes that a group has lost, such as one that was stopped and goes on, from ever committing again.

    Raises:
        KafkaError: The cluster can't be reached.
    """
    group, deadline = group_of(settings.kafka, subscription), settings.kafka.transaction_timeout_seconds

    async def one(place: TopicPartition) -> None:
        own_id = transactional_id(group, place)
        writer = RecordWriter(lambda: make_producer(settings.kafka, own_id, "assay-replay"), deadline)
        try:
            await writer.start()
        except TimeoutError:
            raise KafkaTimeoutError(f"the cluster did not answer within {deadline:g} s") from None
        finally:
            await writer.stop()

    await asyncio.gather(*(one(place) for place in ends_of(settings, subscription.topic, ranges)))
