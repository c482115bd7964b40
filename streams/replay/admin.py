"""What is done about plans: they are created, admitted to run, show their status, and are cancelled and dropped.

A process may continue a plan only under its terms: the same rules, the same model, and a journal that can count its
costs. The cost limit and the results of a plan depend on the model.

Two running plans of the same paid handler would exceed the replay share of the model's limit, so the second one is
refused. Plans without a running process are ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from schemas.replays import ReplayPlan, ReplayState
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import GroupState, read_groups
from streams.kafka.topics import PlannedTopic, describe_topic, make_topics, plan_topics
from streams.llm.journal import JournalError
from streams.replay.budget import cost_problems, open_account, spent_by
from streams.replay.group import PlanGroup, remaining
from streams.replay.plan import (
    OFFLINE,
    UNFINISHED,
    ReplayError,
    ReplayTroubleError,
    asks_models,
    created,
    existing,
    handler_of,
    is_paid,
    judge_of,
    moved,
    routes,
    stage_of,
    transition,
    with_stage,
)
from streams.replay.plan_store import LOOK_SECONDS, PlanStore
from streams.replay.ranges import Bound, count, find_ranges
from streams.replay.selection import decision_ranges, make_selector
from streams.runtime.clock import Clock
from streams.settings.model import Settings

_LEAVE_LOOKS = 60  # until a process has noticed that its plan is cancelled, and has finished its records in flight
_DELETED_LOOKS, _DELETED_SECONDS = 100, 0.1
"""How often it is looked whether the topics of a plan are gone, and how long after the last look."""


async def create(settings: Settings, store: PlanStore, plan: ReplayPlan, now: datetime) -> ReplayPlan:
    """Writes a new plan, which has its offsets, to the store; nothing else is changed.

    Raises:
        ReplayError: The cost of the plan can't be counted here, or a plan of that name exists.
        JournalError: The plan asks models, and the journal can't be written.
    """
    if problems := cost_problems(settings, handler_of(plan)):
        raise ReplayError(problems[0])
    if asks_models(plan):
        await open_account(settings, plan.run, now.timestamp())
    await store.change(plan.plan, lambda newest: created(newest, plan))
    return plan


async def resolved(
    settings: Settings,
    plan: ReplayPlan,
    bounds: tuple[Bound, Bound],
    note: Callable[[str], object] = lambda _: None,
    *,
    allow_missing: bool = True,
) -> ReplayPlan:
    """A plan with the present offsets of the topic that it reads; ``note`` takes what is deleted of the range.

    Raises:
        ReplayTroubleError: The bounds name what is deleted, and that is not allowed.
        ReplayError: There is no such topic or partition, or a handler has nothing that the selection asks for.
    """
    handler = handler_of(plan)
    found = await find_ranges(settings, stage_of(plan).topic, *bounds)
    if found.gone and found.wanted and not allow_missing:
        raise ReplayTroubleError(f"{found.gone}; replay what is left with --allow-missing")
    if found.gone:
        note(f"note: {found.gone}")
    decisions = await decision_ranges(settings, handler, plan.selection)
    # An impossible selection is refused before the plan exists.
    await make_selector(settings, handler, plan.selection, ())
    return with_stage(plan, ranges=found.ranges, decisions=decisions)


async def check_terms(settings: Settings, plan: ReplayPlan, now: float) -> None:
    """Checks that this process may continue a plan; ``now`` is in seconds since the epoch.

    Raises:
        ReplayError: The rules, the model or the journal are others.
        JournalError: The journal can't be read or written now.
    """
    stage, handler = stage_of(plan), handler_of(plan)
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
    if problems := cost_problems(settings, handler):
        raise ReplayError(problems[0])
    if await spent_by(settings, plan.run, now) is None:
        raise ReplayError(
            f"the journal here does not know what the plan {plan.plan} has spent, so its bound can't be kept: name the "
            "one it was begun with (llm.cache_path, llm.redis_url), or drop the plan and begin anew"
        )
    await open_account(settings, plan.run, now)


def _named(judge: str | None) -> str:
    return "no model" if judge is None else "the offline judge" if judge == OFFLINE else f"the model {judge}"


async def check_conflicts(settings: Settings, plans: Mapping[str, ReplayPlan], name: str) -> None:
    """Checks that no process works on another plan of the same paid handler.

    Raises ReplayError if there is such a plan.
    """
    mine = plans.get(name)
    if mine is None or mine.is_done or not is_paid(handler_of(mine), settings):
        return
    handler = stage_of(mine).handler
    others = {
        PlanGroup(settings.kafka, plan).name: plan
        for plan in plans.values()
        if plan.plan != name and plan.state is ReplayState.RUNNING and stage_of(plan).handler == handler
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


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """The newest state of a plan, its offsets (none if it is finished), and the processes that work on it now.

    What models have cost is None if the journal can't be read here.
    """

    plan: ReplayPlan
    total: int
    remaining: int
    members: int
    spent_usd: float | None

    def to_wire(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "plan": plan.plan,
            "run": plan.run,
            "state": plan.state,
            "detail": plan.detail,
            "handlers": [stage_of(plan).handler],
            "stage": plan.stage,
            "target": plan.target,
            "total": self.total,
            "remaining": self.remaining,
            "deleted": count(stage_of(plan).deleted),
            "processes": self.members,
            "cost_usd": self.spent_usd,
            "max_cost_usd": plan.max_cost_usd,
            "created_at": plan.created_at.isoformat(),
            "updated_at": plan.updated_at.isoformat(),
            "topics": list(routes(plan).values()),
        }


async def plan_status(settings: Settings, plans: Iterable[ReplayPlan]) -> list[PlanStatus]:
    """How far plans have come, in their order. Raises KafkaError."""
    groups = [PlanGroup(settings.kafka, plan) for plan in plans]
    async with opened(make_admin(settings.kafka)) as admin:
        states = await read_groups(admin, sorted(group.name for group in groups if not group.plan.is_done))
    found = []
    for group in groups:
        plan, total = group.plan, 0 if group.plan.is_done else count(stage_of(group.plan).ranges)
        state = states.get(group.name, GroupState())
        left = remaining(state, group.ends) if total else 0
        spent: float | None = None if asks_models(plan) else 0.0
        if spent is None:
            with contextlib.suppress(JournalError):
                spent = await spent_by(settings, plan.run, time.time())
        found.append(PlanStatus(plan, total, total if left is None else left, state.members, spent))
    return found


async def cancel(settings: Settings, store: PlanStore, name: str, clock: Clock) -> PlanStatus:
    """Cancels a plan and waits until its processes have noticed. Returns its status then.

    Raises ReplayError if there is no such plan, or it is over.
    """
    newest = await store.change(name, lambda newest: transition(existing(newest, name), ReplayState.CANCELLED))
    plan = existing(newest, name)
    for _ in range(_LEAVE_LOOKS):
        [status] = await plan_status(settings, [plan])
        if not status.members:
            break
        await clock.sleep(LOOK_SECONDS)
    return status


async def drop(settings: Settings, store: PlanStore, name: str) -> list[str]:
    """Deletes a plan's topics, and the plan. Returns the names of what was deleted.

    1. Write that the plan is dropped. A process that starts from now on reads that.
    2. Fence the plan's producers. A process that was suspended can't commit any more.
    3. Delete the topics.

    Raises ReplayError if there is no such plan, or processes work on it.
    """
    plan = existing(store.plans.get(name), name)
    [status] = await plan_status(settings, [plan])
    if status.members:
        ending = f"`assay replay cancel {name}` first" if plan.state in UNFINISHED else "let them finish, or stop them"
        raise ReplayError(f"{status.members} work on the plan {name}; {ending}")
    plan = await store.change(name, lambda newest: moved(existing(newest, name), ReplayState.DROPPED)) or plan
    if stage_of(plan).begun:
        await PlanGroup(settings.kafka, plan).fence()
    return await _delete_topics(settings, plan)


async def make_shadow(settings: Settings, plan: ReplayPlan) -> None:
    """Creates the missing topics of a plan.

    A shadow topic has the partitions and the configuration of the live topic, so it can be read like it.
    Raises TopicsError if the cluster refused one.
    """
    prefix = settings.kafka.topic_prefix
    planned = {topic.name: topic for topic in plan_topics(settings.kafka)}
    async with opened(make_admin(settings.kafka)) as admin:
        present = set(await admin.list_topics())
        wanted: list[PlannedTopic] = []
        for live, own in _shadows(plan).items():
            model = planned[prefix + live]
            model = await describe_topic(admin, model) if model.name in present else model
            wanted.append(replace(model, name=prefix + own))
    await make_topics(settings.kafka, wanted)


async def _delete_topics(settings: Settings, plan: ReplayPlan) -> list[str]:
    names = {settings.kafka.topic_prefix + own for own in _shadows(plan).values()}
    async with opened(make_admin(settings.kafka)) as admin:
        present = sorted(names & set(await admin.list_topics()))
        if present:
            await admin.delete_topics(present)
        for _ in range(_DELETED_LOOKS):
            if not names & set(await admin.list_topics()):
                break
            await asyncio.sleep(_DELETED_SECONDS)
    return present


def _shadows(plan: ReplayPlan) -> dict[str, str]:
    """Each live topic with the plan's own topic in its place, dead letter topics included."""
    return {live: own for live, own in routes(plan).items() if own != live}
