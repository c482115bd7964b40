"""The work on a plan's records in this process, with the services below a cost limit.

A replay selects records before the pipeline's own processing, and sends the results to the plan's topics. A record that
is not selected writes nothing and moves the plan's offset. Retry topics are not used: a record whose attempts are
exhausted becomes a dead letter of the plan, so the work has an end.

A model request that exceeds the cost limit is not answered. Its record stays uncommitted, and the next run processes it
again. An error would look like a provider that is down, and would use up attempts and open circuit breakers.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog
from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaError
from typing_extensions import override

from schemas.dead import dead_letter_topic
from schemas.event import Run
from schemas.needs import Need
from schemas.outcome import Dead
from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from schemas.replies import ModelUnavailable, Reply
from streams.index.ports import IndexDownError
from streams.llm.journal import JournalError
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner, Services
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.pipeline.services import LiveServices
from streams.replay.budget import CostBound, paid_for
from streams.replay.group import PlanGroup, StageReader
from streams.replay.pace import ReplayRate, is_live_late
from streams.replay.plan import routes, stage_of
from streams.replay.plan_store import LOOK_SECONDS, PlanSession
from streams.replay.ranges import count
from streams.replay.selection import Selector, make_selector
from streams.replay.transitions import with_deleted
from streams.runtime.clock import Clock
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import RecordSpan, Tracer, no_spans
from streams.workers.handler_jobs import handler_pool

log = structlog.get_logger(__name__)

_LIVE_SECONDS = 2.0
"""Between two looks at live traffic."""


class ReplayProcessor(RecordProcessor):
    """The processing of each record."""

    def __init__(
        self,
        runner: HandlerRunner,
        clock: Clock,
        observer: PipelineMetrics,
        *,
        run: Run,
        selects: Selector,
        routes: Mapping[str, str],
        pace: ReplayRate,
        metrics: Metrics,
        spans: Callable[[ConsumerRecord], RecordSpan] = no_spans,
    ) -> None:
        """Takes what ``RecordProcessor`` takes, and the plan's part.

        ``routes`` has the topic that is written for each topic of the handler; other results are withheld. ``pace``
        counts every record that is started.
        """
        super().__init__(runner, clock, observer, spans=spans)
        self._run = run
        self._selects = selects
        self._routes = routes
        self._letters = routes[dead_letter_topic(runner.handler.consumes.name, runner.handler.group)]
        self._pace = pace
        self.replayed = 0
        """Records handled in this process."""
        self.passed_over = 0
        """Records that were not selected, in this process."""
        self.dead = 0
        """Records that became dead letters, in this process."""
        handler, records = runner.handler.name, metrics.replay_records_total
        self._done, self._skipped = records.labels(handler, "replayed"), records.labels(handler, "passed_over")

    @override
    def begin(self, record: ConsumerRecord) -> Done | Pending:
        if not self._selects(record):
            self.passed_over += 1
            self._skipped.inc()
            return Done.of()
        self._pace.took()
        begun = super().begin(self._marked(record))
        return begun if isinstance(begun, Pending) else self._ended(begun)

    @override
    async def complete(self, pending: Pending) -> Done:
        return self._ended(await super().complete(pending))

    @override
    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        return self._routed(super().refuse(self._marked(record), refusal))

    def _ended(self, done: Done) -> Done:
        self.replayed += 1
        self._done.inc()
        routed = self._routed(done)
        self.dead += any(output.topic == self._letters for output in routed.outputs)
        return routed

    def _routed(self, done: Done) -> Done:
        kept = (output for output in done.outputs if output.topic in self._routes)
        return Done.of(*(output._replace(topic=self._routes[output.topic]) for output in kept))

    def _marked(self, record: ConsumerRecord) -> ConsumerRecord:
        """The record with this run in its headers, in place of the run that wrote it."""
        return replace(record, headers=tuple(self._run.marked(record.headers)))


class CostLimitedServices:
    """A ``Services`` that does not return from a model request that the cost limit refused."""

    def __init__(self, services: Services, bound: CostBound | None) -> None:
        self._services = services
        self._bound = bound
        self.asking = 0
        """Requests in flight."""

    @property
    def is_spent(self) -> bool:
        """Whether the cost limit has refused a request."""
        return self._bound is not None and self._bound.reached.is_set()

    async def answer(self, need: Need, run: Run | None) -> Reply:
        """The reply; waits for ever if the cost limit has refused it."""
        self.asking += 1
        try:
            reply = await self._services.answer(need, run)
        finally:
            self.asking -= 1
        if self.is_spent and isinstance(reply, ModelUnavailable):
            await asyncio.get_running_loop().create_future()
        return reply


class StageRun:
    """A plan's work on the records of its ranges, in this process."""

    def __init__(
        self, session: PlanSession, plan: ReplayPlan, services: LiveServices, tracer: Tracer, bound: CostBound | None
    ) -> None:
        """Takes a plan that has its ranges; ``bound`` is None if nothing is paid."""
        settings = session.settings
        self.group = PlanGroup(settings.kafka, plan)
        self._handler = self.group.subscription.handler
        self._session = session
        self._services = services
        self._tracer = tracer
        self._bound = bound
        self._pace = ReplayRate(plan.rate, session.clock)
        self._breaker = Breaker(settings.processing.breaker, session.clock)
        self._limited = CostLimitedServices(services, bound)
        self._rules = settings.rules(self._handler.rules)
        self._pool = handler_pool([(self._handler, self._rules)], settings.workers, session.metrics)
        self._counted_usd = 0.0
        self._waiting = session.metrics.replay_waiting.labels(self._handler.name)

    async def run(self, plan: ReplayPlan) -> str | None:
        """Processes the records. Returns None at the end of the ranges, otherwise why it stopped before.

        Raises:
            ReplayError: The handler has nothing that the selection asks for, or this process can't go on.
            ChildStartError: A child process could not start.
            IndexSettingsError: The index can't be used as it is configured, or belongs to another process.
            KafkaError: The cluster can't be reached.
        """
        progress = self._session.progress
        try:
            await self._open()
            progress.handler = self._handler.name
            progress.total = progress.remaining = count(stage_of(plan).ranges)
            work = await self._prepared(plan)
            return work if isinstance(work, str) else await self._process(plan, work)
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

    async def _prepared(self, plan: ReplayPlan) -> ReplayProcessor | str:
        """The processing of each record, or why the preparation, which may read many decisions, was stopped."""
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
            return self._processor(plan, preparing.result())
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)

    def _processor(self, plan: ReplayPlan, selects: Selector) -> ReplayProcessor:
        session, handler, breaker = self._session, self._handler, self._breaker
        observer = PipelineMetrics(session.metrics, handler.name, "replay")
        # A breaker that opens because the cost limit is reached does not mean that a dependency is down.
        breaker.listen(lambda: None if self._limited.is_spent else observer.breaker(breaker.closed, breaker.cause))
        runner = HandlerRunner(
            handler,
            self._rules,
            session.settings.processing.retries,
            self._limited,
            session.clock,
            random.random,
            breaker,
            lambda again, replayed: observer.retried(again.reason, replayed),
            self._pool,
        )
        return ReplayProcessor(
            runner,
            session.clock,
            observer,
            run=Run(plan.run, plan.created_at),
            selects=selects,
            routes=routes(plan),
            pace=self._pace,
            metrics=session.metrics,
            spans=self._tracer.records(handler.name, self.group.name),
        )

    async def _process(self, plan: ReplayPlan, work: ReplayProcessor) -> str | None:
        reader = StageReader(self._session, self.group, work, self._pace, self._breaker, self._services.shares)
        await self._look_at_live(plan)
        watch = asyncio.create_task(self._watch_live(plan), name="live traffic")
        try:
            async with reader.joined():
                why = await self._until_done(plan, reader, work)
            # With those that were in flight when the work stopped.
            await self._count(work)
            return why
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self._waiting.set(0)

    async def _until_done(self, plan: ReplayPlan, reader: StageReader, work: ReplayProcessor) -> str | None:
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
            if self._pace.waiting:
                progress.note = "gives way to live traffic"
            await self._count(work)
            session.metrics.replay_remaining_records.labels(self._handler.name).set(reader.own_remaining)
            session.report(progress)
            if done:
                return None
            if self._limited.is_spent:
                self._pace.shut = True
                if not self._limited.asking or session.stop.is_set():
                    # Records that the cost limit blocks are left; the next run processes them again.
                    self._breaker.open(None)
                    return f"the bound of {plan.max_cost_usd:g} USD is reached; resume it with --max-cost MORE"
            if session.stop.is_set():
                return "stopped"
            plan = await session.next_look(plan)
            if ended := _end_of(plan):
                return ended

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

    async def _count(self, work: ReplayProcessor) -> None:
        metrics, progress, handler = self._session.metrics, self._session.progress, self._handler.name
        progress.replayed, progress.passed_over, progress.dead = work.replayed, work.passed_over, work.dead
        if self._bound is None:
            return
        with contextlib.suppress(JournalError):
            progress.spent_usd = await self._bound.spent()
        # The plan's account also has calls in flight and calls of other processes; the metric counts this process.
        paid = paid_for(metrics, handler)
        metrics.replay_cost_usd_total.labels(handler).inc(max(0.0, paid - self._counted_usd))
        self._counted_usd = paid


def _end_of(plan: ReplayPlan) -> str:
    """Why no process may go on with the plan; "" while it may."""
    return "" if plan.state in (ReplayState.RUNNING, ReplayState.PAUSED) else f"it was {plan.state}"
