"""The work on a plan's records in this process, with the services below a cost limit.

A replay selects records before the pipeline's own processing, and sends the results to the plan's topics. A record that
is not selected writes nothing and moves the plan's offset. Retry topics are not used: a record whose attempts are
exhausted becomes a dead letter of the plan, so the work has an end.

A model request that exceeds the cost limit is not answered. Its record stays uncommitted, and the next run processes it
again. An error would look like a provider that is down, and would use up attempts and open circuit breakers.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog
from aiokafka import ConsumerRecord
from typing_extensions import override

from schemas.dead import dead_letter_topic
from schemas.event import RUN_HEADER
from schemas.needs import Need
from schemas.outcome import Dead
from schemas.replays import ReplayPlan
from schemas.replies import ModelUnavailable, Reply
from streams.index.ports import IndexDownError
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner, Services, retry_of
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordProcessor
from streams.pipeline.services import LiveServices
from streams.replay.budget import CostBound
from streams.replay.group import PlanGroup, StageReader
from streams.replay.pace import ReplayRate
from streams.replay.plan import routes, stage_of
from streams.replay.plan_store import PlanSession
from streams.replay.ranges import count
from streams.replay.selection import Selector, make_selector
from streams.runtime.clock import Clock
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import RecordSpan, Tracer, no_spans
from streams.workers.handler_jobs import handler_pool

log = structlog.get_logger(__name__)


class ReplayProcessor(RecordProcessor):
    """The processing of each record."""

    def __init__(
        self,
        runner: HandlerRunner,
        clock: Clock,
        observer: PipelineMetrics,
        *,
        run: str,
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
        self._run = run.encode()
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
        headers = [(name, value) for name, value in record.headers if name != RUN_HEADER]
        return replace(record, headers=(*headers, (RUN_HEADER, self._run)))


class CostLimitedServices:
    """A ``Services`` that does not return from a model request that the cost limit refused."""

    def __init__(self, services: Services, bound: CostBound | None) -> None:
        self._services = services
        self._bound = bound
        self.asking = 0
        """Requests in flight."""

    @property
    def is_spent(self) -> bool:
        return self._bound is not None and self._bound.reached.is_set()

    async def answer(self, need: Need, run: str | None) -> Reply:
        """The reply; waits for ever if the cost limit has refused it."""
        self.asking += 1
        try:
            reply = await self._services.answer(need, run)
        finally:
            self.asking -= 1
        if self.is_spent and isinstance(reply, ModelUnavailable):
            await asyncio.get_running_loop().create_future()
        return reply


class StageContext:
    """A plan's work in this process, and what it needs."""

    def __init__(
        self, session: PlanSession, plan: ReplayPlan, services: LiveServices, tracer: Tracer, bound: CostBound | None
    ) -> None:
        """Takes a plan that has its ranges; ``bound`` is None if nothing is paid."""
        self.group = PlanGroup(session.settings.kafka, plan)
        self.handler = self.group.subscription.handler
        self.pace = ReplayRate(plan.rate, session.clock)
        self.bound = bound
        self._session = session
        self._plan = plan
        self._services = services
        self._tracer = tracer
        self._breaker = Breaker(session.settings.processing.breaker, session.clock)
        self._limited = CostLimitedServices(services, bound)
        self._decisions_read = 0
        self._rules = session.settings.rules(self.handler.rules)
        self._pool = handler_pool([(self.handler, self._rules)], session.settings.workers, session.metrics)

    async def open(self) -> None:
        """Opens the handler's services, which takes longer than a first record should wait.

        Raises:
            ChildStartError: A child process could not start.
            IndexSettingsError: The index can't be used as it is configured, or belongs to another process.
        """
        self._services.shares.expect(self.handler.name, [self.handler.consumes.name])
        if self._pool is not None:
            await self._pool.start()
        if self.handler.needs_index:
            try:
                await self._services.open_index()
            except IndexDownError as error:
                log.warning("the index can't be reached; records wait until it can", error=str(error))
        if self.handler.asks_models and not self._session.settings.llm.offline:
            self._services.open_models()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.stop()

    async def work(self) -> ReplayProcessor:
        """The processing of each record.

        Raises:
            ReplayError: The handler has nothing that the selection asks for.
            KafkaError: The handler's earlier decisions can't be read.
        """
        session, handler, breaker = self._session, self.handler, self._breaker
        observer = PipelineMetrics(session.metrics, handler.name, "replay")

        def note_decision() -> None:
            self._decisions_read += 1

        # A breaker that opens because the cost limit is reached does not mean that a dependency is down.
        breaker.listen(lambda: None if self._limited.is_spent else observer.breaker(breaker.closed, breaker.cause))
        runner = HandlerRunner(
            handler,
            self._rules,
            retry_of(handler, session.settings.processing.retries),
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
            run=self._plan.run,
            selects=await make_selector(
                session.settings, handler, self._plan.selection, stage_of(self._plan).decisions, note_decision
            ),
            routes=routes(self._plan),
            pace=self.pace,
            metrics=session.metrics,
            spans=self._tracer.records(handler.name, self.group.name),
        )

    @property
    def preparing(self) -> str:
        """The progress of ``work``, for people; "" if it takes no time."""
        total = sum(count(decided.ranges) for decided in stage_of(self._plan).decisions)
        return f"reads earlier decisions: {self._decisions_read:,} of {total:,}" if total else ""

    @property
    def is_spent(self) -> bool:
        """Whether the cost limit has refused a request."""
        return self._limited.is_spent

    def stop_starting(self) -> bool:
        """Starts no more records, because the cost limit is reached. Returns whether no request is in flight."""
        self.pace.shut = True
        return not self._limited.asking

    def abandon(self) -> None:
        """Leaves records that the cost limit blocks when the group is left; the next run processes them again."""
        self._breaker.open(None)

    def reader(self, work: ReplayProcessor) -> StageReader:
        return StageReader(self._session, self.group, work, self.pace, self._breaker, self._services.shares)
