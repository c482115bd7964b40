"""One consumer group of a plan, which reads ranges of a topic to their ends through the pipeline, and may be killed.

In go a subscription, its ranges and the work on each record; the pipeline commits each result together with the offset,
so whoever goes on with the group goes on behind the last result. How far it has come is read from the group itself,
which also knows of other processes that share it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from aiokafka.structs import OffsetAndMetadata

from schemas.replays import OffsetRange
from streams.app import stages
from streams.clock import Clock
from streams.kafka import connection, group_of, make_admin
from streams.pipeline.breaker import Breaker
from streams.pipeline.group import ConsumerGroup
from streams.pipeline.health import Health
from streams.pipeline.intake import IntakeBroker
from streams.pipeline.observer import Observer
from streams.pipeline.subscription import Subscription
from streams.pipeline.work import RecordWork
from streams.replay.pace import Pace
from streams.replay.plan import ReplayError
from streams.settings import Settings
from streams.telemetry.group_state import GroupState, read_groups
from streams.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

_WEDGED_LOOKS = 20
"""Looks in a row at which it is not well after which it is given up."""
_TAKEN = (CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)
"""What a broker answers to a plain commit for a group that has members: they have seen to its offsets."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a group has come: offsets left in its ranges, and processes that are in it."""

    remaining: int
    members: int


class Reading:
    """This process's part of a plan's group, while the block runs: ``async with``."""

    def __init__(
        self,
        settings: Settings,
        subscription: Subscription,
        ranges: Sequence[OffsetRange],
        work: RecordWork,
        pace: Pace,
        clock: Clock,
        metrics: Metrics,
        breaker: Breaker,
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
            shares: Told which partitions are here, where models have limits (``streams.llm.shares``).
        """
        self.group_name = group_of(settings.kafka, subscription)
        self._settings = settings
        self._clock = clock
        self._ends = ends_of(settings, subscription.topic, ranges)
        self._admin: Any = None
        handler = subscription.handler
        observer = Observer(metrics, handler.name, "replay")

        def on_held(its: Subscription, held: int, of: int) -> None:
            pace.told(held, of)
            if shares is not None:
                shares.told(handler.name, its.topic, held, of)

        self._group = ConsumerGroup(
            subscription,
            work,
            # Whatever live traffic does: nobody could tell afterwards what a replay has done twice.
            stages(settings.model_copy(update={"delivery": "exactly_once"}), subscription),
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
        self._admin = make_admin(self._settings.kafka)
        await self._admin.start()
        await self._broker.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Finishes and commits what is in work within the drain's budget, and leaves the group."""
        try:
            await self._group.stop(self._settings.pipeline.drain_seconds)
        finally:
            await self._broker.stop()
            await self._admin.close()

    async def standing(self) -> Standing | None:
        """How far the group has come; None where the cluster does not answer now.

        Raises:
            ReplayError: This process can't go on; another one can.
        """
        self._group.tick()
        verdict = self._health.alive()
        self._sick = 0 if verdict.well else self._sick + 1
        if self._sick >= _WEDGED_LOOKS:
            raise ReplayError(f"{'; '.join(verdict.problems)}; nothing is lost, resume it")
        with contextlib.suppress(KafkaError, OSError):
            return _standing((await read_groups(self._admin, [self.group_name]))[self.group_name], self._ends)
        return None

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
        return f"waits for what is down ({cause})" if seconds > 0 else ""


async def standing_of(settings: Settings, subscription: Subscription, ranges: Sequence[OffsetRange]) -> Standing:
    """How far a plan's group has come, seen from outside.

    Raises:
        KafkaError: The cluster can't be asked.
    """
    name = group_of(settings.kafka, subscription)
    admin = make_admin(settings.kafka)
    await admin.start()
    try:
        return _standing((await read_groups(admin, [name]))[name], ends_of(settings, subscription.topic, ranges))
    finally:
        await admin.close()


def ends_of(settings: Settings, topic: str, ranges: Sequence[OffsetRange]) -> dict[TopicPartition, int]:
    """The ends of ranges by partition, as the cluster names them."""
    return {TopicPartition(settings.kafka.topic_prefix + topic, its.partition): its.end for its in ranges}


async def set_to_start(
    settings: Settings, subscription: Subscription, ranges: Sequence[OffsetRange], *, anew: bool
) -> None:
    """Sets a plan's group to where its ranges start, before anybody is in it.

    Args:
        settings: Where Kafka is.
        subscription: The group and its topic.
        ranges: One for each partition.
        anew: The group has not begun; offsets that it has are those of an earlier plan of that name.

    Raises:
        ReplayError: It has begun, and the cluster does not know any more how far it has come.
        KafkaError: The cluster can't be reached.
    """
    name = settings.kafka.topic_prefix + subscription.topic
    starts = {TopicPartition(name, its.partition): its.start for its in ranges}
    async with AIOKafkaConsumer(
        **connection(settings.kafka),
        group_id=group_of(settings.kafka, subscription),
        client_id="assay-replay",
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign(list(starts))
        consumer.pause(*starts)
        if anew:
            with contextlib.suppress(*_TAKEN):
                await consumer.commit({place: OffsetAndMetadata(start, "") for place, start in starts.items()})
        committed = await asyncio.gather(*(consumer.committed(place) for place in starts))
    if any(offset is None for offset in committed):
        raise ReplayError(
            "the cluster has forgotten how far the plan has come (offsets.retention.minutes); drop it and begin anew"
        )


def _standing(state: GroupState, ends: Mapping[TopicPartition, int]) -> Standing:
    return Standing(sum(max(0, end - state.offsets.get(place, 0)) for place, end in ends.items()), state.members)
