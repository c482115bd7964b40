"""What a consumer group does with work that moves while what it needs is down."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.pipeline.consumer import CountingConsumer
from streams.settings import PipelineSettings
from tests.streams.pipeline.simulation import Cluster, ModelStage, Process
from tests.streams.pipeline.virtual_time import VirtualLoop, complaints_of

HELD, NEXT = TopicPartition("in", 0), TopicPartition("in", 1)


def test_work_that_comes_after_work_that_has_moved_away_is_begun_though_the_breaker_was_open() -> None:
    """Intake rests while it is open, so nothing would come that could find out and close it."""
    cluster, rested = Cluster(random.Random(1)), list[bool]()
    end = cluster.write(NEXT, b"a", 0.0) + 1

    async def scenario() -> None:
        process = Process(cluster, PipelineSettings(drain_seconds=2.0))
        await process.assign(HELD)
        process.breaker.open(None)
        rested.append(not process.breaker.closed)
        await process.revoke()
        rested.append(not process.breaker.closed)
        await process.assign(NEXT)
        async with asyncio.timeout(60):
            while cluster.committed.get(NEXT, 0) < end:  # noqa: ASYNC110
                await asyncio.sleep(0.5)
        await process.stop()
        assert await complaints_of(loop) == []

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = VirtualLoop.of(runner)
        runner.run(scenario())
    assert rested == [True, False]
    assert cluster.faults == []


class Closed(ModelStage):
    """A stage that does not open."""

    async def open(self) -> int | None:
        await asyncio.Event().wait()
        raise AssertionError


class Waiting(Process):
    """A process whose partitions do not open."""

    def _stage(self, partition: TopicPartition, _: CountingConsumer) -> ModelStage:
        return Closed(self.cluster, partition)


def test_partitions_that_do_not_open_are_waited_for_as_those_that_are_not_given_out() -> None:
    """Nothing is in work then, and nothing fails, so nothing else would tell."""
    seconds = list[float]()

    async def scenario() -> None:
        process, other = (of(Cluster(random.Random(1)), PipelineSettings()) for of in (Waiting, Process))
        for its in (process, other):
            await its.assign(HELD)
        await asyncio.sleep(700)
        seconds.extend([process.group.unjoined_seconds, other.group.unjoined_seconds])
        await process.stop()
        await other.stop()
        assert await complaints_of(loop) == []

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = VirtualLoop.of(runner)
        runner.run(scenario())
    assert seconds == pytest.approx([700, 0])


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
