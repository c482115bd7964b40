"""A consumer group whose work is revoked during an outage."""

import asyncio
import random
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.health import Health, HealthReport
from streams.settings.model import PipelineSettings, load_settings
from streams.telemetry.metrics import Metrics
from tests.streams.doubles import START, nothing_missing
from tests.streams.pipeline.group_models import Cluster, ModelWriter, Process
from tests.streams.pipeline.virtual_time import LoopClock, complaints, virtually

HELD, NEXT = TopicPartition("in", 0), TopicPartition("in", 1)


@virtually
async def test_breaker_closes_when_its_last_waiter_is_revoked() -> None:
    """Intake pauses while it is open, so no new record could close it."""
    cluster = Cluster(random.Random(1))
    end = cluster.write(NEXT, b"a", 0.0) + 1
    process = Process(cluster, PipelineSettings(drain_seconds=2.0))
    await process.assign(HELD)
    process.breaker.open(None)
    closed = [process.breaker.closed]
    await process.revoke()
    assert [*closed, process.breaker.closed] == [False, True]
    await process.assign(NEXT)
    async with asyncio.timeout(60):
        while cluster.committed.get(NEXT, 0) < end:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
    await process.stop()
    assert await complaints() == []


class Closed(ModelWriter):
    """A producer that does not start."""

    async def start(self) -> None:
        await asyncio.Event().wait()


class Waiting(Process):
    """A process whose partitions do not open."""

    def writer(self) -> ModelWriter:
        return Closed(self.cluster)


@virtually
async def test_unopened_partitions_count_as_not_joined() -> None:
    """Nothing is in work then, and nothing fails, so nothing else would tell."""
    process, other = (of(Cluster(random.Random(1)), PipelineSettings()) for of in (Waiting, Process))
    for its in (process, other):
        await its.assign(HELD)
    await asyncio.sleep(700)
    assert [its.group.unjoined_seconds for its in (process, other)] == pytest.approx([700, 0])
    await process.stop()
    await other.stop()
    assert await complaints() == []


STALLED = 60.0
FAILS = 10**9
"""More polls than there are in a test."""


@virtually
async def verdicts_of(
    cluster: Cluster, minutes: int, disturb: Callable[[Process], None] = lambda _: None, **options: Any
) -> list[HealthReport]:
    """What health says after each minute of a process whose topics grow by a record every ten seconds."""
    process = Process(cluster, PipelineSettings(window_records=4, poll_records=2, drain_seconds=2.0), **options)
    settings, verdicts = load_settings(pipeline={"stalled_seconds": STALLED}), list[HealthReport]()
    health = Health((process.group,), settings, LoopClock(), Metrics(CollectorRegistry()), find=nothing_missing)
    await health.start()
    await process.assign(HELD, NEXT)
    await asyncio.sleep(1)
    disturb(process)
    for _ in range(minutes):
        for _ in range(6):
            await asyncio.sleep(10)
            cluster.write(HELD, b"a", cluster.chance.choice([0.0, 50.0]))
        verdicts.append(health.alive())
    await health.stop()
    await process.stop()
    return verdicts


def test_starving_partition_is_reported_until_it_gets_a_record() -> None:
    cluster = Cluster(random.Random(1), failing_polls=FAILS)

    def heal(process: Process) -> None:
        asyncio.get_running_loop().call_later(290, setattr, cluster, "failing_polls", 0)

    verdicts = verdicts_of(cluster, 7, heal)
    assert [len(verdict.problems) for verdict in verdicts] == [0, 1, 1, 1, 0, 0, 0]
    assert "in/0 has got no record for" in verdicts[1].problems[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"concurrency": 1},
        {"due": START + timedelta(hours=1)},
        {"pause": lambda: 0.25},
        {"ends": {HELD: 2, NEXT: 0}},
    ],
    ids=["busy", "slower than its input", "retries that are not due", "replay that gives way", "replay at its end"],
)
def test_busy_or_finished_partition_does_not_starve(options: dict[str, Any]) -> None:
    assert all(verdict.well for verdict in verdicts_of(Cluster(random.Random(1)), 10, **options))


def test_partition_does_not_starve_while_the_breaker_is_open() -> None:
    cluster = Cluster(random.Random(1))
    assert all(verdict.well for verdict in verdicts_of(cluster, 10, lambda process: process.breaker.open(None)))


async def _fails() -> None:
    raise KafkaError("a bug")


@pytest.mark.parametrize(
    ("owner", "name"), [("_coordinator", "_coordination_task"), ("_fetcher", "_fetch_task"), ("_client", "_sync_task")]
)
async def test_a_task_of_the_client_that_ends_is_seen(owner: str, name: str) -> None:
    """A consumer whose fetches have ended is polled on and gives nothing, for ever."""
    process = Process(Cluster(random.Random(1)), PipelineSettings())
    task = asyncio.create_task(_fails())
    consumer = SimpleNamespace(**{owner: SimpleNamespace(**{name: task})})
    process.group.attach(lambda: cast("CountingConsumer", consumer))
    seen = [process.group.client_failed]
    await asyncio.wait({task})
    seen.append(process.group.client_failed)
    await process.stop()
    # Where it is stopped that is as it should be.
    assert [*seen, process.group.client_failed] == [None, f"{name}: KafkaError('a bug')", None]
