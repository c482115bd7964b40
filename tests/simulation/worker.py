"""A simulated worker: the real intake, groups, committers and clients, with one handler that runs in the process."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import Callable, Sequence

from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from schemas.event import Run
from schemas.needs import Ask, FetchPages, Need
from schemas.outcome import Emit, Outcome
from schemas.replies import PagesReply, Reply
from schemas.rules import Rules
from streams.pipeline import commit
from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import Committer, CommitterFactory, committer_factory
from streams.pipeline.group import ConsumerGroup, subscriptions
from streams.pipeline.handler_runner import HandlerRunner
from streams.pipeline.health import Health
from streams.pipeline.intake import IntakeBroker
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import RecordProcessor
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import Handler
from streams.topology.codec import OutputRecord
from tests.faults.chain import ARRIVED, AUDITED, ENTERED, Arrived, Audited, Entered, NoRules
from tests.faults.ledger import with_transaction
from tests.streams.doubles import nothing_missing

LARGEST = 8_000
"""Bytes of a batch that the topic of arrivals takes; the output of a ``big`` record is larger."""
_LOOK_SECONDS = 0.3
_METRICS = Metrics(CollectorRegistry())


def relay(record: Entered, rules: Rules) -> Outcome | Ask:
    """Asks for an effect outside of Kafka."""
    if record.kind == "poison":
        raise ValueError("poison")
    return Ask(FetchPages((record.id,), record.kind))


def pass_on(record: Entered, replies: tuple[Reply, ...], rules: Rules) -> Outcome:
    """Writes to two topics, so that half of a transaction can be missing; what is too large for one, to that only."""
    if record.kind == "big":
        padding = random.Random(record.id).randbytes(2 * LARGEST).hex()
        return Emit((Arrived(key=record.key, number=record.number, kind=record.kind, padding=padding),))
    return Emit(
        (
            Arrived(key=record.key, number=record.number, kind=record.kind),
            Audited(key=record.key, number=record.number, kind=record.kind),
        )
    )


def handler_of(ordered: bool) -> Handler:
    """The handler: ordered by key, or with a retry topic."""
    return Handler(
        name="relay", fn=relay, read=pass_on, consumes=ENTERED, emits=(ARRIVED, AUDITED), rules=NoRules, lane="llm",
        slo_seconds=60, asks=frozenset({FetchPages}), rounds=1, concurrency=4, ordered_by_key=ordered,
        retry_later=() if ordered else (1,),
    )  # fmt: skip


class Effects:
    """The world outside of Kafka: one effect for each id, however often it is asked for."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self.done: dict[str, str] = {}
        """The kind of the record by effect id."""
        self._calls: set[str] = set()

    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002
        """Has the effect; the first call for a ``later`` record fails."""
        assert isinstance(need, FetchPages)
        [name] = need.urls
        await asyncio.sleep(random.random() ** 3 * 0.05)
        first = name not in self._calls
        self._calls.add(name)
        if need.query == "later" and first:
            raise ConnectionError("not at the first time")
        self.done[name] = need.query
        return PagesReply(())


async def work(
    settings: Settings,
    handler: Handler,
    clock: Clock,
    effects: Effects,
    stop: asyncio.Event,
    on_end: Callable[[tuple[str, ...]], None],
) -> None:
    """The life of a worker. It ends itself when it is not well, as ``assay run`` does; ``on_end`` hears why."""
    groups = _groups(settings, handler, clock, effects)
    intake = IntakeBroker(settings, groups, CollectorRegistry())
    health = Health(groups, settings, clock, _METRICS, find=nothing_missing)
    try:
        await intake.start()
    except (KafkaError, OSError) as error:
        on_end((f"not started: {error!r}",))
        return
    await health.start()
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await stop.wait()
        if not stop.is_set() and health.wedged():
            on_end(health.alive().problems)
            return
    await health.stop()
    await asyncio.gather(*(group.stop(settings.pipeline.drain_seconds) for group in groups))
    await intake.stop()
    on_end(())


def _groups(settings: Settings, handler: Handler, clock: Clock, effects: Effects) -> tuple[ConsumerGroup, ...]:
    observer = PipelineMetrics(_METRICS, handler.name)
    breaker = Breaker(settings.processing.breaker, clock)
    retry = settings.processing.retries
    runner = HandlerRunner(handler, NoRules(), retry, effects, clock, random.random, breaker)
    return tuple(
        ConsumerGroup(
            its,
            RecordProcessor(runner, clock, observer, its.retry_topic),
            committers(settings, its.group, clock, observer),
            settings.pipeline,
            clock,
            observer,
            breaker,
        )
        for its in subscriptions(handler)
    )


def committers(settings: Settings, group: str, clock: Clock, observer: PipelineMetrics) -> CommitterFactory:
    """As the product's; each record notes the transaction that it is written in."""
    transactional = settings.delivery == "exactly_once"
    planted: type[Committer] = commit.Committer

    class Noting(planted):  # type: ignore[misc, valid-type] # a seeded bug may have replaced the product's class
        async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
            noted = with_transaction(outputs, uuid.uuid4().hex[:8]) if transactional else outputs
            await super()._write(noted, next_offset)

    # What a committer with a bug shares within a process must not be shared with another one.
    for name, value in vars(planted).items():
        if isinstance(value, dict | asyncio.Lock):
            setattr(Noting, name, type(value)())

    return committer_factory(settings, group, clock, observer, kind=Noting)
