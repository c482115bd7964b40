"""The faults of a cluster of three brokers: bounces, leader and coordinator changes, a broker apart, a full disk."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiokafka.errors import KafkaError

from tests.brokers import COORDINATION, DISK_OF
from tests.processes import freezes
from tools.faults.cluster import Cluster
from tools.faults.rounds import Fault, restarted

_APART_SECONDS = (3.0, 10.0)
"""Shorter and longer than the session of a broker, after which others lead its partitions."""
_CHANGED_SECONDS = 20.0
_FULL_SECONDS = 30.0


@asynccontextmanager
async def under_load(cluster: Cluster, chance: random.Random, seconds: float) -> AsyncIterator[None]:
    """Feeds while the block does its harm, from a moment within the first second on."""
    await cluster.keep(2)
    count = max(160, int(40 * seconds) // 10 * 10)
    async with cluster.feeding(chance, (0.2, 1), count=count, seconds=seconds, transactions=False):
        yield


async def rolling_bounce(cluster: Cluster, chance: random.Random) -> bool:
    """Every broker is stopped cleanly and started again, one after another, as in an upgrade."""
    async with under_load(cluster, chance, 20):
        nodes = cluster.brokers.nodes
        before = {number: node.pid for number, node in nodes.items()}
        for number in chance.sample(cluster.brokers.numbers, 3):
            await cluster.brokers.restart(number)
            await cluster.brokers.settled(cluster.topics, _CHANGED_SECONDS)
    return all(nodes[number].pid != pid for number, pid in before.items())


async def leader_change(cluster: Cluster, chance: random.Random, topics: Sequence[str] = ()) -> bool:
    """All partitions of the chain, or of other topics, get other leaders, twice."""
    async with under_load(cluster, chance, 6):
        changed = [await _move(cluster, topics or cluster.topics) for _ in range(2)]
    return all(changed)


async def coordinator_change(cluster: Cluster, chance: random.Random) -> bool:
    """All groups and transactions get other coordinators, twice."""
    return await leader_change(cluster, chance, COORDINATION)


async def coordinator_killed(cluster: Cluster, chance: random.Random) -> bool:
    """The broker is killed that coordinates the most transactions."""
    async with under_load(cluster, chance, 6):
        leaders = list((await cluster.brokers.leaders(COORDINATION[1:])).values())
        victim = max(set(leaders), key=leaders.count)
        return await restarted(cluster, victim, chance.uniform(1, 8))


async def broker_frozen(cluster: Cluster, chance: random.Random) -> bool:
    """A broker stops answering for a while, longer or shorter than its session, and continues."""
    async with under_load(cluster, chance, 8):
        pid = cluster.brokers.nodes[chance.choice(cluster.brokers.numbers)].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            froze = await freezes(pid, 1)
            await asyncio.sleep(chance.uniform(*_APART_SECONDS))
        finally:
            os.kill(pid, signal.SIGCONT)
    return froze


async def broker_cut_off(cluster: Cluster, chance: random.Random) -> bool:
    """A broker no longer reaches the others, which do not reach it, while clients reach them all."""
    async with under_load(cluster, chance, 8):
        victim = chance.choice(cluster.brokers.numbers)
        held = cluster.brokers.held_of(victim)
        cluster.brokers.cut_off(victim)
        try:
            await asyncio.sleep(chance.uniform(*_APART_SECONDS))
        finally:
            cluster.brokers.join()
    return cluster.brokers.held_of(victim) > held


async def leader_cut_off(cluster: Cluster, chance: random.Random) -> bool:
    """The broker is cut off that leads the first input partition, while clients still write to it."""
    async with under_load(cluster, chance, 10):
        before = await cluster.brokers.leaders(cluster.topics)
        victim = before[cluster.topics[0], 0]
        cluster.brokers.cut_off(victim)
        try:
            # It takes longer if the broker also was the active controller.
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(_replaced(cluster, victim, before), _CHANGED_SECONDS)
        finally:
            cluster.brokers.join()
    return False


async def disk_full(cluster: Cluster, chance: random.Random) -> bool:
    """The disk of a broker is full, on which the broker ends; it gets room and starts again."""
    brokers = cluster.brokers
    if brokers.ballast is None:
        return False
    ended = False
    async with under_load(cluster, chance, 12):
        brokers.fill_disk()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FULL_SECONDS):
                while not ended:
                    await asyncio.sleep(0.2)
                    ended = not brokers.nodes[DISK_OF].running
        if not ended:
            await brokers.kill(DISK_OF)
        brokers.ballast.unlink()
        await brokers.restart(DISK_OF)
    return ended


async def _move(cluster: Cluster, names: Sequence[str]) -> bool:
    """Moves the leaders of topics; whether most partitions got another one."""
    before = await cluster.brokers.leaders(names)
    await cluster.brokers.move_leaders(names)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_CHANGED_SECONDS):
            while True:
                await asyncio.sleep(0.2)
                after = await cluster.brokers.leaders(names)
                if 2 * sum(after[place] != leader for place, leader in before.items()) > len(before):
                    return True
    return False


async def _replaced(cluster: Cluster, victim: int, before: dict[tuple[str, int], int]) -> bool:
    """Waits until a partition that a broker led has another leader. A broker that is cut off may not know of it."""
    places = [place for place, leader in before.items() if leader == victim]
    while True:
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            after = await cluster.brokers.leaders(cluster.topics, without=victim)
            if any(after[place] not in (victim, -1) for place in places):
                return True
        await asyncio.sleep(0.3)


FAULTS_OF_THREE: dict[str, Fault] = {
    "rolling bounce": rolling_bounce,
    "leader change": leader_change,
    "coordinator change": coordinator_change,
    "coordinator killed": coordinator_killed,
    "broker frozen": broker_frozen,
    "broker cut off": broker_cut_off,
    "leader cut off": leader_cut_off,
    "disk full": disk_full,
}
