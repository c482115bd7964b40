"""Promotes a finished plan: copies its records from the shadow topics to the live topics, each exactly once.

Only results of handlers that read live topics are copied. The live handlers make the rest from them, under the same
ids, without paying models again, because the journal has the answers. The pipeline does the copying, so a promotion can
be killed and resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from aiokafka.errors import KafkaError

from schemas.replays import ReplayPlan, ReplayStage, ReplayState, ReplayTarget
from streams.clock import Clock
from streams.pipeline.breaker import Breaker
from streams.replay.admin import known
from streams.replay.group import StageReader, await_start, starts_of
from streams.replay.ledger import Ledger, Starts, moved
from streams.replay.pace import ReplayRate
from streams.replay.plan import (
    ReplayError,
    ReplayTroubleError,
    check_readers,
    handler_of,
    is_root,
    is_withheld,
    promotion_group,
    replay_dead_letters,
    shadow_topic,
)
from streams.replay.processor import PromotionProcessor, ReplayProgress, ReplaySubscription
from streams.replay.ranges import count, resolve_ranges
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import topic_named

_LOOK_SECONDS = 0.5
_LEDGER_EVERY = 3
"""Looks between two at the ledger, where somebody may have dropped the plan."""


async def promote(
    settings: Settings,
    ledger: Ledger,
    name: str,
    clock: Clock,
    metrics: Metrics,
    stop: asyncio.Event,
    *,
    readers_dedupe: bool,
    fetch: bool,
    tell: Callable[[ReplayProgress], None] = lambda _: None,
) -> ReplayPlan:
    """Copies a finished plan's results to the live topics, from where an earlier try has come to.

    Args:
        settings: Where Kafka is.
        ledger: Open.
        name: The plan's.
        clock: Time.
        metrics: Count what is done.
        stop: Ends the work after what is in hand.
        readers_dedupe: The operator says that readers of the live topics take a second copy for the same.
        fetch: Also what the fetch worker will go and fetch.
        tell: Told how far it has come.

    Returns:
        The plan as it stands then; ``promoting`` where it was stopped.

    Raises:
        ReplayError: The plan is not finished, can't be promoted, or needs another option.
        KafkaError: The cluster can't be reached.
    """
    return await _Promotion(settings, ledger, name, clock, metrics, stop, fetch, tell).run(readers_dedupe)


class _Promotion:
    """One process's part in making a plan live: its copies, one after another."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        name: str,
        clock: Clock,
        metrics: Metrics,
        stop: asyncio.Event,
        fetch: bool,
        tell: Callable[[ReplayProgress], None],
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._name = name
        self._run = ""
        self._clock = clock
        self._metrics = metrics
        self._stop = stop
        self._fetch = fetch
        self._tell = tell
        self._progress = ReplayProgress(name)

    async def run(self, readers_dedupe: bool) -> ReplayPlan:
        plan = _promotable(self._ledger.plans.get(self._name), self._name, self._fetch)
        self._run = plan.run
        if not readers_dedupe:
            check_readers([live for _, live in self._wanted(plan)])
        done: set[tuple[int, str]] = set()
        while True:
            left = [copy for copy in self._wanted(plan) if copy not in done]
            if not left:
                plan = await self._changed(lambda newest: _after(newest, done, self._progress.deleted))
                if plan.state is not ReplayState.PROMOTING:
                    return plan
                continue
            self._progress.stage, self._progress.stages = len(done), len(done) + len(left)
            plan = await self._copy(plan, *left[0])
            if plan.state is not ReplayState.PROMOTING:
                return plan
            if self._stop.is_set() and (self._progress.remaining or len(left) > 1):
                return plan
            done.add(left[0])

    def _wanted(self, plan: ReplayPlan) -> list[tuple[int, str]]:
        """Stages that read live topics, by their number, with the live topics that are to have what they wrote."""
        copies = list(_copies(plan))
        if plan.state is ReplayState.PROMOTED:
            return [copy for copy in copies if copy in held_back(plan)]
        return [copy for copy in copies if self._fetch or copy not in held_back(plan)]

    async def _copy(self, plan: ReplayPlan, at: int, live: str) -> ReplayPlan:
        """One copy to its end, or to where it must stop. Returns the plan after it."""
        settings, progress = self._settings, self._progress
        subscription = _subscription(plan, plan.stages[at], live)
        ranges = await resolve_ranges(settings, subscription.topic, whole=True)
        # Together with the word that it has begun: nobody else can set the group back after that.
        starts = starts_of(settings, subscription, ranges)
        plan = await self._changed(lambda newest: _begun(newest, at, live), starts)
        if plan.state is not ReplayState.PROMOTING:
            return plan
        await await_start(settings, subscription, ranges, self._clock)
        letters = replay_dead_letters(subscription.handler, self._name)
        work = PromotionProcessor(subscription.handler, live, letters, self._clock)
        pace, breaker = ReplayRate(None, self._clock), Breaker(settings.processing.breaker, self._clock)
        progress.handler, progress.total = live, count(ranges)
        progress.remaining, copied, looks = progress.total, progress.replayed, 0
        async with StageReader(
            settings, subscription, ranges, work, pace, self._clock, self._metrics, breaker, self._is_ours
        ) as reading:
            while True:
                standing = await reading.standing()
                progress.deleted += count(tuple(await reading.deleted()))
                progress.replayed = copied + work.copied
                progress.note = reading.held_up if standing is not None else "Kafka does not tell how far it is"
                if standing is not None:
                    progress.remaining, progress.members = standing.remaining, standing.members
                self._tell(progress)
                if self._stop.is_set() or not progress.remaining:
                    return plan
                looks += 1
                if looks % _LEDGER_EVERY == 0:
                    plan = await self._newest(plan)
                    if plan.state not in (ReplayState.PROMOTING, ReplayState.PROMOTED):
                        return plan
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._stop.wait()

    async def _newest(self, plan: ReplayPlan) -> ReplayPlan:
        with contextlib.suppress(KafkaError, OSError):
            await self._ledger.refresh()
        newest = self._ledger.plans[self._name]
        return newest if newest.run == self._run else moved(plan, ReplayState.DROPPED)

    async def _is_ours(self) -> bool:
        newest = (await self._ledger.refresh())[self._name]
        return newest.run == self._run and newest.state is not ReplayState.DROPPED

    async def _changed(
        self, change: Callable[[ReplayPlan], ReplayPlan | None], starts: Starts | None = None
    ) -> ReplayPlan:
        def checked(newest: ReplayPlan | None) -> ReplayPlan | None:
            if newest is None or newest.run != self._run or newest.state is ReplayState.DROPPED:
                raise ReplayTroubleError(f"the plan {self._name} was dropped meanwhile; what is copied stays")
            return change(newest)

        return await self._ledger.change(self._name, checked, starts) or self._ledger.plans[self._name]


def held_back(plan: ReplayPlan) -> list[tuple[int, str]]:
    """Stages and live topics of what is promoted only where it is asked for: somebody would fetch what it names."""
    return [
        (at, live)
        for at, stage in enumerate(plan.stages)
        for live in stage.rewritten
        if is_root(stage)
        and live not in stage.promoting
        and (topic := topic_named(live)) is not None
        and is_withheld(topic)
    ]


def _promotable(plan: ReplayPlan | None, name: str, fetch: bool) -> ReplayPlan:
    plan = known(plan, name)
    if plan.target is ReplayTarget.LIVE:
        raise ReplayError(f"the plan {name} wrote to the live topics; there is nothing to promote")
    if plan.state is ReplayState.PROMOTED:
        if not (back := held_back(plan)):
            raise ReplayError(f"the plan {name} is promoted already")
        if not fetch:
            topics = ", ".join(dict.fromkeys(live for _, live in back))
            raise ReplayError(f"the plan {name} is promoted but for {topics}, which goes live with --fetch")
    elif plan.state not in (ReplayState.FINISHED, ReplayState.PROMOTING):
        raise ReplayError(
            f"the plan {name} is {plan.state}, and only a finished one can be promoted; "
            f"`assay replay resume {name}` first"
        )
    return plan


def _begun(newest: ReplayPlan, at: int, live: str) -> ReplayPlan | None:
    """The plan with a copy that has begun; None where it has already, and, where it is promoted, is done."""
    stage = newest.stages[at]
    if live in stage.promoting:
        return None
    stages = list(newest.stages)
    stages[at] = stage.model_copy(update={"promoting": (*stage.promoting, live)})
    return moved(newest.model_copy(update={"stages": tuple(stages)}), ReplayState.PROMOTING)


def _after(newest: ReplayPlan, done: set[tuple[int, str]], deleted: int) -> ReplayPlan | None:
    """The plan after these copies are done; None where others have begun more, or have said so already."""
    begun = {(at, live) for at, stage in enumerate(newest.stages) for live in stage.promoting}
    if newest.state is ReplayState.PROMOTED or not begun <= done:
        return None
    detail = f"{deleted:,} offsets of its topics were deleted before they could be copied" if deleted else ""
    return moved(newest, ReplayState.PROMOTED, detail)


def _copies(plan: ReplayPlan) -> Iterator[tuple[int, str]]:
    """Stages that read live topics, by their number, with the live topics of what they wrote."""
    for at, stage in enumerate(plan.stages):
        if not is_root(stage):
            continue
        if handler_of(stage).writes_index:
            raise ReplayError(
                f"{stage.handler} writes to the index, and a copy of its topic would say what is not so; replay it "
                "with --to-live, or promote what it reads"
            )
        for live in stage.rewritten:
            yield at, live


def _subscription(plan: ReplayPlan, stage: ReplayStage, live: str) -> ReplaySubscription:
    handler = replace(handler_of(stage), concurrency=1, retry_later=(), ordered_by_key=True)
    reads, group = shadow_topic(live, plan.plan), promotion_group(stage.handler, plan, live)
    return ReplaySubscription(handler=handler, reads=reads, own_group=group)
