"""Runs a plan until it is finished, stopped, cancelled, or at its cost limit.

The plan store has the state of the plan, its consumer group its progress, and the journal its costs. No other state
exists, so a process may be killed at any moment, and several processes may share a plan.

Retry topics are not used: a record whose attempts are exhausted becomes a dead letter of the plan, so the work has an
end. A model request that exceeds the cost limit is not answered. Its record stays uncommitted, and the next run
processes it again. An error would look like a provider that is down, and would use up attempts and open breakers.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import structlog
from aiokafka.errors import KafkaError

from schemas.event import Run
from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.index.ports import IndexDownError
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import GroupState, read_groups
from streams.llm.journal import JournalError
from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import committer_factory
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.health import Health
from streams.pipeline.intake import IntakeBroker
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.services import LiveServices
from streams.replay.admin import check_conflicts, check_terms, make_shadow, plan_status
from streams.replay.budget import PlanAccount
from streams.replay.group import Gap, PlanGroup, deleted_ranges, held_up, remaining
from streams.replay.plan import (
    UNFINISHED,
    ReplayError,
    ReplayTroubleError,
    asks_models,
    finished,
    mark_begun,
    routes,
    stage_of,
    transition,
    with_deleted,
)
from streams.replay.plan_store import LOOK_SECONDS, PlanSession
from streams.replay.processor import CostLimitedServices, ReplayPace, ReplayProcessor, is_live_late
from streams.replay.ranges import count
from streams.replay.selection import make_selector
from streams.runtime.process import installed_version
from streams.telemetry.metrics import counted
from streams.telemetry.setup import make_tracer
from streams.telemetry.tracing import Tracer
from streams.workers.handler_jobs import handler_pool

log = structlog.get_logger(__name__)
_LIVE_SECONDS = 2.0  # between two looks at live traffic


async def run_plan(session: PlanSession, terms: Mapping[str, float] | None = None) -> ReplayPlan:
    """Continues a plan. Returns its state after the work.

    ``terms`` are new values of the plan's fields ``max_cost_usd`` and ``rate``. They are written when the work begins,
    so a process that is refused leaves the plan as it was.

    Raises:
        ReplayError: There is no such plan, it is over, it was made under another configuration or with another model,
            its cost limit can't be kept, or a conflicting plan is running.
        JournalError: The journal can't be read now.
        TopicsError: The cluster refused a topic.
    """
    terms = terms or {}
    await check_conflicts(session.settings, session.store.plans, session.name)
    if (plan := session.store.plans.get(session.name)) is not None and plan.state in UNFINISHED:
        await check_terms(session.settings, plan.model_copy(update=dict(terms)), session.clock.now().timestamp())
        session.run = plan.run
    known = session.run

    def started(newest: ReplayPlan) -> ReplayPlan | None:
        # This process has seen the plan unfinished, so other processes have finished it.
        if known and newest.state is ReplayState.FINISHED:
            return None
        return transition(newest, ReplayState.RUNNING, **terms)

    plan = await session.change(started)
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
    settings = session.settings
    await make_shadow(settings, plan)
    async with AsyncExitStack() as open_now:
        tracer = make_tracer(settings.telemetry, installed_version())
        open_now.push_async_callback(tracer.aclose)
        account: PlanAccount | None = None
        if asks_models(plan):
            account = PlanAccount(settings, plan)
            open_now.push_async_callback(account.aclose)
            session.progress.spent_usd = await account.spent()
        services = LiveServices(settings, session.metrics, account=account, replaying=True, tracer=tracer)
        open_now.push_async_callback(services.aclose)
        work = PlanWork(session, plan, services, tracer, account)
        # In one transaction: a process that sees the started plan finds the offsets and does not set them back.
        plan = await session.change(mark_begun, work.group.starts)
        if plan.state is not ReplayState.RUNNING:
            return plan
        await work.group.await_start(session.clock)
        why = await work.run(plan)
        return await _pause(session, plan, why) if why else await session.change(finished)


async def _pause(session: PlanSession, plan: ReplayPlan, why: str) -> ReplayPlan:
    """Pauses the plan unless other processes work on it. Returns it as it is for this process."""
    others = 0
    with contextlib.suppress(KafkaError, OSError):
        [status] = await plan_status(session.settings, [await session.newest(plan)])
        session.progress.remaining, others = status.remaining, status.members
    newest = await session.change(lambda newest: None if others else transition(newest, ReplayState.PAUSED, why))
    # Other processes continue the plan, but here it is paused.
    return transition(newest, ReplayState.PAUSED, why) or newest


class PlanWork:
    """This process's part of a plan. Nothing is opened before ``run``."""

    def __init__(
        self,
        session: PlanSession,
        plan: ReplayPlan,
        services: LiveServices,
        tracer: Tracer,
        account: PlanAccount | None,
    ) -> None:
        """Takes a plan that has its ranges; ``account`` is None if nothing is paid."""
        settings, metrics, clock = session.settings, session.metrics, session.clock
        self.group = PlanGroup(settings.kafka, plan)
        subscription = self.group.subscription
        self._handler = handler = subscription.handler
        self._session = session
        self._services = services
        self._account = account
        self._pace = ReplayPace(plan.rate, clock)
        self._limited = CostLimitedServices(services, account)
        self._breaker = breaker = Breaker(settings.processing.breaker, clock)
        observer = PipelineMetrics(metrics, handler.name, "replay")
        # A breaker that opens because the cost limit is reached does not mean that a dependency is down.
        breaker.listen(lambda: None if self._limited.is_spent else observer.breaker(breaker.closed, breaker.cause))
        rules = settings.rules(handler.rules)
        self._pool = handler_pool([(handler, rules)], settings.workers, metrics)
        runner = HandlerRunner(
            handler,
            rules,
            settings.processing.retries,
            self._limited,
            clock,
            random.random,
            breaker,
            lambda again, replayed: observer.retried(again.reason, replayed),
            self._pool,
        )
        self._work = ReplayProcessor(
            runner,
            clock,
            observer,
            spans=tracer.records(handler.name, self.group.name),
            run=Run(plan.run, plan.created_at),
            routes=routes(plan),
            pace=self._pace,
            metrics=metrics,
            progress=session.progress,
        )
        # Even if live traffic is written at least once: duplicates of a replay could not be found afterwards.
        exactly_once = settings.model_copy(update={"delivery": "exactly_once"})
        self._gaps: list[Gap] = []
        self._consumers = ConsumerGroup(
            subscription,
            self._work,
            committer_factory(exactly_once, subscription.group, clock, observer, session.is_ours),
            settings.pipeline,
            clock,
            observer,
            breaker,
            on_assignment=self._on_assignment,
            ends=self.group.ends,
            pause=self._pace.seconds,
            on_gap=lambda place, start, end: self._gaps.append((place, start, end)),
        )
        self._health = Health((self._consumers,), settings, clock, metrics)
        self._counted_usd = 0.0
        self._waiting = metrics.replay_waiting.labels(handler.name)

    async def run(self, plan: ReplayPlan) -> str:
        """Processes the records. Returns why it stopped; "" at the end of the ranges.

        Raises:
            ReplayError: The handler has nothing that the selection asks for, or this process can't go on.
            ChildStartError: A child process could not start.
            IndexSettingsError: The index can't be used as it is configured, or belongs to another process.
        """
        progress = self._session.progress
        try:
            await self._open()
            progress.handler = self._handler.name
            progress.total = progress.remaining = count(stage_of(plan).ranges)
            return await self._prepare(plan) or await self._process(plan)
        finally:
            if self._pool is not None:
                await self._pool.stop()

    async def _open(self) -> None:
        """Opens the handler's services, which takes longer than a first record should wait."""
        self._services.shares.expect(self._handler.name, [self._handler.consumes.name])
        if self._pool is not None:
            await self._pool.start()
        if self._handler.needs_index:
            try:
                await self._services.open_index()
            except IndexDownError as error:
                log.warning("the index can't be reached; records wait until it can", error=str(error))
        if self._handler.asks_models and not self._session.settings.llm.offline:
            self._services.open_models()

    async def _prepare(self, plan: ReplayPlan) -> str:
        """Makes the selector, which may read many decisions. Returns why that was stopped, or ""."""
        session, decisions, read = self._session, stage_of(plan).decisions, 0
        total = sum(count(decided.ranges) for decided in decisions)

        def note_decision() -> None:
            nonlocal read
            read += 1

        preparing = asyncio.create_task(
            make_selector(session.settings, self._handler, plan.selection, decisions, note_decision), name="preparing"
        )
        try:
            while not preparing.done():
                if total:
                    session.progress.note = f"reads earlier decisions: {read:,} of {total:,}"
                    session.report(session.progress)
                if session.stop.is_set():
                    return "stopped"
                if ended := _end_of(await session.newest(plan)):
                    return ended
                await asyncio.wait({preparing}, timeout=LOOK_SECONDS)
            self._work.selects = preparing.result()
            return ""
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)

    def _on_assignment(self, read: Subscription, held: int, of: int) -> None:
        self._pace.assigned(held, of)
        self._services.shares.on_assignment(self._handler.name, read.topic, held, of)

    async def _process(self, plan: ReplayPlan) -> str:
        """Joins the group and works; commits the records in flight at the end, within the drain budget, and leaves.

        Returns as ``run``.
        """
        session, settings = self._session, self._session.settings
        broker = IntakeBroker(settings, (self._consumers,), session.metrics.registry)
        await self._look_at_live(plan)
        watch = asyncio.create_task(self._watch_live(plan), name="live traffic")
        try:
            async with opened(make_admin(settings.kafka)) as admin, AsyncExitStack() as open_now:
                # Registered before each start, so that an interrupted start is closed as well.
                open_now.push_async_callback(broker.stop)
                open_now.push_async_callback(self._consumers.stop, settings.pipeline.drain_seconds)
                open_now.push_async_callback(self._health.stop)
                await self._health.start()
                await broker.start()
                why = await self._until_done(plan, admin)
            # With those that were in flight when the work stopped.
            await self._count_costs()
            return why
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self._waiting.set(0)

    async def _until_done(self, plan: ReplayPlan, admin: Any) -> str:
        """Waits until all ranges are read, or the work has to stop. Returns as ``run``."""
        session, progress, ends = self._session, self._session.progress, self.group.ends
        deleted: list[OffsetRange] = []
        while True:
            if self._health.wedged():
                raise ReplayTroubleError(f"{'; '.join(self._health.alive().problems)}; nothing is lost, resume it")
            done = await self._look_at_progress(admin)
            deleted.extend(await deleted_ranges(self._consumers, self._gaps, ends))
            if deleted:
                with contextlib.suppress(KafkaError, OSError):
                    plan = await session.change(lambda newest: with_deleted(newest, deleted))
                    deleted.clear()
            progress.deleted = count(stage_of(plan).deleted)
            await self._count_costs()
            held = self._consumers.partitions
            own_left = sum(max(0, ends[place] - (held[place].committed or 0)) for place in held.keys() & ends.keys())
            session.metrics.replay_remaining_records.labels(self._handler.name).set(own_left)
            session.report(progress)
            if done:
                return ""
            if self._limited.is_spent:
                self._pace.shut = True
                if not self._limited.asking or session.stop.is_set():
                    # The drain does not wait for records in work while the breaker is open; the next run processes
                    # those that the cost limit blocks again.
                    self._breaker.open(None)
                    return f"the bound of {plan.max_cost_usd:g} USD is reached; resume it with --max-cost MORE"
            if session.stop.is_set():
                return "stopped"
            plan = await session.next_look(plan)
            if ended := _end_of(plan):
                return ended

    async def _look_at_progress(self, admin: Any) -> bool:
        """Updates the session's progress from the cluster. Returns whether the group has read its ranges."""
        progress, name, state = self._session.progress, self.group.name, GroupState()
        with contextlib.suppress(KafkaError, OSError):
            state = (await read_groups(admin, [name]))[name]
        left = remaining(state, self.group.ends)
        if left is None:
            progress.note = "Kafka does not report the progress"
            return False
        note = "gives way to live traffic" if self._pace.waiting else held_up(self._consumers, self.group.ends)
        progress.note, progress.remaining, progress.members = note, left, state.members
        return not left

    async def _watch_live(self, plan: ReplayPlan) -> None:
        while True:
            await self._session.clock.sleep(_LIVE_SECONDS)
            await self._look_at_live(plan)

    async def _look_at_live(self, plan: ReplayPlan) -> None:
        session = self._session
        if plan.give_way:
            with contextlib.suppress(KafkaError, OSError, TimeoutError):
                self._pace.waiting = await is_live_late(session.settings, self._handler, session.clock)
        self._waiting.set(self._pace.waiting)

    async def _count_costs(self) -> None:
        if self._account is None:
            return
        metrics, handler = self._session.metrics, self._handler.name
        with contextlib.suppress(JournalError):
            self._session.progress.spent_usd = await self._account.spent()
        # The plan's account also has calls in flight and calls of other processes; the metric counts this process.
        paid = sum(usd for labels, usd in counted(metrics.llm_cost_usd_total) if labels["task"] == handler)
        metrics.replay_cost_usd_total.labels(handler).inc(max(0.0, paid - self._counted_usd))
        self._counted_usd = paid


def _end_of(plan: ReplayPlan) -> str:
    """Why no process may go on with the plan; "" while it may."""
    return "" if plan.state in (ReplayState.RUNNING, ReplayState.PAUSED) else f"it was {plan.state}"
