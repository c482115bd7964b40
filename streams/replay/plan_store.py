"""Stores the plans of replays on the compacted topic ``replays.v1``, and has one process's session with a plan.

Several processes may work on one plan while an operator cancels it. ``streams.replay.plan`` has the changes,
which can be repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from aiokafka.errors import KafkaError

from schemas.event import Envelope, Run, derive_id
from schemas.replays import ReplayPlan, ReplayState
from streams.kafka.topic_table import NO_OFFSETS, GroupOffsets, TopicTable
from streams.replay.plan import ReplayError, ReplayTroubleError, moved
from streams.replay.processor import ReplayProgress
from streams.runtime.backoff import Chance
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import REPLAYS

LOOK_SECONDS = 0.5  # between two looks at the progress of a consumer group
_LOOKS_PER_REFRESH = 3  # an operator may have cancelled or dropped the plan, so its state is read every so many looks

Transition = Callable[[ReplayPlan | None], ReplayPlan | None]


class PlanStore(TopicTable[ReplayPlan]):
    """All plans, open for reading and writing: ``async with``."""

    def __init__(self, settings: Settings, clock: Clock, chance: Chance = random.random) -> None:
        super().__init__(settings.kafka, REPLAYS, "assay-replay", clock, chance)

    async def __aenter__(self) -> Self:
        """Opens the store and reads all plans: none without the topic."""
        try:
            await self.refresh()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def plans(self) -> dict[str, ReplayPlan]:
        return self.rows

    async def change(self, name: str, transition: Transition, starts: GroupOffsets = NO_OFFSETS) -> ReplayPlan | None:
        """Changes the newest state of a plan as ``compare_and_set``, with ``starts`` as its offsets.

        Raises ReplayError if the transition refuses the newest state, or that can't be read.
        """

        def timed(newest: ReplayPlan | None) -> ReplayPlan | None:
            if name in self.unreadable:
                raise ReplayTroubleError(f"this version of Assay can't read the newest state of the plan {name}")
            plan = transition(newest)
            return None if plan is None else plan.model_copy(update={"updated_at": self._clock.now()})

        own_id = f"{self._kafka.topic_prefix}assay.replays.{name}"
        return await self.compare_and_set(name, timed, _envelope, own_id, starts)


def _envelope(plan: ReplayPlan) -> Envelope:
    return Envelope(
        id=derive_id("replay", plan.run, plan.state, plan.stage, plan.updated_at.isoformat()),
        source="assay/replay",
        time=plan.updated_at,
        correlation_id=plan.run,
        run=Run(plan.run, plan.created_at),
    )


@dataclass(slots=True)
class PlanSession:
    """What the work on a plan needs, and the plan's state in the store."""

    settings: Settings
    store: PlanStore
    name: str
    clock: Clock
    metrics: Metrics
    stop: asyncio.Event  # if set, the work ends after the records in flight
    report: Callable[[ReplayProgress], None] = lambda _: None  # called about twice a second
    run: str = ""  # The plan's run. Once it is set, changes of another plan with the same name are refused.
    progress: ReplayProgress = field(default_factory=ReplayProgress, init=False)
    _looks: int = 0

    async def change(
        self, transition: Callable[[ReplayPlan], ReplayPlan | None], starts: GroupOffsets = NO_OFFSETS
    ) -> ReplayPlan:
        """Applies a transition to the newest state, and returns the state after it; otherwise as ``PlanStore.change``.

        Raises ReplayError if there is no such plan, another plan has its name, or the transition refuses the state.
        """

        def checked(newest: ReplayPlan | None) -> ReplayPlan | None:
            if newest is None:
                raise ReplayError(f"there is no plan {self.name!r}; `assay replay list` shows those there are")
            if self.run and newest.run != self.run:
                raise ReplayTroubleError(f"the plan {self.name} was dropped, and another one has its name now")
            return transition(newest)

        return await self.store.change(self.name, checked, starts) or self.store.plans[self.name]

    async def is_ours(self) -> bool:
        """Whether the plan still exists. Raises KafkaError."""
        newest = (await self.store.refresh())[self.name]
        return newest.run == self.run and newest.state is not ReplayState.DROPPED

    async def newest(self, plan: ReplayPlan) -> ReplayPlan:
        """The plan's newest state that can be read now: dropped if another plan has its name."""
        with contextlib.suppress(KafkaError, OSError):
            await self.store.refresh()
        newest = self.store.plans[self.name]
        return newest if newest.run == plan.run else moved(plan, ReplayState.DROPPED)

    async def next_look(self, plan: ReplayPlan) -> ReplayPlan:
        """Waits until the next look, or until the work is stopped. Returns the plan, at some looks its newest state."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self.stop.wait()
        self._looks += 1
        return plan if self._looks % _LOOKS_PER_REFRESH else await self.newest(plan)
