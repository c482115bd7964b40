"""One stage of a plan in this process: its processing, with the services below a cost limit.

Retry topics are not used: a record whose attempts are exhausted becomes a dead letter of the plan, so a stage has an
end.

A model request that exceeds the cost limit is not answered. Its record stays uncommitted, and the next run processes it
again. An error would look like a provider that is down, and would use up attempts and open circuit breakers.
"""

from __future__ import annotations

import asyncio
import random

import structlog

from schemas.needs import Need
from schemas.replays import ReplayPlan
from schemas.replies import ModelUnavailable, Reply
from streams.index.ports import IndexDownError
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner, Services
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.services import LiveServices
from streams.replay.budget import CostBound
from streams.replay.group import PlanGroup, StageReader
from streams.replay.pace import ReplayRate
from streams.replay.plan import EVERYTHING
from streams.replay.processor import ReplayProcessor, Route
from streams.replay.ranges import count
from streams.replay.selection import Selector, make_selector
from streams.replay.session import PlanSession
from streams.replay.shadow import routes
from streams.telemetry.tracing import Tracer
from streams.topology.names import replay_dead_letters
from streams.workers.handler_jobs import handler_pool

log = structlog.get_logger(__name__)


class CostLimitedServices:
    """A ``Services`` that does not return from a model request that the cost limit refused."""

    def __init__(self, services: Services, bound: CostBound | None) -> None:
        """Takes the services, and the cost limit; None if nothing is paid."""
        self._services = services
        self._bound = bound
        self.asking = 0
        """Requests in flight."""

    @property
    def is_spent(self) -> bool:
        """Whether the cost limit has refused a request."""
        return self._bound is not None and self._bound.reached.is_set()

    async def answer(self, need: Need, run: str | None) -> Reply:
        """The reply to a need; waits for ever if the cost limit has refused it."""
        self.asking += 1
        try:
            reply = await self._services.answer(need, run)
        finally:
            self.asking -= 1
        if self.is_spent and isinstance(reply, ModelUnavailable):
            await asyncio.get_running_loop().create_future()
        return reply


class StageContext:
    """The present stage of a plan in this process."""

    def __init__(
        self, session: PlanSession, plan: ReplayPlan, services: LiveServices, tracer: Tracer, bound: CostBound | None
    ) -> None:
        """Takes a plan whose present stage has its ranges; ``bound`` is None if nothing is paid."""
        self.at = plan.stage
        self.stage = plan.stages[plan.stage]
        self.group = PlanGroup.of_stage(session.settings.kafka, plan, self.stage)
        self.handler = self.group.subscription.handler
        self.pace = ReplayRate(plan.rate, session.clock)
        self.bound = bound
        self._session = session
        self._plan = plan
        self._services = services
        self._tracer = tracer
        self._breaker = Breaker(session.settings.processing.breaker, session.clock)
        self._limited = CostLimitedServices(services, bound)
        self._decisions = 0
        self._rules = session.settings.rules(self.handler.rules)
        self._pool = handler_pool([(self.handler, self._rules)], session.settings.workers, session.metrics)

    async def open(self) -> None:
        """Opens the handler's services, which takes longer than a first record should wait.

        Raises:
            ChildStartError: A child process could not start.
            IndexSettingsError: The index can't be used as it is configured, or belongs to another process.
        """
        self._services.shares.expect(self.handler.name, [self.stage.topic])
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
        """Ends the child processes."""
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
            run=self._plan.run,
            selects=await self._selector(),
            route=Route(
                routes(self._plan, handler, self.stage.rewritten), replay_dead_letters(handler, self._plan.plan)
            ),
            pace=self.pace,
            metrics=session.metrics,
            spans=self._tracer.records(handler.name, self.group.name),
        )

    @property
    def preparing(self) -> str:
        """The progress of ``work``, for people; "" if it takes no time."""
        total = sum(count(its.ranges) for its in self.stage.decisions)
        return f"reads earlier decisions: {self._decisions:,} of {total:,}" if total else ""

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
        """The membership in the consumer group of the stage."""
        return StageReader(self._session, self.group, work, self.pace, self._breaker, self._services.shares)

    async def _selector(self) -> Selector:
        if self._plan.selection == EVERYTHING:
            return lambda _: True
        return await make_selector(
            self._session.settings, self.handler, self._plan.selection, self.stage.decisions, self._note_decision
        )

    def _note_decision(self) -> None:
        self._decisions += 1
