"""A plan's entry into the ledger: with the offsets that it reads, taken now, and what it looks at to choose records."""

from __future__ import annotations

from datetime import datetime

from schemas.replays import ReplayPlan, ReplayState
from streams.replay.cost import cost_problems, open_account
from streams.replay.decisions import decision_ranges
from streams.replay.ledger import Ledger
from streams.replay.plan import ReplayError, Wishes, handler_of, is_root, make_plan
from streams.replay.ranges import Bound, resolve_ranges
from streams.replay.selection import make_selector
from streams.replay.terms import asks_models
from streams.settings import Settings


async def begin(
    settings: Settings, ledger: Ledger, wishes: Wishes, bounds: tuple[Bound, Bound], now: datetime
) -> ReplayPlan:
    """Makes a plan and writes it to the ledger; nothing else is touched.

    Args:
        settings: The configuration that the handlers decide under.
        ledger: Open.
        wishes: What the operator asks for.
        bounds: From where to where what is not written by the plan itself is read.
        now: UTC.

    Raises:
        ReplayError: It needs another option, can't be, there is a plan of that name, or a handler has nothing of what
            the selection asks for.
        KafkaError: The cluster can't be reached.
        StoreError: Something is paid, and the journal can't be written.
    """
    plan = await resolved(settings, make_plan(wishes, settings, now), bounds)
    if problems := cost_problems(settings, [handler_of(stage) for stage in plan.stages]):
        raise ReplayError(problems[0])
    if asks_models(plan):
        await open_account(settings, plan.run, now.timestamp())

    def entered(newest: ReplayPlan | None) -> ReplayPlan | None:
        if newest is not None and newest.state is not ReplayState.DROPPED:
            raise ReplayError(
                f"there is a plan {newest.plan} already, {newest.state}: `assay replay resume {newest.plan}`, "
                f"`assay replay drop {newest.plan}`, or another name with --plan"
            )
        return plan

    await ledger.change(plan.plan, entered)
    return plan


async def resolved(settings: Settings, plan: ReplayPlan, bounds: tuple[Bound, Bound]) -> ReplayPlan:
    """A plan with the offsets of what it reads that it does not write itself, as they are now.

    Raises:
        ReplayError: There is no such topic or partition, or a handler has nothing of what the selection asks for.
        KafkaError: The cluster can't be reached.
    """
    stages = []
    for stage in plan.stages:
        if not is_root(stage):
            stages.append(stage)
            continue
        handler = handler_of(stage)
        ranges = await resolve_ranges(settings, stage.topic, *bounds)
        decisions = await decision_ranges(settings, handler, plan.selection)
        # Whether it can be had is better known now than when the first stages are done.
        await make_selector(settings, handler, plan.selection, ())
        stages.append(stage.model_copy(update={"ranges": ranges, "decisions": decisions}))
    return plan.model_copy(update={"stages": tuple(stages)})
