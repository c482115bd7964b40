"""What a group says of itself to health: partitions that starve or do not open, and a client that has ended."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from schemas.outcome import Drop, DropReason
from streams.pipeline.breaker import Breaker
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.partition import Partition
from streams.pipeline.processor import RecordProcessor
from streams.settings.model import BreakerSettings, PipelineSettings
from streams.telemetry.metrics import Metrics
from tests.streams.doubles import BEGAN, VirtualClock, handler_of

HELD, NEXT = TopicPartition("in", 0), TopicPartition("in", 1)


@dataclass
class Stub:
    """What a group looks at of a partition."""

    at: int = 0
    held: int = 0
    opened: bool = True
    committed: int | None = 0
    committer: Any = field(default_factory=lambda: SimpleNamespace(failing_since=None, trouble=None))
    window: Any = field(default_factory=lambda: SimpleNamespace(started_since=None, bytes_held=0))
    cursor: Any = field(default_factory=lambda: SimpleNamespace(set_breaker=lambda _: None))

    def position(self) -> int:
        return self.at

    async def close(self, _: float) -> None:
        self.opened = False


class Consumer:
    """The ends of the partitions."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] | Exception = {HELD: 5, NEXT: 0}

    async def end_offsets(self, _: object) -> dict[TopicPartition, int]:
        if isinstance(self.ends, Exception):
            raise self.ends
        return self.ends


def group_of(clock: VirtualClock, consumer: object, **options: Any) -> ConsumerGroup:
    """A group with two open partitions of a topic, of which one has five records more."""
    group = ConsumerGroup(
        Subscription(handler_of(lambda *_: Drop(DropReason.NOTHING_TO_DO))),
        cast("RecordProcessor", None),
        cast("Any", None),
        PipelineSettings(),
        clock,
        PipelineMetrics(Metrics(CollectorRegistry()), "toy"),
        Breaker(BreakerSettings(failures=1), clock),
        **options,
    )
    group.find_consumer = lambda: cast("CountingConsumer", consumer)
    group.partitions = cast("dict[TopicPartition, Partition]", {HELD: Stub(), NEXT: Stub()})
    group.rebalancing = False
    return group


async def minutes(group: ConsumerGroup, clock: VirtualClock, count: int) -> list[float]:
    """For how long a partition has starved, after each minute."""
    seconds = []
    for _ in range(count):
        assert await group.measure_lag() is not isinstance(cast("Any", group.consumer).ends, Exception)
        seconds.append(group.starved[0])
        clock.seconds += 60
    return seconds


async def test_starving_partition_is_reported_until_it_gets_a_record() -> None:
    clock = VirtualClock()
    group = group_of(clock, consumer := Consumer())
    assert await minutes(group, clock, 3) == [0, 60, 120]
    assert (group.starved, group.lag) == ((180, "in/0"), 5)
    cast("Any", group.partitions[HELD]).at = 1
    assert await minutes(group, clock, 2) == [0, 60]
    consumer.ends = KafkaError("away")
    assert await minutes(group, clock, 2) == [0, 0]


@pytest.mark.parametrize(
    ("held", "options"),
    [(Stub(held=1), {}), (Stub(at=5), {}), (Stub(at=2), {"ends": {HELD: 2, NEXT: 0}}), (Stub(opened=False), {})],
    ids=["busy", "at the end", "replay at its end", "not open"],
)
async def test_busy_or_finished_partition_does_not_starve(held: Stub, options: dict[str, Any]) -> None:
    clock = VirtualClock()
    group = group_of(clock, Consumer(), **options)
    group.partitions[HELD] = cast("Partition", replace(held))
    for _ in range(3):
        assert await group.measure_lag() is held.opened
        assert group.starved == (0.0, "")
        clock.seconds += 60


async def test_partition_does_not_starve_while_the_breaker_is_open() -> None:
    clock = VirtualClock()
    group = group_of(clock, Consumer())
    group.breaker.open(None)
    assert await minutes(group, clock, 3) == [0, 0, 0]


async def test_breaker_closes_when_its_last_waiter_is_revoked() -> None:
    """Intake pauses while it is open, so no new record could close it."""
    group = group_of(VirtualClock(), Consumer())
    group.breaker.open(None)
    assert not group.breaker.closed
    await group.on_partitions_revoked([HELD, NEXT])
    assert (group.breaker.closed, group.partitions, group.rebalancing) == (True, {}, True)


@pytest.mark.parametrize("is_open", [True, False])
async def test_new_partitions_rest_while_the_breaker_is_open(monkeypatch: pytest.MonkeyPatch, is_open: bool) -> None:
    told: list[bool] = []
    monkeypatch.setattr("streams.pipeline.group.PartitionCursor", lambda *_: SimpleNamespace(set_breaker=told.append))
    monkeypatch.setattr("streams.pipeline.group.Partition", lambda *_, **__: SimpleNamespace(open=lambda: None))
    group = group_of(VirtualClock(), SimpleNamespace(pause=lambda *_: None))
    group.committers = cast("Any", lambda *_: None)
    if is_open:
        group.breaker.open(None)
    told.clear()
    await group.on_partitions_assigned([HELD])
    assert told == [is_open]


async def test_unopened_partitions_count_as_not_joined() -> None:
    """Nothing is in work then, and nothing fails, so nothing else would tell."""
    clock = VirtualClock()
    group = group_of(clock, Consumer())
    clock.seconds = 700
    cast("Any", group.partitions[HELD]).opened = False
    assert group.unjoined_seconds == 0, "not started"
    group.start()
    assert group.unjoined_seconds == 700
    cast("Any", group.partitions[HELD]).opened = True
    assert group.unjoined_seconds == 0
    group.rebalancing = True
    assert group.unjoined_seconds == 700
    cast("Any", group.consumer).pause = lambda *_: None
    await group.stop(0)
    assert group.unjoined_seconds == 0


async def test_seconds_since_the_last_poll_count_until_the_stop() -> None:
    consumer = SimpleNamespace(polled_at=time.monotonic() - 70, pause=lambda *_: None)
    group = group_of(VirtualClock(), consumer)
    assert group.unpolled_seconds == pytest.approx(70, abs=5)
    await group.stop(0)
    assert group.unpolled_seconds == 0


@pytest.mark.parametrize(("failing", "busy", "oldest"), [(0, 0, 0), (40, 70, 60), (0, 70, 30), (40, 0, 60)])
async def test_oldest_work_counts_from_its_start(failing: int, busy: int, oldest: float) -> None:
    """Also from the first of the commits that fail."""
    clock = VirtualClock()
    group = group_of(clock, Consumer())
    clock.seconds = 100
    since, begun = (BEGAN + seconds if seconds else None for seconds in (failing, busy))
    group.partitions[HELD] = cast(
        "Partition",
        Stub(committer=SimpleNamespace(failing_since=since), window=SimpleNamespace(started_since=begun)),
    )
    assert group.oldest_seconds == oldest


async def _fails() -> None:
    raise KafkaError("a bug")


@pytest.mark.parametrize(
    ("owner", "name"), [("_coordinator", "_coordination_task"), ("_fetcher", "_fetch_task"), ("_client", "_sync_task")]
)
async def test_a_task_of_the_client_that_ends_is_seen(owner: str, name: str) -> None:
    """A consumer whose fetches have ended is polled on and gives nothing, for ever."""
    task = asyncio.create_task(_fails())
    consumer = SimpleNamespace(**{owner: SimpleNamespace(**{name: task})}, pause=lambda *_: None)
    group = group_of(VirtualClock(), consumer)
    seen = [group.client_failed]
    await asyncio.wait({task})
    seen.append(group.client_failed)
    await group.stop(0)
    # Where it is stopped that is as it should be.
    assert [*seen, group.client_failed] == [None, f"{name}: KafkaError('a bug')", None]
