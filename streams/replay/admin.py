"""The commands on existing plans: their status, cancel, and drop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass

from schemas.replays import ReplayPlan, ReplayState
from streams.clock import Clock
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import read_groups
from streams.llm.journal import JournalError
from streams.replay.admission import asks_models
from streams.replay.budget import spent_by
from streams.replay.group import ends_of, fence
from streams.replay.ledger import Ledger, moved
from streams.replay.plan import ReplayError, handler_of, promotion_group, run_group, shadow_topic
from streams.replay.processor import ReplaySubscription
from streams.replay.ranges import count, resolve_ranges
from streams.replay.shadow import drop_shadow
from streams.settings import Settings

_LOOK_SECONDS = 0.5
_LEAVE_LOOKS = 60
"""Looks for which a process may take to notice that its plan is cancelled, and to finish what it has in hand."""
_OVER = (ReplayState.FINISHED, ReplayState.PROMOTING, ReplayState.PROMOTED, ReplayState.DROPPED)


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """How far a plan has come.

    Attributes:
        plan: As the ledger has it.
        total: Offsets of the present stage.
        remaining: Of these those that are not behind the plan.
        members: Processes that work on it now.
        spent_usd: What models have cost; None where the journal can't be read here.
    """

    plan: ReplayPlan
    total: int
    remaining: int
    members: int
    spent_usd: float | None


async def accounts(settings: Settings, plans: Iterable[ReplayPlan]) -> list[PlanStatus]:
    """How far plans have come, in their order.

    Raises:
        KafkaError: The cluster can't be asked.
    """
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
            total = count(stage.ranges)
            ends = ends_of(settings, stage.topic, stage.ranges)
            remaining = total
            if stage.begun:
                starts = {place: its.start for place, its in zip(ends, stage.ranges, strict=True)}
                remaining = sum(max(0, end - state.offsets.get(place, starts[place])) for place, end in ends.items())
        found.append(PlanStatus(plan, total, remaining, members, await _spent(settings, plan)))
    return found


async def cancel(settings: Settings, ledger: Ledger, name: str, clock: Clock) -> PlanStatus:
    """Ends a plan and waits until its processes have noticed. Returns what is left of it.

    Raises:
        ReplayError: There is no such plan, or it is over.
        KafkaError: The cluster can't be reached.
    """

    def cancelled(newest: ReplayPlan | None) -> ReplayPlan | None:
        plan = known(newest, name)
        if plan.state in _OVER:
            raise ReplayError(f"the plan {name} is {plan.state}; there is nothing to cancel")
        return None if plan.state is ReplayState.CANCELLED else moved(plan, ReplayState.CANCELLED)

    plan = known(await ledger.change(name, cancelled), name)
    for _ in range(_LEAVE_LOOKS):
        [account] = await accounts(settings, [plan])
        if not account.members:
            break
        await clock.sleep(_LOOK_SECONDS)
    return account


async def drop(settings: Settings, ledger: Ledger, name: str, *, force: bool = False) -> list[str]:
    """Deletes a plan's topics and collections, and takes it out of the ledger. Returns the names of what is gone.

    Args:
        settings: Where Kafka and the index are.
        ledger: Open.
        name: The plan's.
        force: Also one of which only a part is promoted.

    Raises:
        ReplayError: There is no such plan, somebody works on it, or only a part of it is promoted.
        KafkaError: The cluster can't be reached.
    """
    plan = known(ledger.plans.get(name), name)
    [account] = await accounts(settings, [plan])
    if account.members:
        ending = f"`assay replay cancel {name}` first" if plan.state not in _OVER else "let them finish, or stop them"
        raise ReplayError(f"{account.members} work on the plan {name}; {ending}")

    def dropped(newest: ReplayPlan | None) -> ReplayPlan:
        last = known(newest, name)
        if last.state is ReplayState.PROMOTING and not force:
            raise ReplayError(
                f"a part of the plan {name} is promoted: `assay replay promote {name}` does the rest, "
                f"`assay replay drop {name} --force` leaves it at that"
            )
        return moved(last, ReplayState.DROPPED)

    # First the word, then the fence, then the topics: a process that was stopped and goes on can't commit any more, and
    # where it begins anew it reads that its plan is gone.
    plan = await ledger.change(name, dropped) or plan
    await _fence(settings, plan)
    return await drop_shadow(settings, plan)


def known(plan: ReplayPlan | None, name: str) -> ReplayPlan:
    """The plan.

    Raises:
        ReplayError: There is none of that name.
    """
    if plan is None or plan.state is ReplayState.DROPPED:
        raise ReplayError(f"there is no plan {name!r}; `assay replay list` shows those there are")
    return plan


def _groups(plan: ReplayPlan) -> list[str]:
    """The groups of those who may work on a plan now: of its present stage, or of its promotion."""
    if plan.stage < len(plan.stages):
        return [run_group(plan.stages[plan.stage].handler, plan)]
    return [promotion_group(stage.handler, plan, live) for stage in plan.stages for live in stage.promoting]


async def _fence(settings: Settings, plan: ReplayPlan) -> None:
    for stage in plan.stages:
        group = run_group(stage.handler, plan)
        if stage.begun:
            reads = ReplaySubscription(handler=handler_of(stage), reads=stage.topic, own_group=group)
            await fence(settings, reads, stage.ranges)
        for live in stage.promoting:
            with contextlib.suppress(ReplayError):
                topic, group = shadow_topic(live, plan.plan), promotion_group(stage.handler, plan, live)
                ranges = await resolve_ranges(settings, topic, whole=True)
                await fence(settings, ReplaySubscription(handler_of(stage), reads=topic, own_group=group), ranges)


async def _spent(settings: Settings, plan: ReplayPlan) -> float | None:
    if not asks_models(plan):
        return 0.0
    with contextlib.suppress(JournalError):
        return await spent_by(settings, plan.run, time.time())
    return None
