"""Runs a plan until it is finished, stopped, cancelled, or at its cost limit.

The plan store has the state of the plan, and its consumer group has its progress. No other state exists, so a process
may be killed at any moment, and several processes may share a plan.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AsyncExitStack

from aiokafka.errors import KafkaError

from schemas.replays import ReplayPlan, ReplayState
from streams.llm.sqlite_journal import make_journal
from streams.pipeline.services import LiveServices
from streams.replay.admin import check_conflicts, check_terms, make_shadow, plan_status
from streams.replay.budget import CostBound
from streams.replay.plan import ReplayError, asks_models
from streams.replay.plan_store import PlanSession
from streams.replay.stage import StageRun
from streams.replay.transitions import UNFINISHED, begun, finished, paused, started
from streams.runtime.process import installed_version
from streams.telemetry.setup import make_tracer


async def run_plan(session: PlanSession, terms: Mapping[str, float] | None = None) -> ReplayPlan:
    """Continues a plan. Returns its state after the work.

    ``terms`` are new values of the plan's fields ``max_cost_usd`` and ``rate``. They are written when the work begins,
    so a process that is refused leaves the plan as it was.

    Raises:
        ReplayError: There is no such plan, it is over, it was made under another configuration or with another model,
            its cost limit can't be kept, or a conflicting plan is running.
        JournalError: The journal can't be read now.
        TopicsError: The cluster refused a topic.
        KafkaError: The cluster can't be reached.
    """
    terms = terms or {}
    await check_conflicts(session.settings, session.store.plans, session.name)
    if (known := session.store.plans.get(session.name)) is not None and known.state in UNFINISHED:
        await check_terms(session.settings, known.model_copy(update=dict(terms)), session.clock.now().timestamp())
        session.run = known.run
    plan = await session.change(lambda newest: started(newest, terms, shared=bool(session.run)))
    if plan.state is ReplayState.FINISHED:
        return plan
    session.run = plan.run
    try:
        return await _work(session, plan)
    except Exception as error:
        # Otherwise the plan stays RUNNING with no process and no reason.
        with contextlib.suppress(KafkaError, OSError, ReplayError):
            await _pause(session, plan, f"{error}"[:500] or type(error).__name__)
        raise


async def _work(session: PlanSession, plan: ReplayPlan) -> ReplayPlan:
    """Processes the records to their end, or until the work must stop. Returns the plan after it."""
    settings = session.settings
    await make_shadow(settings, plan)
    async with AsyncExitStack() as open_now:
        tracer = make_tracer(settings.telemetry, installed_version())
        open_now.push_async_callback(tracer.aclose)
        bound: CostBound | None = None
        if asks_models(plan):
            bound = CostBound(make_journal(settings.llm), plan.run, plan.max_cost_usd)
            open_now.push_async_callback(bound.aclose)
            session.progress.spent_usd = await bound.spent()
        services = LiveServices(settings, session.metrics, journal=bound, replaying=True, tracer=tracer)
        open_now.push_async_callback(services.aclose)
        stage = StageRun(session, plan, services, tracer, bound)
        # In one transaction: a process that sees the started stage finds the offsets and does not set them back.
        plan = await session.change(begun, stage.group.starts)
        if plan.state is not ReplayState.RUNNING:
            return plan
        await stage.group.await_start(session.clock)
        why = await stage.run(plan)
        return await session.change(finished) if why is None else await _pause(session, plan, why)


async def _pause(session: PlanSession, plan: ReplayPlan, why: str) -> ReplayPlan:
    """Pauses the plan unless other processes work on it. Returns it as it is for this process."""
    others = 0
    with contextlib.suppress(KafkaError, OSError):
        [status] = await plan_status(session.settings, [await session.newest(plan)])
        session.progress.remaining, others = status.remaining, status.members
    newest = await session.change(lambda newest: None if others else paused(newest, why))
    # Other processes continue the plan, but here it is paused.
    return paused(newest, why) or newest
