"""What a consumer group does with work that moves while what it needs is down."""

from __future__ import annotations

import asyncio
import random

from aiokafka import TopicPartition

from streams.settings import PipelineSettings
from tests.streams.pipeline.simulation import Cluster, Process
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
