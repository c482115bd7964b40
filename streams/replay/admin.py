"""The commands on existing plans: their status, cancel, and drop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from schemas.replays import ReplayPlan
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import read_groups
from streams.llm.journal import JournalError
from streams.replay.admission import asks_models
from streams.replay.budget import spent_by
from streams.replay.group import PlanGroup, ends_of
from streams.replay.plan import ReplayError, own_topics
from streams.replay.plan_store import PlanStore
from streams.replay.ranges import count
from streams.replay.shadow import drop_shadow
from streams.replay.transitions import UNFINISHED, cancelled, dropped, existing
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.topology.names import run_group

_LOOK_SECONDS = 0.5
_LEAVE_LOOKS = 60
"""A process gets so many looks to notice that its plan is cancelled and to finish its records in flight."""


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """How far a plan has come.

    Attributes:
        plan: Its newest state.
        total: Offsets of the present stage.
        remaining: Those of them that are not processed yet.
        members: Processes that work on it now.
        spent_usd: What models have cost; None if the journal can't be read here.
    """

    plan: ReplayPlan
    total: int
    remaining: int
    members: int
    spent_usd: float | None

    def to_wire(self) -> dict[str, Any]:
        """The status as plain JSON types."""
        plan = self.plan
        return {
            "plan": plan.plan,
            "run": plan.run,
            "state": plan.state,
            "detail": plan.detail,
            "handlers": [stage.handler for stage in plan.stages],
            "stage": plan.stage,
            "target": plan.target,
            "total": self.total,
            "remaining": self.remaining,
            "deleted": sum(count(stage.deleted) for stage in plan.stages),
            "processes": self.members,
            "cost_usd": self.spent_usd,
            "max_cost_usd": plan.max_cost_usd,
            "created_at": plan.created_at.isoformat(),
            "updated_at": plan.updated_at.isoformat(),
            "topics": own_topics(plan),
        }


async def plan_status(settings: Settings, plans: Iterable[ReplayPlan]) -> list[PlanStatus]:
    """How far plans have come, in their order. Raises KafkaError."""
    chosen = list(plans)
    groups = {plan.plan: [settings.kafka.topic_prefix + group for group in _groups(plan)] for plan in chosen}
    async with opened(make_admin(settings.kafka)) as admin:
        states = await read_groups(admin, sorted({name for names in groups.values() for name in names}))
    found = []
    for plan in chosen:
        total = remaining = 0
        members = sum(states[group].members for group in groups[plan.plan])
        if plan.stage < len(plan.stages):
            stage, state = plan.stages[plan.stage], states[groups[plan.plan][0]]
            total = remaining = count(stage.ranges)
            if stage.begun:
                ends = ends_of(settings.kafka, stage.topic, stage.ranges)
                starts = {place: its.start for place, its in zip(ends, stage.ranges, strict=True)}
                remaining = sum(max(0, end - state.offsets.get(place, starts[place])) for place, end in ends.items())
        found.append(PlanStatus(plan, total, remaining, members, await _spent(settings, plan)))
    return found


async def cancel(settings: Settings, store: PlanStore, name: str, clock: Clock) -> PlanStatus:
    """Cancels a plan and waits until its processes have noticed. Returns its status then.

    Raises:
        ReplayError: There is no such plan, or it is over.
        KafkaError: The cluster can't be reached.
    """
    plan = existing(await store.change(name, lambda newest: cancelled(newest, name)), name)
    for _ in range(_LEAVE_LOOKS):
        [status] = await plan_status(settings, [plan])
        if not status.members:
            break
        await clock.sleep(_LOOK_SECONDS)
    return status


async def drop(settings: Settings, store: PlanStore, name: str) -> list[str]:
    """Deletes a plan's topics, and the plan. Returns the names of what was deleted.

    1. Write that the plan is dropped. A process that starts from now on reads that.
    2. Fence the plan's producers. A process that was suspended can't commit any more.
    3. Delete the topics.

    Raises:
        ReplayError: There is no such plan, or processes work on it.
        KafkaError: The cluster can't be reached.
    """
    plan = existing(store.plans.get(name), name)
    [status] = await plan_status(settings, [plan])
    if status.members:
        ending = f"`assay replay cancel {name}` first" if plan.state in UNFINISHED else "let them finish, or stop them"
        raise ReplayError(f"{status.members} work on the plan {name}; {ending}")
    plan = await store.change(name, lambda newest: dropped(newest, name)) or plan
    await _fence(settings, plan)
    return await drop_shadow(settings, plan)


def _groups(plan: ReplayPlan) -> list[str]:
    """The groups in which processes may work on a plan now."""
    return [run_group(stage.handler, plan) for stage in plan.stages[plan.stage :]]


async def _fence(settings: Settings, plan: ReplayPlan) -> None:
    for stage in plan.stages:
        if stage.begun:
            await PlanGroup.of_stage(settings.kafka, plan, stage).fence()


async def _spent(settings: Settings, plan: ReplayPlan) -> float | None:
    if not asks_models(plan):
        return 0.0
    with contextlib.suppress(JournalError):
        return await spent_by(settings, plan.run, time.time())
    return None
