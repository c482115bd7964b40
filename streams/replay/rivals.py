"""Whether another plan asks the same models now: two of them would take more than the part that replays have.

The plans of the ledger go in; nothing comes out, or the one line that says whom to wait for. A plan that stands as
running and that nobody works on, for its process was killed, is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.replays import ReplayPlan, ReplayState
from streams.kafka import make_admin, opened
from streams.replay.plan import ReplayError, handler_of, is_paid, run_group
from streams.settings import Settings
from streams.telemetry.group_state import read_groups


async def refuse_rivals(settings: Settings, plans: Mapping[str, ReplayPlan], name: str) -> None:
    """Lets a plan begin, or go on, unless another one is at work on a paid handler that it has before it.

    Args:
        settings: Where Kafka is, and whether models are asked at all.
        plans: Those of the ledger, by name.
        name: The plan that is to begin.

    Raises:
        ReplayError: There is such a plan.
        KafkaError: The cluster can't be asked.
    """
    mine = _paid(plans[name], settings) if name in plans else frozenset()
    others = {
        f"{settings.kafka.topic_prefix}{run_group(plan.stages[plan.stage].handler, plan)}": plan
        for plan in plans.values()
        if plan.plan != name and plan.state is ReplayState.RUNNING and mine & _paid(plan, settings)
    }
    if not others:
        return
    async with opened(make_admin(settings.kafka)) as admin:
        states = await read_groups(admin, sorted(others))
    for group, plan in others.items():
        if states[group].members:
            handler = sorted(mine & _paid(plan, settings))[0]
            raise ReplayError(
                f"the plan {plan.plan} is at work and asks models for {handler} too; both would take more than replays "
                f"may: let it finish, or end it with `assay replay cancel {plan.plan}`"
            )


def _paid(plan: ReplayPlan, settings: Settings) -> frozenset[str]:
    """The paid handlers that a plan has before it."""
    return frozenset(stage.handler for stage in plan.stages[plan.stage :] if is_paid(handler_of(stage), settings))
