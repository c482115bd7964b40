"""Admits a plan to the store: takes its offsets, and checks its terms and conflicts with other plans.

A process may continue a plan only under its terms: the same rules, the same model, and a journal that can count its
costs. The cost limit and the results of a plan depend on the model.

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
from streams.replay.plan import OFFLINE, ReplayError, ReplayRequest, handler_of, is_paid, judge_of, make_plan
from streams.replay.plan_store import PlanStore
from streams.replay.ranges import Bound, resolve_ranges
from streams.replay.selection import make_selector
from streams.replay.transitions import created
from streams.settings.model import Settings
from streams.topology.names import run_group


async def check_terms(settings: Settings, plan: ReplayPlan, now: float) -> None:
    """Checks that this process may continue a plan; ``now`` is in seconds since the epoch.

    Raises:
        ReplayError: The rules, the model or the journal are others.
        JournalError: The journal can't be read or written now.
    """
    [stage] = plan.stages
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
            f"{_named(judge)}; give it the same (llm.base_url, llm.api_key, llm.model), or drop the plan and begin anew"
        )
    if not asks_models(plan):
        return
    if plan.max_cost_usd is None:
        raise ReplayError(f"the plan {plan.plan} has no bound of its costs: resume it with --max-cost USD")
    if problems := cost_problems(settings, [handler]):
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
    settings: Settings, store: PlanStore, request: ReplayRequest, bounds: tuple[Bound, Bound], now: datetime
) -> ReplayPlan:
    """Makes a plan and writes it to the store; nothing else is changed. ``bounds`` are those of live topics.

    Raises:
        ReplayError: The request needs another option or is impossible, or a plan of that name exists.
        KafkaError: The cluster can't be reached.
        JournalError: The plan asks models, and the journal can't be written.
    """
    plan = await resolved(settings, make_plan(request, settings, now), bounds)
    if problems := cost_problems(settings, [handler_of(stage) for stage in plan.stages]):
        raise ReplayError(problems[0])
    if asks_models(plan):
        await open_account(settings, plan.run, now.timestamp())
    await store.change(plan.plan, lambda newest: created(newest, plan))
    return plan


async def resolved(settings: Settings, plan: ReplayPlan, bounds: tuple[Bound, Bound]) -> ReplayPlan:
    """A plan with the present offsets of the live topics that it reads.

    Raises:
        ReplayError: There is no such topic or partition, or a handler has nothing that the selection asks for.
        KafkaError: The cluster can't be reached.
    """
    [stage] = plan.stages
    handler = handler_of(stage)
    ranges = await resolve_ranges(settings, stage.topic, *bounds)
    decisions = await decision_ranges(settings, handler, plan.selection)
    # An impossible selection is refused before the plan exists.
    await make_selector(settings, handler, plan.selection, ())
    return plan.model_copy(update={"stages": (stage.model_copy(update={"ranges": ranges, "decisions": decisions}),)})


async def check_conflicts(settings: Settings, plans: Mapping[str, ReplayPlan], name: str) -> None:
    """Checks that no process works on another plan of the same paid handler.

    Raises:
        ReplayError: There is such a plan.
        KafkaError: The cluster can't be asked.
    """
    mine = plans.get(name)
    if mine is None or mine.stage or not is_paid(handler_of(mine.stages[0]), settings):
        return
    handler = mine.stages[0].handler
    others = {
        f"{settings.kafka.topic_prefix}{run_group(handler, plan)}": plan
        for plan in plans.values()
        if plan.plan != name and plan.state is ReplayState.RUNNING and plan.stages[0].handler == handler
    }
    if not others:
        return
    async with opened(make_admin(settings.kafka)) as admin:
        states = await read_groups(admin, sorted(others))
    for group, plan in others.items():
        if states[group].members:
            raise ReplayError(
                f"the plan {plan.plan} is at work and asks models for {handler} too; both would take more than replays "
                f"may: let it finish, or end it with `assay replay cancel {plan.plan}`"
            )
