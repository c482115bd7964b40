"""Admits a plan to the ledger: takes its offsets, and checks the terms and conflicts with other plans.

A process may continue a plan only under its terms: the same rules, the same judge, and a journal that can count its
costs. A plan keeps one judge, because its cost limit and its results depend on it.

Two running plans of the same paid handler would exceed the replay share of the model's limit, so the second one is
refused. Plans without a running process are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from schemas.replays import ReplayPlan, ReplayState
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import read_groups
from streams.replay.budget import cost_problems, open_account, spent_by
from streams.replay.decisions import decision_ranges
from streams.replay.ledger import Ledger
from streams.replay.plan import (
    OFFLINE,
    ReplayError,
    ReplayRequest,
    handler_of,
    is_paid,
    is_root,
    judge_of,
    make_plan,
    run_group,
)
from streams.replay.ranges import Bound, resolve_ranges
from streams.replay.selection import make_selector
from streams.settings import Settings


async def check_terms(settings: Settings, plan: ReplayPlan, now: float) -> None:
    """Refuses to go on with a plan on other terms.

    Args:
        settings: Those of the process that wants to.
        plan: As the ledger has it.
        now: Seconds since the epoch.

    Raises:
        ReplayError: They are others.
        JournalError: The journal can't be read or written now.
    """
    left = plan.stages[plan.stage :]
    for stage in left:
        handler = handler_of(stage)
        version = settings.rules(handler.rules).config_version
        if version != stage.config_version:
            raise ReplayError(
                f"the plan {plan.plan} was made under another configuration of {stage.handler} "
                f"({stage.config_version}, now {version}); give it with --config, or drop the plan and begin anew"
            )
        if (judge := judge_of(handler, settings)) != stage.judge:
            raise ReplayError(
                f"the plan {plan.plan} was made with {_named(stage.judge)} for {stage.handler}, now it would be "
                f"{_named(judge)}; give it the same (llm.base_url, llm.api_key, llm.model), or drop the plan and begin "
                "anew"
            )
    if not asks_models(plan):
        return
    if plan.max_cost_usd is None:
        raise ReplayError(f"the plan {plan.plan} has no bound of its costs: resume it with --max-cost USD")
    if problems := cost_problems(settings, [handler_of(stage) for stage in left]):
        raise ReplayError(problems[0])
    if await spent_by(settings, plan.run, now) is None:
        raise ReplayError(
            f"the journal here does not know what the plan {plan.plan} has spent, so its bound can't be kept: name the "
            "one it was begun with (llm.cache_path, llm.redis_url), or drop the plan and begin anew"
        )
    await open_account(settings, plan.run, now)


def asks_models(plan: ReplayPlan) -> bool:
    """Whether a plan asks models, which may cost money."""
    return any(stage.judge not in (None, OFFLINE) for stage in plan.stages)


def _named(judge: str | None) -> str:
    return "no model" if judge is None else "the offline judge" if judge == OFFLINE else f"the model {judge}"


async def begin(
    settings: Settings, ledger: Ledger, wishes: ReplayRequest, bounds: tuple[Bound, Bound], now: datetime
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
        JournalError: Something is paid, and the journal can't be written.
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
