"""One stage of a plan: its subscription, processing and consumer group, with the services below a cost limit.

Retry topics are not used: a record whose attempts are exhausted becomes a dead letter of the plan, so a stage has an
end.

A model request that exceeds the cost limit is not answered. Its record stays uncommitted, and the next run processes it
again. An error would look like a provider that is down, and would use up attempts and open circuit breakers.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog

from schemas.needs import Need
from schemas.replays import ReplayPlan
from schemas.replies import ModelUnavailable, Reply
from streams.clock import Clock
from streams.index.ports import IndexDownError
from streams.kafka.clients import group_of
from streams.pipeline.breaker import Breaker
from streams.pipeline.handler_runner import HandlerRunner, Services, retry_of
from streams.pipeline.metrics import PipelineMetrics
from streams.replay.budget import CostBound
from streams.replay.group import StageReader
from streams.replay.pace import ReplayRate
from streams.replay.plan import EVERYTHING, handler_of, is_root, replay_dead_letters, run_group
from streams.replay.processor import ReplayProcessor, ReplaySubscription, Route
from streams.replay.ranges import count
from streams.replay.selection import Selector, make_selector
from streams.replay.shadow import routes
from streams.services import LiveServices
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import Tracer

log = structlog.get_logger(__name__)


class CostLimitedServices:
    """A ``Services`` whose refused questions wait for the end of the stage."""

    def __init__(self, services: Services, bound: CostBound | None) -> None:
        """Takes the services, and the cost limit; None if nothing is paid."""
        self._services = services
        self._bound = bound
        self.asking = 0
        """Needs that are being answered."""

    @property
    def is_spent(self) -> bool:
        """Whether the bound has refused a question."""
        return self._bound is not None and self._bound.reached.is_set()

    async def answer(self, need: Need, run: str | None) -> Reply:
        """The reply to a need; does not return where the money is spent and nobody has answered."""
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
        self,
        settings: Settings,
        plan: ReplayPlan,
        clock: Clock,
        metrics: Metrics,
        services: LiveServices,
        tracer: Tracer,
        bound: CostBound | None,
    ) -> None:
        """Takes a plan whose present stage has its ranges, what the application gives to its handlers, and a bound."""
        self.handler = replace(handler_of(plan.stages[plan.stage]), retry_later=())
        self.stage = plan.stages[plan.stage]
        group = run_group(self.handler.name, plan)
        self.subscription = ReplaySubscription(handler=self.handler, reads=self.stage.topic, own_group=group)
        self.pace = ReplayRate(plan.rate, clock)
        self._settings = settings
        self._plan = plan
        self._clock = clock
        self._metrics = metrics
        self._services = services
        self._tracer = tracer
        self._breaker = Breaker(settings.processing.breaker, clock)
        self._bounded = CostLimitedServices(services, bound)
        self._decisions = 0

    async def open(self) -> None:
        """Opens what the handler asks for, which takes longer than a first record should wait.

        Raises:
            IndexSettingsError: The index can't be used as it is configured, or belongs to another process.
        """
        self._services.shares.expect(self.handler.name, [self.subscription.topic])
        if self.handler.needs_index:
            try:
                await self._services.open_index()
            except IndexDownError as error:
                log.warning("the index can't be reached; records wait until it can", error=str(error))
        if self.handler.asks_models and not self._settings.llm.offline:
            self._services.open_models()

    async def work(self) -> ReplayProcessor:
        """The work on each record.

        Raises:
            ReplayError: The selection asks for what the handler does not have.
            KafkaError: The handler's earlier decisions can't be read.
        """
        settings, handler, breaker = self._settings, self.handler, self._breaker
        observer = PipelineMetrics(self._metrics, handler.name, "replay")
        # Where the money is spent nothing is down.
        breaker.listen(lambda: None if self._bounded.is_spent else observer.breaker(breaker.closed, breaker.cause))
        runner = HandlerRunner(
            handler,
            settings.rules(handler.rules),
            retry_of(handler, settings.processing.retries),
            self._bounded,
            self._clock,
            random.random,
            breaker,
            lambda again, replayed: observer.retried(again.reason, replayed),
        )
        return ReplayProcessor(
            runner,
            self._clock,
            observer,
            run=self._plan.run,
            means=await self._selector(),
            route=Route(
                routes(self._plan, handler, self.stage.rewritten), replay_dead_letters(handler, self._plan.plan)
            ),
            pace=self.pace,
            metrics=self._metrics,
            spans=self._tracer.records(handler.name, group_of(settings.kafka, self.subscription)),
        )

    @property
    def preparing(self) -> str:
        """What ``work`` is at, for people; "" where that takes no time."""
        total = sum(count(its.ranges) for its in self.stage.decisions)
        return f"reads earlier decisions: {self._decisions:,} of {total:,}" if total else ""

    @property
    def is_spent(self) -> bool:
        """Whether the bound of costs has refused a question."""
        return self._bounded.is_spent

    def stop_starting(self) -> bool:
        """Starts no more records, as there is no money for them. Returns whether the last replies have come."""
        self.pace.shut = True
        return not self._bounded.asking

    def abandon(self) -> None:
        """What waits for money is not waited for when the group is left; whoever goes on does it again."""
        self._breaker.open(None)

    def reading(self, work: ReplayProcessor, is_ours: Callable[[], Awaitable[bool]]) -> StageReader:
        """The consumer group that does it, while the plan is ours."""
        return StageReader(
            self._settings,
            self.subscription,
            self.stage.ranges,
            work,
            self.pace,
            self._clock,
            self._metrics,
            self._breaker,
            is_ours,
            self._services.shares,
        )

    async def _selector(self) -> Selector:
        """Which records are meant; of what the plan itself has written all are."""
        if self._plan.selection == EVERYTHING or not is_root(self.stage):
            return lambda _: True
        return await make_selector(
            self._settings, self.handler, self._plan.selection, self.stage.decisions, self._note_decision
        )

    def _note_decision(self) -> None:
        self._decisions += 1
