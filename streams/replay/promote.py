"""A finished shadow becomes live: its records are copied to the live topics, as they are, each exactly once.

Promoted is what handlers wrote that read live topics. What other stages of the plan wrote hangs below that: the live
handlers make it of what is promoted, under the same ids, and models are not paid again, for their answers are kept.
The pipeline does the copying, so it may be killed at any moment and gone on with, like the plan itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from aiokafka import ConsumerRecord

from schemas.event import Provenance
from schemas.outcome import Dead, Stage
from schemas.replays import ReplayPlan, ReplayStage, ReplayState, ReplayTarget
from streams.clock import Clock
from streams.codec import OutputRecord
from streams.pipeline.breaker import Breaker
from streams.pipeline.dead_letters import dead_letter
from streams.pipeline.origin import Origin
from streams.pipeline.subscription import Subscription
from streams.pipeline.work import Done, Pending
from streams.replay.ledger import Ledger, moved
from streams.replay.pace import Pace
from streams.replay.plan import (
    ReplayError,
    check_readers,
    handler_of,
    is_root,
    is_withheld,
    replay_dead_letters,
    replay_group,
    shadow_topic,
)
from streams.replay.ranges import count, resolve_ranges
from streams.replay.reading import Reading, set_to_start
from streams.replay.run import Progress
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import Handler, topic_named

_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class PromotionSubscription(Subscription):
    """One shadow of a plan, read by a group of its own."""

    live: str = ""
    plan: str = ""

    @property
    def topic(self) -> str:
        """The shadow topic."""
        return shadow_topic(self.live, self.plan)

    @property
    def group(self) -> str:
        """The group that copies it."""
        return f"{replay_group(self.handler.name, self.plan)}.promote.{self.live}"


class CopyWork:
    """Copies one handler's records from a shadow to the live topic; others on the same shadow are not its own."""

    def __init__(self, handler: Handler, live: str, letters: str, clock: Clock) -> None:
        """Takes whose records, where they go, where one goes that the live topic does not take, and time."""
        self._handler = handler
        self._source = f"assay/{handler.name}".encode()
        self._live = live
        self._letters = letters
        self._clock = clock
        self.copied = 0
        """Records copied in this process."""

    def origin(self, record: ConsumerRecord) -> Origin:
        """Where a record stands."""
        return Origin.of(record, retried=False)

    def begin(self, record: ConsumerRecord) -> Done:
        """The record as it is, on the live topic."""
        if dict(record.headers).get("ce_source") != self._source:
            return Done.of()
        self.copied += 1
        return Done.of(OutputRecord(self._live, record.key, record.value, tuple(record.headers)))

    async def complete(self, record: ConsumerRecord, pending: Pending) -> Done:  # noqa: ARG002 - the port's signature
        """A copy never waits for the world."""
        return self.begin(record)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:
        """The dead letter of a record that the live topic does not take."""
        origin = self.origin(record)
        letter = dead_letter(
            self._handler,
            origin,
            record.key,
            record.value,
            record.headers,
            refusal,
            Stage.ENCODE,
            Provenance.of(record.headers, origin.identity),
            self._clock.now(),
        )
        return Done.of(letter._replace(topic=self._letters))


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
    tell: Callable[[Progress], None] = lambda _: None,
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
    plan = _promotable(ledger.plans.get(name), name)
    copies = list(_copies(plan, fetch))
    if not readers_dedupe:
        check_readers([live for _, live in copies])
    begun = plan.state is ReplayState.PROMOTING
    subscriptions = [_subscription(plan, stage, live) for stage, live in copies]
    ranges = [await resolve_ranges(settings, its.topic) for its in subscriptions]
    for subscription, its in zip(subscriptions, ranges, strict=True):
        await set_to_start(settings, subscription, its, anew=not begun)
    await _enter(ledger, name, ReplayState.PROMOTING)
    progress = Progress(name, stages=len(copies))
    for number, (subscription, its) in enumerate(zip(subscriptions, ranges, strict=True)):
        work = CopyWork(subscription.handler, subscription.live, replay_dead_letters(subscription.handler, name), clock)
        pace = Pace(None, clock)
        breaker = Breaker(settings.processing.breaker, clock)
        progress.handler, progress.stage, progress.total = subscription.live, number, count(its)
        copied = progress.replayed
        async with Reading(settings, subscription, its, work, pace, clock, metrics, breaker) as reading:
            while (standing := await reading.standing()) is None or standing.remaining:
                progress.replayed = copied + work.copied
                if standing is not None:
                    progress.remaining, progress.members = standing.remaining, standing.members
                tell(progress)
                if stop.is_set():
                    return plan.model_copy(update={"state": ReplayState.PROMOTING})
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await stop.wait()
        progress.remaining, progress.replayed = 0, copied + work.copied
        tell(progress)
    return await _enter(ledger, name, ReplayState.PROMOTED)


def _promotable(plan: ReplayPlan | None, name: str) -> ReplayPlan:
    if plan is None:
        raise ReplayError(f"there is no plan {name!r}; `assay replay list` shows those there are")
    if plan.target is ReplayTarget.LIVE:
        raise ReplayError(f"the plan {name} wrote to the live topics; there is nothing to promote")
    if plan.state not in (ReplayState.FINISHED, ReplayState.PROMOTING):
        todo = f"; `assay replay resume {name}` first" if plan.state is not ReplayState.PROMOTED else ""
        raise ReplayError(f"the plan {name} is {plan.state}, and only a finished one can be promoted{todo}")
    return plan


def _copies(plan: ReplayPlan, fetch: bool) -> Iterator[tuple[ReplayStage, str]]:
    """Stages that read live topics, with the live topics of what they wrote."""
    for stage in plan.stages:
        if not is_root(stage):
            continue
        if handler_of(stage).lane == "index":
            raise ReplayError(
                f"{stage.handler} writes to the index, and a copy of its topic would say what is not so; replay it "
                "with --to-live, or promote what it reads"
            )
        for live in stage.rewritten:
            topic = topic_named(live)
            if topic is not None and (fetch or not is_withheld(topic)):
                yield stage, live


def _subscription(plan: ReplayPlan, stage: ReplayStage, live: str) -> PromotionSubscription:
    handler = replace(handler_of(stage), concurrency=1, retry_later=(), ordered_by_key=True)
    return PromotionSubscription(handler=handler, live=live, plan=plan.plan)


async def _enter(ledger: Ledger, name: str, state: ReplayState) -> ReplayPlan:
    def entered(newest: ReplayPlan | None) -> ReplayPlan | None:
        plan = newest if newest is not None and newest.state is ReplayState.PROMOTED else _promotable(newest, name)
        return None if plan.state is state else moved(plan, state)

    after = await ledger.change(name, entered)
    return after or ledger.plans[name]
