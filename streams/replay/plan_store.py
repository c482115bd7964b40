"""Stores the plans of replays on the compacted topic ``replays.v1``.

Several processes may work on one plan while an operator cancels it. ``streams.replay.transitions`` has the changes,
which can be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Self

from schemas.event import Envelope, derive_id
from schemas.replays import ReplayPlan
from streams.kafka.topic_table import NO_OFFSETS, GroupOffsets, TopicTable
from streams.replay.plan import ReplayTroubleError
from streams.runtime.backoff import Chance
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.topology import REPLAYS

Transition = Callable[[ReplayPlan | None], ReplayPlan | None]
"""Returns the next state of a plan, or None to leave it unchanged. The argument is None if the plan does not exist."""


class NoPlanTopicError(ReplayTroubleError):
    """The cluster has no topic for plans, so there are no plans."""


class PlanStore(TopicTable[ReplayPlan]):
    """All plans, open for reading and writing: ``async with``."""

    def __init__(self, settings: Settings, clock: Clock, chance: Chance = random.random) -> None:
        """Prepares the store; nothing is opened yet."""
        super().__init__(settings.kafka, REPLAYS, "assay-replay", clock, chance)

    async def __aenter__(self) -> Self:
        """Opens the store and reads all plans.

        Raises:
            NoPlanTopicError: There is no topic for plans.
            KafkaError: The cluster can't be reached.
        """
        try:
            await self.refresh()
        except BaseException:
            await self.aclose()
            raise
        if self._reader is None:
            name = self._kafka.topic_prefix + REPLAYS.name
            raise NoPlanTopicError(f"there is no topic {name} on the cluster; `assay topics create` makes it")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the reader."""
        await self.aclose()

    @property
    def plans(self) -> dict[str, ReplayPlan]:
        """The newest state of each plan, by name, as of the last ``refresh``."""
        return self.rows

    async def change(self, name: str, transition: Transition, starts: GroupOffsets = NO_OFFSETS) -> ReplayPlan | None:
        """Applies a transition to a plan's newest state and writes the result. Returns the newest state after that.

        The transition is called again if another process has written meanwhile. ``starts`` are committed in the same
        transaction, if there is a change.

        Raises:
            ReplayError: The transition refuses the newest state.
            KafkaError: The cluster failed; nothing was written, or all of it.
        """

        def timed(newest: ReplayPlan | None) -> ReplayPlan | None:
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
        run=plan.run,
    )
