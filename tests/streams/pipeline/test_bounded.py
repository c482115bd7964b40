"""Reading that has an end, and work that is held up, at any turn of the event loop: what replays ask for."""

import asyncio
import random
from collections.abc import Callable, Iterator

import pytest
from aiokafka import TopicPartition

from streams.settings.model import PipelineSettings
from tests.streams.pipeline.simulation import Cluster, Process, without_noise
from tests.streams.pipeline.virtual_time import VirtualLoop, complaints, virtually

PARTITIONS = (TopicPartition("in", 0), TopicPartition("in", 1), TopicPartition("in", 2))
SETTINGS = PipelineSettings(window_records=4, poll_records=3, commit_records=2, drain_seconds=2.0)
COUNT = 9


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    with without_noise():
        yield


def some_work(seed: int) -> tuple[Cluster, dict[TopicPartition, int]]:
    """Three partitions: an end within the records, an end after a marker, and one that is not in the ranges."""
    cluster = Cluster(random.Random(seed))
    for partition in PARTITIONS:
        for number in range(COUNT):
            cluster.write(partition, (b"a", None, b"b")[number % 3], (0.0, 0.02, 0.5)[number % 3])
            if number == 4:
                cluster.mark(partition)
        cluster.mark(partition)
    ends = {PARTITIONS[0]: 5, PARTITIONS[1]: cluster.ends[PARTITIONS[1]]}
    return cluster, ends


async def until_there(cluster: Cluster, ends: dict[TopicPartition, int]) -> None:
    async with asyncio.timeout(600):
        while any(cluster.committed.get(partition, 0) < end for partition, end in ends.items()):  # noqa: ASYNC110
            await asyncio.sleep(0.5)


@virtually
async def run(turn: int, seed: int, pause: Callable[[], float] | None = None) -> int:
    """Kills a process at a turn of the loop; another ends the work. More comes in all the time. Returns the turns."""
    (cluster, ends), loop = some_work(seed), VirtualLoop.running()
    process = Process(cluster, SETTINGS, ends=ends, pause=pause)
    await process.assign(*PARTITIONS)
    await loop.until_turn(turn)
    await process.crash()
    for partition in PARTITIONS:
        cluster.write(partition, b"a", 0.0)
    process = Process(cluster, SETTINGS, ends=ends, pause=pause)
    await process.assign(*PARTITIONS)
    await until_there(cluster, ends)
    for partition in PARTITIONS:
        cluster.write(partition, b"b", 0.0)
    await asyncio.sleep(5.0)
    turns = loop.turns
    await process.stop()
    assert (await complaints(), cluster.faults) == ([], [])
    for partition in PARTITIONS:
        end = ends.get(partition, 0)
        done = sorted(int(output.value or b"") for output in cluster.visible[partition])
        assert done == [record.offset for record in cluster.logs[partition] if record.offset < end]
    return turns


def test_bounded_read_stops_at_its_end_after_any_kill() -> None:
    for turn in range(1, run(1, seed=0), 5):
        run(turn, seed=turn)


@virtually
async def test_intake_waits_for_the_pause_that_is_set() -> None:
    cluster, _ = some_work(0)
    wait = [0.25]
    process = Process(cluster, SETTINGS, pause=lambda: wait[0])
    await process.assign(*PARTITIONS)
    await asyncio.sleep(30)
    assert not any(cluster.visible.values())
    assert all(partition.held for partition in process.group.partitions.values())
    wait[0] = 0.0
    await until_there(cluster, dict(cluster.ends))
    await process.stop()
    assert cluster.faults == []
    assert sum(len(outputs) for outputs in cluster.visible.values()) == COUNT * len(PARTITIONS)
