"""One process's work on one plan: its newest state, changes of that state, and the progress that people see."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from aiokafka.errors import KafkaError

from schemas.replays import ReplayPlan, ReplayState
from streams.kafka.topic_table import NO_OFFSETS, GroupOffsets
from streams.replay.plan import ReplayError, ReplayTroubleError
from streams.replay.plan_store import PlanStore
from streams.replay.transitions import moved
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics

LOOK_SECONDS = 0.5
"""Between two looks at the progress of a consumer group."""
_LOOKS_PER_REFRESH = 3
"""An operator may have cancelled or dropped the plan, so its state is read every so many looks."""


@dataclass(slots=True)
class ReplayProgress:
    """How far a plan has come; counts of records are of this process."""

    plan: str
    handler: str = ""
    total: int = 0
    remaining: int = 0
    replayed: int = 0
    passed_over: int = 0
    dead: int = 0
    deleted: int = 0
    spent_usd: float = 0.0
    members: int = 0
    note: str = ""
    """Why the work waits; "" while it doesn't."""


def _no_report(_: ReplayProgress) -> None:
    """Reports nothing."""


@dataclass(slots=True)
class PlanSession:
    """What the work on a plan needs, and the plan's state in the store.

    Attributes:
        settings: The configuration that the handlers decide under.
        store: The open store.
        name: The plan's name.
        clock: Time.
        metrics: Metrics of this process.
        stop: If set, the work ends after the records in flight.
        report: Called about twice a second.
        run: The plan's run. Once it is set, changes of another plan with the same name are refused.
        progress: What is reported.
    """

    settings: Settings
    store: PlanStore
    name: str
    clock: Clock
    metrics: Metrics
    stop: asyncio.Event
    report: Callable[[ReplayProgress], None] = _no_report
    run: str = ""
    progress: ReplayProgress = field(init=False)
    _looks: int = 0

    def __post_init__(self) -> None:
        """Starts without progress."""
        self.progress = ReplayProgress(self.name)

    async def change(
        self, transition: Callable[[ReplayPlan], ReplayPlan | None], starts: GroupOffsets = NO_OFFSETS
    ) -> ReplayPlan:
        """Applies a transition to the newest state, and returns the state after it; otherwise as ``PlanStore.change``.

        Raises:
            ReplayError: There is no such plan, another plan has its name, or the transition refuses the state.
            KafkaError: The cluster can't be reached.
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
