"""The ledger of replays on the compacted topic ``replays.v1``, and the state transitions of a plan.

Several processes may work on one plan while an operator cancels it. A change is therefore made from the newest state,
by one writer at a time: each plan has a transactional id whose newest owner fences the others, and a fenced writer
reads again. A transition is a pure function of the newest state and returns None if there is nothing to change, so it
can be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError, UnknownError
from aiokafka.structs import OffsetAndMetadata

from schemas.event import Envelope, derive_id
from schemas.outcome import Dead
from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.clock import Clock
from streams.codec import decode, encode
from streams.kafka.clients import make_producer, make_reader, opened
from streams.kafka.transactions import FENCED, RecordWriter
from streams.replay.plan import ReplayError, ReplayTroubleError
from streams.replay.ranges import has_topic, merged
from streams.settings import Settings
from streams.topology import REPLAYS

log = structlog.get_logger(__name__)

Change = Callable[[ReplayPlan | None], ReplayPlan | None]
"""Makes a plan's next state of its newest one, which is None where there is none; None leaves it as it is."""
_POLL_MS = 100
_FETCH_WAIT_MS = 50
"""The ledger is asked for its end again and again, and what is asked waits for a fetch that finds nothing."""
_FENCED_SECONDS = 60.0
"""For how long a change is tried again while others write about the same plan."""
_PAUSE_SECONDS = 1.0
"""Before it is tried again, at most."""


class NoLedgerError(ReplayTroubleError):
    """The cluster has no ledger, so there are no plans."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Offsets that a consumer group gets together with a change.

    Attributes:
        group: With the prefix.
        offsets: Where it begins.
    """

    group: str
    offsets: dict[TopicPartition, int]


class Ledger:
    """The plans there are, open for reading and writing: ``async with``."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Prepares; nothing is opened yet."""
        self._settings = settings
        self._clock = clock
        self._reader: Any = None
        self._whole: Any = None
        self._open = AsyncExitStack()
        self._places: list[TopicPartition] = []
        self._reading = asyncio.Lock()
        self.plans: dict[str, ReplayPlan] = {}
        """The newest state of each plan, by name, as of the last ``refresh``."""

    async def __aenter__(self) -> Self:
        """Opens the readers: one for what is committed, one that knows of what is not yet.

        Raises:
            NoLedgerError: There is no ledger.
            KafkaError: The cluster can't be reached.
        """
        kafka = self._settings.kafka
        name = kafka.topic_prefix + REPLAYS.name
        if not await has_topic(self._settings, name):
            raise _no_ledger(name)
        options: dict[str, Any] = {"client_id": "assay-replay", "fetch_wait_ms": _FETCH_WAIT_MS}
        async with AsyncExitStack() as opening:
            self._reader = await opening.enter_async_context(opened(make_reader(kafka, name, **options)))
            self._whole = await opening.enter_async_context(
                opened(make_reader(kafka, name, uncommitted=True, **options))
            )
            self._places = self._find(name)
            await self.refresh()
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the readers."""
        await self._open.aclose()

    async def refresh(self) -> dict[str, ReplayPlan]:
        """Reads what is new, to the end as it is now. Returns the plans there are, by name.

        Raises:
            KafkaError: The cluster can't be reached.
        """
        async with self._reading:
            await self._read_on()
        return self.plans

    async def _read_on(self) -> None:
        ends = await self._reader.end_offsets(self._places)
        while any([await self._reader.position(place) < ends[place] for place in self._places]):
            for records in (await self._reader.getmany(timeout_ms=_POLL_MS)).values():
                for record in records:
                    plan = decode(REPLAYS, record.value, record.headers, None)
                    if isinstance(plan, ReplayPlan):
                        self.plans[plan.plan] = plan
                    elif isinstance(plan, Dead):
                        log.warning("an entry of the ledger can't be read", offset=record.offset, error=plan.detail)

    async def change(self, name: str, change: Change, starts: Starts | None = None) -> ReplayPlan | None:
        """Makes a plan's next state of its newest one and writes it. Returns the newest state after that.

        Args:
            name: The plan's.
            change: Asked once more where somebody else has written meanwhile.
            starts: Committed with the change, both or none; left where nothing is changed.

        Raises:
            ReplayError: The change refuses the newest state.
            KafkaError: The cluster failed; nothing was written, or all of it.
        """
        until = self._clock.monotonic() + _FENCED_SECONDS
        while True:
            # Who has nothing to write fences nobody.
            before = (await self.refresh()).get(name)
            if change(before) is None:
                return before
            try:
                return await self._write(name, change, starts)
            except KafkaError as error:
                if not _is_fenced(error):
                    raise
                if self._clock.monotonic() >= until:
                    raise KafkaTimeoutError(_not_written(name, error)) from error
                log.info("the plan is not written yet", plan=name, error=repr(error))
                await self._clock.sleep(random.uniform(0.0, _PAUSE_SECONDS))

    async def _write(self, name: str, change: Change, starts: Starts | None) -> ReplayPlan | None:
        kafka = self._settings.kafka
        deadline = kafka.transaction_timeout_seconds
        own_id = f"{kafka.topic_prefix}assay.replays.{name}"
        writer = RecordWriter(lambda: make_producer(kafka, own_id, "assay-replay"), deadline)
        try:
            await writer.start()
            # A transaction of another plan's writer that was killed stays open until the broker aborts it.
            async with asyncio.timeout(2 * deadline):
                await self._settle()
                await self.refresh()
            before = self.plans.get(name)
            after = change(before)
            if after is None:
                return before
            now = self._clock.now()
            after = after.model_copy(update={"updated_at": now})
            offsets = {} if starts is None else starts.offsets
            await writer.write(
                kafka.topic_prefix,
                [encode(REPLAYS, after, _envelope(after, now))],
                "" if starts is None else starts.group,
                {place: OffsetAndMetadata(offset, "") for place, offset in offsets.items()},
            )
        except TimeoutError:
            raise KafkaTimeoutError(f"the ledger did not answer within {deadline:g} s") from None
        finally:
            await writer.stop()
        self.plans[name] = after
        # A broker confirms a commit before readers see it, and whoever opens the ledger next has to.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                await self._settle()
        await self.refresh()
        return self.plans[name]

    async def _settle(self) -> None:
        """Waits until whatever stands in the ledger by now is committed or aborted, and so can be read."""
        ends = await self._whole.end_offsets(self._places)
        readable = await self._reader.end_offsets(self._places)
        while any(readable[place] < ends[place] for place in self._places):
            await self._clock.sleep(0.05)
            readable = await self._reader.end_offsets(self._places)

    def _find(self, topic: str) -> list[TopicPartition]:
        numbers = sorted(self._reader.partitions_for_topic(topic) or ())
        if not numbers:
            raise _no_ledger(topic)
        return [TopicPartition(topic, number) for number in numbers]


def _is_fenced(error: KafkaError) -> bool:
    """Whether another writer has come, or comes at this moment: a broker that fences who commits has no name for it."""
    cause = error.__cause__ or error
    return isinstance(error, FENCED) or isinstance(cause, (*FENCED, UnknownError))


def _not_written(name: str, error: KafkaError) -> str:
    """For whoever was fenced to the last, and for whoever has a broker that only ever fails: they look the same."""
    return (
        f"the plan {name} could not be written within {_FENCED_SECONDS:g} s ({error.__cause__ or error!r}): "
        "others keep writing about it, or the broker fails; try again, and see `assay doctor`"
    )


def _no_ledger(topic: str) -> NoLedgerError:
    return NoLedgerError(f"there is no topic {topic} on the cluster; `assay topics create` makes it")


def _envelope(plan: ReplayPlan, now: datetime) -> Envelope:
    return Envelope(
        id=derive_id("replay", plan.run, plan.state, plan.stage, now.isoformat()),
        type=REPLAYS.name,
        source="assay/replay",
        time=now,
        correlation_id=plan.run,
        run=plan.run,
    )


def moved(plan: ReplayPlan, state: ReplayState, detail: str = "") -> ReplayPlan:
    """The plan in another state."""
    return plan.model_copy(update={"state": state, "detail": detail})


WORKED_ON = (ReplayState.PLANNED, ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED)
"""States from which a plan can be carried out."""


def begun(newest: ReplayPlan, terms: Mapping[str, float], *, shared: bool) -> ReplayPlan | None:
    """The plan at work, on the terms that whoever begins has asked for; None where it is that already.

    Args:
        newest: The plan.
        terms: What is another from now on, by field.
        shared: This process has seen it unfinished: where it is finished now, others that share it were faster.

    Raises:
        ReplayError: It is over, or being promoted.
    """
    if newest.state is ReplayState.FINISHED and shared:
        return None
    if newest.state is ReplayState.PROMOTING:
        raise ReplayError(f"the plan {newest.plan} is being promoted; `assay replay promote {newest.plan}` goes on")
    if newest.state not in WORKED_ON:
        raise ReplayError(f"the plan {newest.plan} is {newest.state}; there is nothing left to do")
    new = {name: value for name, value in terms.items() if value != getattr(newest, name)}
    if newest.state is ReplayState.RUNNING:
        return newest.model_copy(update=new) if new else None
    return moved(newest.model_copy(update=new), ReplayState.RUNNING)


def has_left(plan: ReplayPlan, at: int) -> bool:
    """Whether others have finished that stage meanwhile, or somebody has ended the plan."""
    return plan.stage != at or plan.state is not ReplayState.RUNNING


def with_deleted(newest: ReplayPlan, at: int, found: list[OffsetRange]) -> ReplayPlan | None:
    """The plan with what was deleted of a stage's ranges; None where that is known already."""
    deleted = tuple(merged([*newest.stages[at].deleted, *found]))
    return None if deleted == newest.stages[at].deleted else _changed_stage(newest, at, deleted=deleted)


def with_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan | None:
    """The plan with its present stage changed; None where somebody has done that already, or it is another one now."""
    stage = newest.stages[at]
    if has_left(newest, at) or all(getattr(stage, name) for name in changes):
        return None
    return _changed_stage(newest, at, **changes)


def _changed_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan:
    stage = newest.stages[at]
    changed = stage.model_copy(update=changes)
    return newest.model_copy(update={"stages": (*newest.stages[:at], changed, *newest.stages[at + 1 :])})


def after_stage(newest: ReplayPlan, at: int) -> ReplayPlan | None:
    """The plan after a stage is done; None where somebody has said so already."""
    if newest.stage != at or newest.state not in WORKED_ON:
        return None
    last = at + 1 == len(newest.stages)
    state = ReplayState.FINISHED if last else newest.state
    if state is ReplayState.PAUSED:
        state = ReplayState.RUNNING
    return moved(newest.model_copy(update={"stage": at + 1}), state)
