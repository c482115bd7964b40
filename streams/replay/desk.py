"""What one stage of a plan needs to be worked on: the handler as ever, reading and writing where the plan says.

In goes the plan; out come the subscription, the work on each record, and the consumer group that does it. Retry topics
are left out: what has used up its tries in place becomes a dead letter of the plan, so that a stage has an end.
"""

from __future__ import annotations

import random
from dataclasses import replace

import structlog

from schemas.replays import ReplayPlan
from streams.clock import Clock
from streams.index.ports import IndexDownError
from streams.kafka import group_of
from streams.pipeline.breaker import Breaker
from streams.pipeline.decide import Decider, retry_of
from streams.pipeline.observer import Observer
from streams.replay.pace import Pace
from streams.replay.plan import EVERYTHING, handler_of, is_root, replay_dead_letters
from streams.replay.reading import Reading
from streams.replay.selection import Selector, make_selector
from streams.replay.shadow import routes
from streams.replay.work import ReplaySubscription, ReplayWork, Route
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import Tracer
from streams.world import LiveWorld

log = structlog.get_logger(__name__)


class Desk:
    """The present stage of a plan in this process."""

    def __init__(
        self, settings: Settings, plan: ReplayPlan, clock: Clock, metrics: Metrics, world: LiveWorld, tracer: Tracer
    ) -> None:
        """Takes a plan whose present stage has its ranges, and what the application gives to its handlers."""
        self.handler = replace(handler_of(plan.stages[plan.stage]), retry_later=())
        self.stage = plan.stages[plan.stage]
        self.subscription = ReplaySubscription(handler=self.handler, reads=self.stage.topic, plan=plan.plan)
        self.pace = Pace(plan.rate, clock)
        self._settings = settings
        self._plan = plan
        self._clock = clock
        self._metrics = metrics
        self._world = world
        self._tracer = tracer
        self._breaker = Breaker(settings.processing.breaker, clock)

    async def open(self) -> None:
        """Opens what the handler asks for, which takes longer than a first record should wait.

        Raises:
            IndexSettingsError: The index can't be used as it is configured, or belongs to another process.
        """
        self._world.shares.expect(self.handler.name, [self.subscription.topic])
        if self.handler.lane == "index":
            try:
                await self._world.open_index()
            except IndexDownError as error:
                log.warning("the index can't be reached; records wait until it can", error=str(error))
        elif self.handler.lane == "llm" and not self._settings.llm.offline:
            self._world.open_models()

    async def work(self) -> ReplayWork:
        """The work on each record.

        Raises:
            ReplayError: The selection asks for what the handler does not have.
            KafkaError: The handler's earlier decisions can't be read.
        """
        settings, handler, breaker = self._settings, self.handler, self._breaker
        observer = Observer(self._metrics, handler.name, "replay")
        breaker.listen(lambda: observer.breaker(breaker.closed))
        decider = Decider(
            handler,
            settings.rules(handler.rules),
            retry_of(handler, settings.processing.retries),
            self._world,
            self._clock,
            random.random,
            breaker,
            lambda again, replayed: observer.retried(again.reason, replayed),
        )
        return ReplayWork(
            decider,
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

    def reading(self, work: ReplayWork) -> Reading:
        """The consumer group that does it."""
        return Reading(
            self._settings,
            self.subscription,
            self.stage.ranges,
            work,
            self.pace,
            self._clock,
            self._metrics,
            self._breaker,
            self._world.shares,
        )

    async def _selector(self) -> Selector:
        """Which records are meant; of what the plan itself has written all are."""
        if self._plan.selection == EVERYTHING or not is_root(self.stage):
            return lambda _: True
        return await make_selector(self._settings, self.handler, self._plan.selection, self.stage.decisions)
