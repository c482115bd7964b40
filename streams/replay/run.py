"""Carries out a plan, stage after stage, until it is finished, stopped, cancelled, or out of money (R-009).

The ledger holds the state of the plan, the consumer group of each stage its progress. No other state exists, so a
process may be killed at any moment, and several processes may share a plan.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from aiokafka.errors import KafkaError

from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.clock import Clock
from streams.llm.journal import JournalError
from streams.process import installed_version
from streams.replay.admin import accounts
from streams.replay.admission import asks_models, check_terms, refuse_rivals
from streams.replay.budget import CostBound, bound_of, paid_for
from streams.replay.group import StageReader, await_start, standing_of, starts_of
from streams.replay.ledger import (
    WORKED_ON,
    Ledger,
    Starts,
    after_stage,
    begun,
    has_left,
    moved,
    with_deleted,
    with_stage,
)
from streams.replay.pace import is_live_late
from streams.replay.plan import ReplayError, ReplayTroubleError
from streams.replay.processor import ReplayProcessor, ReplayProgress
from streams.replay.ranges import count, resolve_ranges
from streams.replay.shadow import make_shadow, with_own_index
from streams.replay.stage import StageContext
from streams.services import LiveServices
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import make_tracer

_LOOK_SECONDS = 0.5
_LEDGER_EVERY = 3
"""Looks between two at the ledger, where somebody may have cancelled the plan."""
_LIVE_SECONDS = 2.0
"""Between two looks at live traffic."""


class ReplayRun:
    """This process's work on one plan."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        plan: str,
        clock: Clock,
        metrics: Metrics,
        stop: asyncio.Event,
        tell: Callable[[ReplayProgress], None] = lambda _: None,
        terms: Mapping[str, float] | None = None,
    ) -> None:
        """Prepares; nothing is opened yet.

        Args:
            settings: The configuration that the handlers decide under.
            ledger: Open.
            plan: The plan's name.
            clock: Time.
            metrics: Count what is done.
            stop: Ends the work after what is in hand; the plan is paused then.
            tell: Told about twice a second how far it has come.
            terms: What of the plan is another from now on, by field (``max_cost_usd``, ``rate``). It is written when
                the work begins: a process that is refused leaves the plan as it was.
        """
        self.progress = ReplayProgress(plan)
        self._settings = settings
        self._ledger = ledger
        self._name = plan
        self._run = ""
        self._clock = clock
        self._metrics = metrics
        self._tracer = make_tracer(settings.telemetry, installed_version())
        self._counted_usd: dict[str, float] = {}
        self._stop = stop
        self._tell = tell
        self._terms = dict(terms or {})

    async def run(self) -> ReplayPlan:
        """Carries the plan out from where it stands. Returns it as it stands then.

        Raises:
            ReplayError: There is no such plan, it is over, it was made under another configuration or with another
                judge, its costs can't be kept below their bound, or another plan asks the same models now.
            JournalError: The journal can't be read now.
            TopicsError: The cluster refused a topic.
            KafkaError: The cluster can't be reached.
        """
        await refuse_rivals(self._settings, self._ledger.plans, self._name)
        if (known := self._ledger.plans.get(self._name)) is not None and known.state in WORKED_ON:
            await check_terms(self._settings, known.model_copy(update=self._terms), self._clock.now().timestamp())
            self._run = known.run
        plan = await self._changed(lambda newest: begun(newest, self._terms, shared=bool(self._run)))
        if plan.state is ReplayState.FINISHED:
            return plan
        self._run = plan.run
        try:
            return await self._carry(plan)
        except Exception as error:
            # It stands as running, and nobody would know why nobody works on it.
            with contextlib.suppress(KafkaError, OSError, ReplayError):
                await self._pause(f"{error}"[:500] or type(error).__name__)
            raise

    async def _carry(self, plan: ReplayPlan) -> ReplayPlan:
        """All that is left of a plan that runs."""
        await make_shadow(self._settings, plan)
        bound = bound_of(self._settings, plan.run, plan.max_cost_usd) if asks_models(plan) else None
        own = with_own_index(self._settings, plan)
        services = LiveServices(own, self._metrics, journal=bound, replaying=True, tracer=self._tracer)
        try:
            if bound is not None:
                self.progress.spent_usd = await bound.spent()
            while plan.stage < len(plan.stages) and plan.state is ReplayState.RUNNING:
                plan = await self._stage(plan, services, bound)
        finally:
            await services.aclose()
            await self._tracer.aclose()
            if bound is not None:
                await bound.aclose()
        return plan

    async def _stage(self, plan: ReplayPlan, services: LiveServices, bound: CostBound | None) -> ReplayPlan:
        """One stage to its end, or to where it must stop. Returns the plan after it."""
        at = plan.stage
        plan = await self._with_ranges(plan, at)
        if has_left(plan, at):
            return plan
        stage = plan.stages[at]
        context = StageContext(self._settings, plan, self._clock, self._metrics, services, self._tracer, bound)
        # Both at once: whoever sees that it has begun finds the offsets, and nobody sets them back.
        starts = starts_of(self._settings, context.subscription, stage.ranges)
        plan = await self._changed(lambda newest: with_stage(newest, at, begun=True), starts)
        if has_left(plan, at):
            return plan
        await await_start(self._settings, context.subscription, stage.ranges, self._clock)
        await context.open()
        progress = self.progress
        progress.handler, progress.stage, progress.stages = stage.handler, at, len(plan.stages)
        progress.total = progress.remaining = count(stage.ranges)
        work = await self._prepared(context)
        if isinstance(work, str):
            return await self._ended(at, context, work)
        reading = context.reading(work, self._is_ours)
        await self._look_at_live(plan, context)
        watch = asyncio.create_task(self._watch_live(plan, context), name="live traffic")
        try:
            async with reading:
                why = await self._until_done(plan, at, reading, work, context, bound)
            await self._count_cost(stage.handler, bound)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self._metrics.replay_waiting.labels(stage.handler).set(0)
        return await self._ended(at, context, why)

    async def _prepared(self, context: StageContext) -> ReplayProcessor | str:
        """The work on each record, which may take a while to prepare, or why it ended before that."""
        preparing = asyncio.create_task(context.work(), name="preparing")
        try:
            while not preparing.done():
                if note := context.preparing:
                    self.progress.note = note
                    self._tell(self.progress)
                if self._stop.is_set():
                    return "stopped"
                if ended := await self._is_ended():
                    return ended
                await asyncio.wait({preparing}, timeout=_LOOK_SECONDS)
            return preparing.result()
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)

    async def _until_done(
        self,
        plan: ReplayPlan,
        at: int,
        reading: StageReader,
        work: ReplayProcessor,
        context: StageContext,
        bound: CostBound | None,
    ) -> str | None:
        """Waits until the stage is done; returns why it ended before that, None where it is done."""
        progress, looks = self.progress, 0
        before = (progress.replayed, progress.passed_over, progress.dead)
        handler = plan.stages[at].handler
        lost: list[OffsetRange] = []
        while True:
            standing = await reading.standing()
            lost += await reading.deleted()
            with contextlib.suppress(KafkaError, OSError):
                plan = await self._noted(plan, at, lost)
            progress.deleted = sum(count(stage.deleted) for stage in plan.stages)
            if standing is not None:
                progress.remaining, progress.members = standing.remaining, standing.members
            progress.replayed, progress.passed_over = before[0] + work.replayed, before[1] + work.passed_over
            progress.dead = before[2] + work.dead
            progress.note = "gives way to live traffic" if context.pace.waiting else reading.held_up
            if standing is None:
                progress.note = "Kafka does not tell how far it is"
            await self._count_cost(handler, bound)
            self._metrics.replay_remaining_records.labels(handler).set(reading.own_remaining)
            self._tell(progress)
            if standing is not None and not standing.remaining:
                return None
            if context.is_spent and (context.stop_starting() or self._stop.is_set()):
                context.abandon()
                return f"the bound of {plan.max_cost_usd:g} USD is reached; resume it with --max-cost MORE"
            if self._stop.is_set():
                return "stopped"
            looks += 1
            if looks % _LEDGER_EVERY == 0 and (ended := await self._is_ended()):
                return ended
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._stop.wait()

    async def _noted(self, plan: ReplayPlan, at: int, lost: list[OffsetRange]) -> ReplayPlan:
        """The plan with what was deleted before it could be read; takes that from the list once it is written."""
        if lost:
            plan = await self._changed(lambda newest: with_deleted(newest, at, lost))
            lost.clear()
        return plan

    async def _ended(self, at: int, context: StageContext, why: str | None) -> ReplayPlan:
        """The plan after a stage that is done, or was stopped."""
        if why is None:
            return await self._changed(lambda newest: after_stage(newest, at))
        with contextlib.suppress(KafkaError, OSError):
            left = await standing_of(self._settings, context.subscription, context.stage.ranges)
            self.progress.remaining = self.progress.remaining if left is None else left.remaining
        newest = await self._pause(why)
        return moved(newest, ReplayState.PAUSED, why) if newest.state is ReplayState.RUNNING else newest

    async def _pause(self, why: str) -> ReplayPlan:
        """The plan after this process has left it: others that share it go on with it."""
        others = 0
        with contextlib.suppress(KafkaError, OSError):
            [account] = await accounts(self._settings, [(await self._ledger.refresh())[self._name]])
            others = account.members

        def paused(newest: ReplayPlan) -> ReplayPlan | None:
            # And a plan that is over stays over.
            if others or newest.state is not ReplayState.RUNNING:
                return None
            return moved(newest, ReplayState.PAUSED, why)

        return await self._changed(paused)

    async def _is_ended(self) -> str:
        """Why somebody else has ended the plan; "" where nobody has."""
        with contextlib.suppress(KafkaError, OSError):
            await self._ledger.refresh()
        newest = self._ledger.plans[self._name]
        if newest.run != self._run:
            return "it was dropped"
        return "" if newest.state in (ReplayState.RUNNING, ReplayState.PAUSED) else f"it was {newest.state}"

    async def _is_ours(self) -> bool:
        """Whether the plan is still there, and the one that was begun here."""
        newest = (await self._ledger.refresh())[self._name]
        return newest.run == self._run and newest.state is not ReplayState.DROPPED

    async def _watch_live(self, plan: ReplayPlan, context: StageContext) -> None:
        while True:
            await self._clock.sleep(_LIVE_SECONDS)
            await self._look_at_live(plan, context)

    async def _look_at_live(self, plan: ReplayPlan, context: StageContext) -> None:
        """Holds the replay up while live traffic of the same handler is late."""
        if plan.give_way:
            with contextlib.suppress(KafkaError, OSError, TimeoutError):
                context.pace.waiting = await is_live_late(self._settings, context.handler, self._clock)
        self._metrics.replay_waiting.labels(context.handler.name).set(context.pace.waiting)

    async def _count_cost(self, handler: str, bound: CostBound | None) -> None:
        if bound is None:
            return
        with contextlib.suppress(JournalError):
            self.progress.spent_usd = await bound.spent()
        # The account also has what is booked for calls under way, and what other processes spend.
        paid = paid_for(self._metrics, handler)
        self._metrics.replay_cost_usd_total.labels(handler).inc(max(0.0, paid - self._counted_usd.get(handler, 0.0)))
        self._counted_usd[handler] = paid

    async def _with_ranges(self, plan: ReplayPlan, at: int) -> ReplayPlan:
        """The plan with the ranges of a stage; those of a shadow are known when it is written.

        Its writers have committed by then, but what they wrote may not be readable yet.
        """
        stage = plan.stages[at]
        if stage.ranges:
            return plan
        ranges = await resolve_ranges(self._settings, stage.topic, whole=True)
        return await self._changed(lambda newest: with_stage(newest, at, ranges=ranges))

    async def _changed(
        self, change: Callable[[ReplayPlan], ReplayPlan | None], starts: Starts | None = None
    ) -> ReplayPlan:
        def checked(newest: ReplayPlan | None) -> ReplayPlan | None:
            if newest is None:
                raise ReplayError(f"there is no plan {self._name!r}; `assay replay list` shows those there are")
            if self._run and newest.run != self._run:
                raise ReplayTroubleError(f"the plan {self._name} was dropped, and another one has its name now")
            return change(newest)

        after = await self._ledger.change(self._name, checked, starts)
        return after or self._ledger.plans[self._name]
