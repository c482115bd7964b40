"""Runs a plan until it is finished, stopped, cancelled, or at its cost limit.

The plan store has the state of the plan, and its consumer group has its progress. No other state exists, so a process
may be killed at any moment, and several processes may share a plan.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from contextlib import AsyncExitStack

from aiokafka.errors import KafkaError

from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.llm.journal import JournalError
from streams.llm.sqlite_journal import make_journal
from streams.pipeline.services import LiveServices
from streams.replay.admin import check_conflicts, check_terms, make_shadow, plan_status
from streams.replay.budget import CostBound, paid_for
from streams.replay.group import StageReader
from streams.replay.pace import is_live_late
from streams.replay.plan import ReplayError, asks_models, stage_of
from streams.replay.plan_store import LOOK_SECONDS, PlanSession
from streams.replay.ranges import count
from streams.replay.stage import ReplayProcessor, StageContext
from streams.replay.transitions import UNFINISHED, begun, finished, paused, started, with_deleted
from streams.runtime.process import installed_version
from streams.telemetry.setup import make_tracer

_LIVE_SECONDS = 2.0
"""Between two looks at live traffic."""


class ReplayRun:
    """This process's work on one plan."""

    def __init__(self, session: PlanSession, terms: Mapping[str, float] | None = None) -> None:
        """Prepares the run. ``terms`` are new values of the plan's fields ``max_cost_usd`` and ``rate``.

        The terms are written when the work begins, so a process that is refused leaves the plan as it was.
        """
        self._session = session
        self._terms = dict(terms or {})
        self._tracer = make_tracer(session.settings.telemetry, installed_version())
        self._counted_usd = 0.0

    async def run(self) -> ReplayPlan:
        """Continues the plan. Returns its state after the work.

        Raises:
            ReplayError: There is no such plan, it is over, it was made under another configuration or with another
                model, its cost limit can't be kept, or a conflicting plan is running.
            JournalError: The journal can't be read now.
            TopicsError: The cluster refused a topic.
            KafkaError: The cluster can't be reached.
        """
        session = self._session
        await check_conflicts(session.settings, session.store.plans, session.name)
        if (known := session.store.plans.get(session.name)) is not None and known.state in UNFINISHED:
            terms = known.model_copy(update=self._terms)
            await check_terms(session.settings, terms, session.clock.now().timestamp())
            session.run = known.run
        plan = await session.change(lambda newest: started(newest, self._terms, shared=bool(session.run)))
        if plan.state is ReplayState.FINISHED:
            return plan
        session.run = plan.run
        try:
            return await self._run_plan(plan)
        except Exception as error:
            # Otherwise the plan stays RUNNING with no process and no reason.
            with contextlib.suppress(KafkaError, OSError, ReplayError):
                await self._pause(plan, f"{error}"[:500] or type(error).__name__)
            raise

    async def _run_plan(self, plan: ReplayPlan) -> ReplayPlan:
        """Processes the records to their end, or until the work must stop. Returns the plan after it."""
        session, settings = self._session, self._session.settings
        await make_shadow(settings, plan)
        async with AsyncExitStack() as open_now:
            open_now.push_async_callback(self._tracer.aclose)
            bound: CostBound | None = None
            if asks_models(plan):
                bound = CostBound(make_journal(settings.llm), plan.run, plan.max_cost_usd)
                open_now.push_async_callback(bound.aclose)
                session.progress.spent_usd = await bound.spent()
            services = LiveServices(settings, session.metrics, journal=bound, replaying=True, tracer=self._tracer)
            open_now.push_async_callback(services.aclose)
            context = StageContext(session, plan, services, self._tracer, bound)
            # In one transaction: a process that sees the started stage finds the offsets and does not set them back.
            plan = await session.change(begun, context.group.starts)
            if plan.state is not ReplayState.RUNNING:
                return plan
            await context.group.await_start(session.clock)
            open_now.push_async_callback(context.close)
            await context.open()
            return await self._process(plan, context)

    async def _process(self, plan: ReplayPlan, context: StageContext) -> ReplayPlan:
        session, progress = self._session, self._session.progress
        progress.handler = context.handler.name
        progress.total = progress.remaining = count(stage_of(plan).ranges)
        work = await self._prepared(plan, context)
        if isinstance(work, str):
            return await self._pause(plan, work)
        await self._look_at_live(plan, context)
        watch = asyncio.create_task(self._watch_live(plan, context), name="live traffic")
        try:
            async with context.reader(work) as reader:
                why = await self._until_done(plan, context, reader, work)
            # With those that were in flight when the work stopped.
            await self._count(context, work)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            session.metrics.replay_waiting.labels(context.handler.name).set(0)
        return await session.change(finished) if why is None else await self._pause(plan, why)

    async def _prepared(self, plan: ReplayPlan, context: StageContext) -> ReplayProcessor | str:
        """The processing of each record, which may take a while to prepare, or why the preparation was stopped."""
        session = self._session
        preparing = asyncio.create_task(context.work(), name="preparing")
        try:
            while not preparing.done():
                if note := context.preparing:
                    session.progress.note = note
                    session.report(session.progress)
                if session.stop.is_set():
                    return "stopped"
                if ended := _end_of(await session.newest(plan)):
                    return ended
                await asyncio.wait({preparing}, timeout=LOOK_SECONDS)
            return preparing.result()
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)

    async def _until_done(
        self, plan: ReplayPlan, context: StageContext, reader: StageReader, work: ReplayProcessor
    ) -> str | None:
        """Waits until all ranges are read. Returns None then, otherwise why it stopped."""
        session, progress = self._session, self._session.progress
        deleted: list[OffsetRange] = []
        while True:
            done = await reader.update_progress()
            deleted.extend(await reader.deleted())
            if deleted:
                with contextlib.suppress(KafkaError, OSError):
                    plan = await session.change(lambda newest: with_deleted(newest, deleted))
                    deleted.clear()
            progress.deleted = count(stage_of(plan).deleted)
            if context.pace.waiting:
                progress.note = "gives way to live traffic"
            await self._count(context, work)
            session.metrics.replay_remaining_records.labels(context.handler.name).set(reader.own_remaining)
            session.report(progress)
            if done:
                return None
            if context.is_spent and (context.stop_starting() or session.stop.is_set()):
                context.abandon()
                return f"the bound of {plan.max_cost_usd:g} USD is reached; resume it with --max-cost MORE"
            if session.stop.is_set():
                return "stopped"
            plan = await session.next_look(plan)
            if ended := _end_of(plan):
                return ended

    async def _pause(self, plan: ReplayPlan, why: str) -> ReplayPlan:
        """Pauses the plan unless other processes work on it. Returns it as it is for this process."""
        session, others = self._session, 0
        with contextlib.suppress(KafkaError, OSError):
            [status] = await plan_status(session.settings, [await session.newest(plan)])
            session.progress.remaining, others = status.remaining, status.members
        newest = await session.change(lambda newest: None if others else paused(newest, why))
        # Other processes continue the plan, but here it is paused.
        return paused(newest, why) or newest

    async def _watch_live(self, plan: ReplayPlan, context: StageContext) -> None:
        while True:
            await self._session.clock.sleep(_LIVE_SECONDS)
            await self._look_at_live(plan, context)

    async def _look_at_live(self, plan: ReplayPlan, context: StageContext) -> None:
        session = self._session
        if plan.give_way:
            with contextlib.suppress(KafkaError, OSError, TimeoutError):
                context.pace.waiting = await is_live_late(session.settings, context.handler, session.clock)
        session.metrics.replay_waiting.labels(context.handler.name).set(context.pace.waiting)

    async def _count(self, context: StageContext, work: ReplayProcessor) -> None:
        session, progress, handler = self._session, self._session.progress, context.handler.name
        progress.replayed, progress.passed_over, progress.dead = work.replayed, work.passed_over, work.dead
        if context.bound is None:
            return
        with contextlib.suppress(JournalError):
            progress.spent_usd = await context.bound.spent()
        # The plan's account also has calls in flight and calls of other processes; the metric counts this process.
        paid = paid_for(session.metrics, handler)
        session.metrics.replay_cost_usd_total.labels(handler).inc(max(0.0, paid - self._counted_usd))
        self._counted_usd = paid


def _end_of(plan: ReplayPlan) -> str:
    """Why no process may go on with the plan; "" while it may."""
    return "" if plan.state in (ReplayState.RUNNING, ReplayState.PAUSED) else f"it was {plan.state}"
