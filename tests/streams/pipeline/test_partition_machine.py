"""Partitions and consumer groups under any order of events, on a model of Kafka and in virtual time.

Whatever happens (work of any length, commits that fail or whose outcome is unknown, fences that fail, polls that raise,
rebalances, processes that were given up and wake again, a stop at any turn of the event loop): every record's output is
visible exactly once, in order by key; the committed offset never passes an unfinished record; nothing is left behind.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from aiokafka import TopicPartition
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from streams.settings.model import PipelineSettings
from tests.streams.pipeline.simulation import Cluster, Process, without_noise
from tests.streams.pipeline.virtual_time import VirtualLoop, complaints, virtually

PARTITIONS = (TopicPartition("in", 0), TopicPartition("in", 1))
KEYS = (None, b"a", b"b")
OUTCOMES = ("works", "lost before", "lost after", "undecided")
SETTLED_SECONDS = 600.0
"""Long enough for every pause between tries, and for the slowest work there is here."""


Disturbance = Callable[[Cluster, Process], Awaitable[tuple[Process, ...]]]
"""Does something to a process in the midst of its work; returns the processes that go on."""


async def settle(cluster: Cluster, *processes: Process) -> None:
    """Nothing fails any more; waits until every record is dealt with."""
    cluster.outcomes, cluster.failing_opens, cluster.failing_polls, cluster.wear = [], 0, 0, 0
    async with asyncio.timeout(SETTLED_SECONDS):
        while not all([await process.group.caught_up() for process in processes]):  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.5)
    for partition, records in cluster.logs.items():
        offsets = sorted(int(output.value or b"") for output in cluster.visible[partition])
        assert offsets == [record.offset for record in records]
        assert cluster.committed.get(partition, 0) == cluster.ends[partition]


@pytest.fixture(autouse=True)
def _quick() -> Iterator[None]:
    with without_noise():
        yield


class PartitionMachine(RuleBasedStateMachine):
    """Two processes of one group on two partitions."""

    @initialize(
        seed=st.integers(0, 2**32),
        window=st.integers(1, 5),
        polled=st.integers(1, 4),
        commit=st.integers(1, 3),
        linger=st.sampled_from([0.0, 0.05]),
        lanes=st.booleans(),
        concurrency=st.integers(1, 3),
    )
    def begin(
        self, seed: int, window: int, polled: int, commit: int, linger: float, lanes: bool, concurrency: int
    ) -> None:
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.cluster = Cluster(random.Random(seed))
        self.settings = PipelineSettings(
            window_records=window,
            window_bytes=1024,
            poll_records=polled,
            commit_records=commit,
            commit_linger_seconds=linger,
            drain_seconds=10.0,
        )

        async def start() -> list[Process]:
            processes = [Process(self.cluster, self.settings, lanes, concurrency) for _ in range(2)]
            await processes[0].assign(*PARTITIONS)
            await processes[1].assign()
            return processes

        self.processes: list[Process] = self.runner.run(start())

    @rule(
        partition=st.sampled_from(PARTITIONS),
        records=st.lists(
            st.tuples(
                st.sampled_from(KEYS),
                st.sampled_from([0.0, 0.0, 0.01, 0.3, 4.0, 30.0]),
                st.sampled_from(["fine", "fine", "fine", "fine", "unreadable", "refused"]),
                st.sampled_from([0, 0, 600, 3000]),
            ),
            min_size=1,
            max_size=6,
        ),
        marked=st.booleans(),
    )
    def write(self, partition: TopicPartition, records: list[tuple[Any, float, str, int]], marked: bool) -> None:
        for key, delay, kind, size in records:
            offset = self.cluster.write(partition, key, delay, size)
            if kind == "unreadable":
                self.cluster.unreadable.add((partition, offset))
            elif kind == "refused":
                self.cluster.refused.add((partition, offset))
        if marked:
            self.cluster.mark(partition)

    @rule(turns=st.integers(1, 40))
    def turn(self, turns: int) -> None:
        async def some() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.runner.run(some())

    @rule(seconds=st.sampled_from([0.02, 0.06, 0.5, 6.0, 40.0]))
    def time_passes(self, seconds: float) -> None:
        self.runner.run(asyncio.sleep(seconds))

    @rule(outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=4), wear=st.integers(0, 1))
    def commits(self, outcomes: list[str], wear: int) -> None:
        self.cluster.outcomes, self.cluster.wear = outcomes, wear

    @rule(opens=st.integers(0, 3), polls=st.integers(0, 2))
    def failures(self, opens: int, polls: int) -> None:
        self.cluster.failing_opens, self.cluster.failing_polls = opens, polls

    @rule(first=st.sets(st.sampled_from(PARTITIONS)))
    def rebalance(self, first: set[TopicPartition]) -> None:
        async def both() -> None:
            await asyncio.gather(*(process.revoke() for process in self.processes))
            await self.processes[0].assign(*sorted(first))
            await self.processes[1].assign(*sorted(set(PARTITIONS) - first))

        self.runner.run(both())

    @rule(lost=st.integers(0, 1))
    def one_is_given_up(self, lost: int) -> None:
        """The group believes a process dead; it goes on for a while and doesn't know."""

        async def hand_over() -> None:
            other = self.processes[1 - lost]
            await other.revoke()
            await other.assign(*PARTITIONS)

        self.runner.run(hand_over())

    @rule(process=st.integers(0, 1), down=st.booleans())
    def what_the_handler_needs_is(self, process: int, down: bool) -> None:
        async def tell() -> None:
            breaker = self.processes[process].breaker
            if down:
                breaker.failed("a record", None)
            else:
                breaker.succeeded()

        self.runner.run(tell())

    @invariant()
    def nothing_is_wrong(self) -> None:
        if not hasattr(self, "processes"):
            return
        assert not self.cluster.faults
        for process in self.processes:
            assert process.group.failed is None
            for partition in process.group.partitions.values():
                assert partition.held <= self.settings.window_records
                # Results are smaller than a record here, and one record may be larger than the whole window.
                assert partition.bytes_held <= max(2 * self.settings.window_bytes + 50, 3100)

    def teardown(self) -> None:
        if not hasattr(self, "processes"):
            return

        async def end() -> list[str]:
            for process in self.processes:
                process.breaker.succeeded()
            await asyncio.gather(*(process.revoke() for process in self.processes))
            await self.processes[0].assign(PARTITIONS[0])
            await self.processes[1].assign(PARTITIONS[1])
            await settle(self.cluster, *self.processes)
            for process in self.processes:
                await process.stop()
            return await complaints()

        try:
            assert self.runner.run(end()) == []
            self.nothing_is_wrong()
        finally:
            self.runner.close()


class LongPartitionMachine(PartitionMachine):
    """The same with more examples."""


TestPartitionMachine = PartitionMachine.TestCase
TestPartitionMachine.settings = settings(
    max_examples=30, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
TestLongPartitionMachine = pytest.mark.slow(LongPartitionMachine.TestCase)
TestLongPartitionMachine.settings = settings(
    max_examples=200, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)


# --- at any turn ---------------------------------------------------------------------------------------------------


async def revoked_and_assigned_again(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    await process.revoke()
    await process.assign(*PARTITIONS)
    return (process,)


async def stopped(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    await process.stop()
    return (await started(cluster),)


async def stopped_at_once(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    await process.stop(drain_seconds=0.0)
    return (await started(cluster),)


async def crashed(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    await process.crash()
    return (await started(cluster),)


async def given_up_and_awake_again(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    other = await started(cluster)
    await asyncio.sleep(1.0)
    await asyncio.gather(process.revoke(), other.revoke())
    await process.assign(PARTITIONS[0])
    await other.assign(PARTITIONS[1])
    return process, other


async def stopped_within_a_rebalance(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    """The client waits for the rebalance when it is stopped."""
    rebalance = asyncio.create_task(process.revoke())
    for _ in range(cluster.chance.randrange(12)):
        await asyncio.sleep(0)
    await process.group.stop(5.0)
    await rebalance
    await process.stop()
    return (await started(cluster),)


async def polls_fail(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    cluster.failing_polls = 2
    return (process,)


async def started(cluster: Cluster) -> Process:
    settings = PipelineSettings(window_records=4, poll_records=3, commit_records=2, drain_seconds=2.0)
    process = Process(cluster, settings)
    await process.assign(*PARTITIONS)
    return process


def some_work(seed: int) -> Cluster:
    """Two partitions of mixed records, and commits that go wrong in every way."""
    cluster = Cluster(random.Random(seed))
    for partition in PARTITIONS:
        for number in range(9):
            offset = cluster.write(partition, KEYS[number % 3], (0.0, 0.02, 0.0, 0.5)[number % 4])
            if number == 3:
                cluster.refused.add((partition, offset))
            elif number == 5:
                cluster.unreadable.add((partition, offset))
            elif number == 6:
                cluster.mark(partition)
        cluster.mark(partition)
    cluster.outcomes = ["works", "lost after", "works", "works", "undecided", "lost before"]
    cluster.failing_opens, cluster.wear = 1, 2
    return cluster


@virtually
async def run_disturbed(turn: int, disturb: Disturbance, seed: int) -> int:
    """Runs some work, disturbs it at a turn of the loop, and looks whether all came right. Returns the turns taken."""
    cluster, loop = some_work(seed), VirtualLoop.running()
    process = await started(cluster)
    await loop.until_turn(turn)
    processes = await disturb(cluster, process)
    await settle(cluster, *processes)
    turns = loop.turns
    for process in processes:
        await process.stop()
    assert (await complaints(), cluster.faults) == ([], [])
    return turns


async def nothing(cluster: Cluster, process: Process) -> tuple[Process, ...]:
    return (process,)


@pytest.mark.parametrize(
    "disturb",
    [
        revoked_and_assigned_again,
        stopped,
        stopped_at_once,
        crashed,
        given_up_and_awake_again,
        stopped_within_a_rebalance,
        polls_fail,
    ],
)
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_disturbance_at_any_loop_turn_loses_and_repeats_nothing(disturb: Disturbance, step: int) -> None:
    turns = run_disturbed(1, nothing, seed=0)
    assert turns > 100
    for turn in range(1, turns, step):
        run_disturbed(turn, disturb, seed=turn)
