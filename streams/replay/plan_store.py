"""Stores the plans of replays on the compacted topic ``replays.v1``.

Several processes may work on one plan while an operator cancels it. A change is therefore made from the newest state,
by one writer at a time: each plan has a transactional id whose newest owner fences the others, and a fenced writer
reads again. ``streams.replay.transitions`` has the changes, which can be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import structlog
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError, UnknownError
from aiokafka.structs import OffsetAndMetadata

from schemas.event import Envelope, derive_id
from schemas.outcome import Dead
from schemas.replays import ReplayPlan
from streams.kafka.clients import make_producer, make_reader, opened
from streams.kafka.log_reader import records_to_end
from streams.kafka.transactions import FENCED, RecordWriter
from streams.replay.plan import ReplayTroubleError
from streams.replay.ranges import has_topic
from streams.runtime.backoff import Chance, full_jitter
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.topology import REPLAYS
from streams.topology.codec import decode, encode

log = structlog.get_logger(__name__)

Transition = Callable[[ReplayPlan | None], ReplayPlan | None]
"""Returns the next state of a plan, or None to leave it unchanged. The argument is None if the plan does not exist."""
_FETCH_WAIT_MS = 50
"""Each read of the end of the topic waits for a fetch that finds nothing, so that one must be short."""
_FENCED_SECONDS = 60.0
"""For so long a change is repeated while other processes write the same plan."""
_PAUSE_SECONDS = 1.0
"""The longest pause before a change is repeated."""
_SETTLE_POLL_SECONDS = 0.05


class NoPlanTopicError(ReplayTroubleError):
    """The cluster has no topic for plans, so there are no plans."""


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """Offsets of a consumer group, committed together with a change; ``group`` has the prefix."""

    group: str
    offsets: dict[TopicPartition, int]


class PlanStore:
    """All plans, open for reading and writing: ``async with``."""

    def __init__(self, settings: Settings, clock: Clock, chance: Chance = random.random) -> None:
        """Prepares the store; nothing is opened yet."""
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._reader: Any = None
        self._uncommitted: Any = None
        self._open = AsyncExitStack()
        self._partitions: list[TopicPartition] = []
        self._reading = asyncio.Lock()
        self.plans: dict[str, ReplayPlan] = {}
        """The newest state of each plan, by name, as of the last ``refresh``."""

    async def __aenter__(self) -> Self:
        """Opens a reader of committed records, and one that also sees the end of open transactions.

        Raises:
            NoPlanTopicError: There is no topic for plans.
            KafkaError: The cluster can't be reached.
        """
        kafka = self._settings.kafka
        name = kafka.topic_prefix + REPLAYS.name
        if not await has_topic(self._settings, name):
            raise _no_topic(name)
        options: dict[str, Any] = {"client_id": "assay-replay", "fetch_wait_ms": _FETCH_WAIT_MS}
        async with AsyncExitStack() as opening:
            self._reader = await opening.enter_async_context(opened(make_reader(kafka, name, **options)))
            self._uncommitted = await opening.enter_async_context(
                opened(make_reader(kafka, name, uncommitted=True, **options))
            )
            numbers = sorted(self._reader.partitions_for_topic(name) or ())
            if not numbers:
                raise _no_topic(name)
            self._partitions = [TopicPartition(name, number) for number in numbers]
            await self.refresh()
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the readers."""
        await self._open.aclose()

    async def refresh(self) -> dict[str, ReplayPlan]:
        """Reads up to the present end, and returns the plans by name. Raises KafkaError."""
        async with self._reading:
            async for record in records_to_end(self._reader, self._partitions):
                self._add(record)
        return self.plans

    def _add(self, record: ConsumerRecord) -> None:
        plan = decode(REPLAYS, record.value, record.headers, None)
        if isinstance(plan, ReplayPlan):
            self.plans[plan.plan] = plan
        elif isinstance(plan, Dead):
            log.warning("a replay plan can't be decoded", offset=record.offset, error=plan.detail)

    async def change(self, name: str, transition: Transition, starts: StartOffsets | None = None) -> ReplayPlan | None:
        """Applies a transition to a plan's newest state and writes the result. Returns the newest state after that.

        The transition is called again if another process has written meanwhile. ``starts`` are committed in the same
        transaction, if there is a change.

        Raises:
            ReplayError: The transition refuses the newest state.
            KafkaError: The cluster failed; nothing was written, or all of it.
        """
        until = self._clock.monotonic() + _FENCED_SECONDS
        while True:
            # Without a change no producer is opened: it would fence other writers.
            before = (await self.refresh()).get(name)
            if transition(before) is None:
                return before
            try:
                return await self._write(name, transition, starts)
            except KafkaError as error:
                if not _is_fenced(error):
                    raise
                if self._clock.monotonic() >= until:
                    raise KafkaTimeoutError(_not_written(name, error)) from error
                log.info("the plan is not written yet", plan=name, error=repr(error))
                await self._clock.sleep(full_jitter(1, _PAUSE_SECONDS, _PAUSE_SECONDS, self._chance))

    async def _write(self, name: str, transition: Transition, starts: StartOffsets | None) -> ReplayPlan | None:
        kafka = self._settings.kafka
        deadline = kafka.transaction_timeout_seconds
        own_id = f"{kafka.topic_prefix}assay.replays.{name}"
        writer = RecordWriter(lambda: make_producer(kafka, own_id, "assay-replay"), deadline)
        try:
            await writer.start()
            # A transaction that a killed writer of another plan has left open ends when the broker aborts it.
            async with asyncio.timeout(2 * deadline):
                await self._settle()
                await self.refresh()
            before = self.plans.get(name)
            after = transition(before)
            if after is None:
                return before
            now = self._clock.now()
            after = after.model_copy(update={"updated_at": now})
            offsets = {} if starts is None else starts.offsets
            await writer.write(
                kafka.topic_prefix,
                [encode(REPLAYS, after, _envelope(after, now))],
                "" if starts is None else starts.group,
                {partition: OffsetAndMetadata(offset, "") for partition, offset in offsets.items()},
            )
        except TimeoutError:
            raise KafkaTimeoutError(f"the topic of plans did not answer within {deadline:g} s") from None
        finally:
            await writer.stop()
        self.plans[name] = after
        # A broker confirms a commit before readers see it, but the next process that opens the store must see it.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                await self._settle()
        await self.refresh()
        return self.plans[name]

    async def _settle(self) -> None:
        """Waits until every record written so far is committed or aborted, and so can be read."""
        ends = await self._uncommitted.end_offsets(self._partitions)
        readable = await self._reader.end_offsets(self._partitions)
        while any(readable[partition] < ends[partition] for partition in self._partitions):
            await self._clock.sleep(_SETTLE_POLL_SECONDS)
            readable = await self._reader.end_offsets(self._partitions)


def _is_fenced(error: KafkaError) -> bool:
    """Whether another writer has the transactional id. A broker that fences during a commit answers UnknownError."""
    cause = error.__cause__ or error
    return isinstance(error, FENCED) or isinstance(cause, (*FENCED, UnknownError))


def _not_written(name: str, error: KafkaError) -> str:
    """The message after the last attempt. Constant fencing and a broker that always fails can't be told apart."""
    return (
        f"the plan {name} could not be written within {_FENCED_SECONDS:g} s ({error.__cause__ or error!r}): "
        "others keep writing about it, or the broker fails; try again, and see `assay doctor`"
    )


def _no_topic(topic: str) -> NoPlanTopicError:
    return NoPlanTopicError(f"there is no topic {topic} on the cluster; `assay topics create` makes it")


def _envelope(plan: ReplayPlan, now: datetime) -> Envelope:
    return Envelope(
        id=derive_id("replay", plan.run, plan.state, plan.stage, now.isoformat()),
        source="assay/replay",
        time=now,
        correlation_id=plan.run,
        run=plan.run,
    )
