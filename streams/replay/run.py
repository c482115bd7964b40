"""Runs a plan until it is finished, stopped, cancelled, or at its cost limit (R-009).

The plan store has the state of the plan, and its consumer group has the progress. No other state exists,
so a process may be killed at any moment, and several processes may share a plan.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from aiokafka.errors import KafkaError

from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.llm.journal import JournalError
from streams.pipeline.services import LiveServices
from streams.replay.admin import plan_status
from streams.replay.admission import asks_models, check_conflicts, check_terms
from streams.replay.budget import CostBound, bound_of, paid_for
from streams.replay.group import StageReader
from streams.replay.pace import is_live_late
from streams.replay.plan import ReplayError
from streams.replay.processor import ReplayProcessor
from streams.replay.ranges import count
from streams.replay.session import LOOK_SECONDS, PlanSession
from streams.replay.shadow import make_shadow
from streams.replay.stage import StageContext
from streams.replay.transitions import UNFINISHED, after_stage, has_moved_on, paused, started, with_deleted, with_stage
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
        self._counted_usd: dict[str, float] = {}

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
        session = self._session
        await make_shadow(session.settings, plan)
        bound = bound_of(session.settings, plan.run, plan.max_cost_usd) if asks_models(plan) else None
        services = LiveServices(session.settings, session.metrics, journal=bound, replaying=True, tracer=self._tracer)
        try:
            if bound is not None:
                session.progress.spent_usd = await bound.spent()
            return await self._run_stage(plan, services, bound)
        finally:
            await services.aclose()
            await self._tracer.aclose()
            if bound is not None:
                await bound.aclose()

    async def _run_stage(self, plan: ReplayPlan, services: LiveServices, bound: CostBound | None) -> ReplayPlan:
        """Runs the present stage to its end, or until it must stop. Returns the plan after it."""
        session, at = self._session, plan.stage
        context = StageContext(session, plan, services, self._tracer, bound)
        # In one transaction: a process that sees the started stage finds the offsets and does not set them back.
        plan = await session.change(lambda newest: with_stage(newest, at, begun=True), context.group.starts)
        if has_moved_on(plan, at):
            return plan
        await context.group.await_start(session.clock)
        try:
            await context.open()
            return await self._process_stage(plan, context)
        finally:
            await context.close()

    async def _process_stage(self, plan: ReplayPlan, context: StageContext) -> ReplayPlan:
        """Processes the records of an open stage. Returns the plan after it."""
        session, progress, at = self._session, self._session.progress, context.at
        progress.handler = context.handler.name
        progress.total = progress.remaining = count(context.stage.ranges)
        work = await self._prepared(plan, context)
        if isinstance(work, str):
            return await self._after_stop(plan, context, work)
        await self._look_at_live(plan, context)
        before = (progress.replayed, progress.passed_over, progress.dead)

        def count_records() -> None:
            progress.replayed, progress.passed_over = before[0] + work.replayed, before[1] + work.passed_over
            progress.dead = before[2] + work.dead

        watch = asyncio.create_task(self._watch_live(plan, context), name="live traffic")
        try:
            async with context.reader(work) as reader:
                why = await self._until_done(plan, context, reader, count_records)
            # With those that were in flight when the work stopped.
            count_records()
            await self._count_cost(context)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            session.metrics.replay_waiting.labels(context.handler.name).set(0)
        if why is None:
            return await session.change(lambda newest: after_stage(newest, at))
        return await self._after_stop(plan, context, why)

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
        self, plan: ReplayPlan, context: StageContext, reader: StageReader, count_records: Callable[[], None]
    ) -> str | None:
        """Waits until the stage is done. Returns None then, otherwise why it stopped."""
        session, progress, at = self._session, self._session.progress, context.at
        deleted: list[OffsetRange] = []
        while True:
            done = await reader.update_progress()
            deleted.extend(await reader.deleted())
            if deleted:
                with contextlib.suppress(KafkaError, OSError):
                    plan = await session.change(lambda newest: with_deleted(newest, at, deleted))
                    deleted.clear()
            progress.deleted = sum(count(stage.deleted) for stage in plan.stages)
            count_records()
            if context.pace.waiting:
                progress.note = "gives way to live traffic"
            await self._count_cost(context)
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

    async def _after_stop(self, plan: ReplayPlan, context: StageContext, why: str) -> ReplayPlan:
        """The plan after a stage that stopped before its end."""
        with contextlib.suppress(KafkaError, OSError):
            left = await context.group.progress()
            if left is not None:
                self._session.progress.remaining = left.remaining
        newest = await self._pause(plan, why)
        # Other processes continue the plan, but here it is paused.
        return paused(newest, why) or newest

    async def _pause(self, plan: ReplayPlan, why: str) -> ReplayPlan:
        """Pauses the plan unless other processes work on it. Returns the newest state."""
        session, others = self._session, 0
        with contextlib.suppress(KafkaError, OSError):
            [status] = await plan_status(session.settings, [await session.newest(plan)])
            others = status.members
        return await session.change(lambda newest: None if others else paused(newest, why))

    async def _watch_live(self, plan: ReplayPlan, context: StageContext) -> None:
        while True:
            await self._session.clock.sleep(_LIVE_SECONDS)
            await self._look_at_live(plan, context)

    async def _look_at_live(self, plan: ReplayPlan, context: StageContext) -> None:
        """Pauses the replay while live traffic of the same handler is late."""
        session = self._session
        if plan.give_way:
            with contextlib.suppress(KafkaError, OSError, TimeoutError):
                context.pace.waiting = await is_live_late(session.settings, context.handler, session.clock)
        session.metrics.replay_waiting.labels(context.handler.name).set(context.pace.waiting)

    async def _count_cost(self, context: StageContext) -> None:
        if context.bound is None:
            return
        session, handler = self._session, context.handler.name
        with contextlib.suppress(JournalError):
            session.progress.spent_usd = await context.bound.spent()
        # The plan's account also has calls in flight and calls of other processes; the metric counts this process.
        paid = paid_for(session.metrics, handler)
        session.metrics.replay_cost_usd_total.labels(handler).inc(max(0.0, paid - self._counted_usd.get(handler, 0.0)))
        self._counted_usd[handler] = paid


def _end_of(plan: ReplayPlan) -> str:
    """Why no process may go on with the plan; "" while it may."""
    return "" if plan.state in (ReplayState.RUNNING, ReplayState.PAUSED) else f"it was {plan.state}"
