"""What an operator does with plans beside carrying them out: see how far they are, cancel them, drop what they made."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass

from schemas.replays import ReplayPlan, ReplayState
from streams.clock import Clock
from streams.kafka import make_admin
from streams.llm.store import StoreError
from streams.replay.cost import spent_by
from streams.replay.ledger import Ledger, moved
from streams.replay.plan import ReplayError, replay_group
from streams.replay.ranges import count
from streams.replay.reading import ends_of
from streams.replay.shadow import drop_shadow
from streams.replay.terms import asks_models
from streams.settings import Settings
from streams.telemetry.group_state import read_groups

_LOOK_SECONDS = 0.5
_LEAVE_LOOKS = 60
"""Looks for which a process may take to notice that its plan is cancelled, and to finish what it has in hand."""
_OVER = (ReplayState.FINISHED, ReplayState.PROMOTING, ReplayState.PROMOTED, ReplayState.DROPPED)


@dataclass(frozen=True, slots=True)
class Account:
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


async def accounts(settings: Settings, plans: Iterable[ReplayPlan]) -> list[Account]:
    """How far plans have come, in their order.

    Raises:
        KafkaError: The cluster can't be asked.
    """
    chosen = list(plans)
    groups = {plan.plan: _group(settings, plan) for plan in chosen}
    admin = make_admin(settings.kafka)
    await admin.start()
    try:
        states = await read_groups(admin, sorted({group for group in groups.values() if group}))
    finally:
        await admin.close()
    found = []
    for plan in chosen:
        total = remaining = members = 0
        if plan.stage < len(plan.stages):
            stage, state = plan.stages[plan.stage], states[groups[plan.plan]]
            total, members = count(stage.ranges), state.members
            ends = ends_of(settings, stage.topic, stage.ranges)
            remaining = total
            if stage.begun:
                remaining = sum(max(0, end - state.offsets.get(place, 0)) for place, end in ends.items())
        found.append(Account(plan, total, remaining, members, await _spent(settings, plan)))
    return found


async def cancel(settings: Settings, ledger: Ledger, name: str, clock: Clock) -> Account:
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


async def drop(settings: Settings, ledger: Ledger, name: str) -> list[str]:
    """Deletes a plan's topics and collections, and takes it out of the ledger. Returns the names of what is gone.

    Raises:
        ReplayError: There is no such plan, or somebody works on it.
        KafkaError: The cluster can't be reached.
    """
    plan = known(ledger.plans.get(name), name)
    [account] = await accounts(settings, [plan])
    if account.members:
        raise ReplayError(f"{account.members} work on the plan {name}; `assay replay cancel {name}` first")
    gone = await drop_shadow(settings, plan)
    await ledger.change(name, lambda newest: moved(known(newest, name), ReplayState.DROPPED))
    return gone


def known(plan: ReplayPlan | None, name: str) -> ReplayPlan:
    """The plan.

    Raises:
        ReplayError: There is none of that name.
    """
    if plan is None or plan.state is ReplayState.DROPPED:
        raise ReplayError(f"there is no plan {name!r}; `assay replay list` shows those there are")
    return plan


def _group(settings: Settings, plan: ReplayPlan) -> str:
    if plan.stage >= len(plan.stages):
        return ""
    return settings.kafka.topic_prefix + replay_group(plan.stages[plan.stage].handler, plan.plan)


async def _spent(settings: Settings, plan: ReplayPlan) -> float | None:
    if not asks_models(plan):
        return 0.0
    with contextlib.suppress(StoreError):
        return await spent_by(settings, plan.run, time.time())
    return None
