"""The situation in which each seeded bug shows: a checker that does not find it proves nothing."""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable

from tests.faults.chain import HANDLERS
from tools.faults.cluster import Cluster, wake
from tools.faults.rounds import late_commit
from tools.faults.worker_process import hold


async def one_id(cluster: Cluster, chance: random.Random) -> None:
    """A worker freezes before its transaction, and is not fenced when it wakes."""
    victim = await cluster.start(fail="before_begin:3:stop")
    await cluster.start()
    await cluster.feed(chance)
    await victim.says("at ", 30)
    await cluster.comes_out(25)
    victim.send(signal.SIGCONT)
    await asyncio.sleep(2)


async def read_before_fence(cluster: Cluster, chance: random.Random) -> None:
    """A worker that the group no longer hears commits once more, between the new owner's reading and its fence."""
    cut_off = await cluster.start(fail="before_begin:6:stop", through_proxy="consumers")
    heir = await cluster.start()
    before = heir.lines.count("read")
    await cluster.feed(chance, count=400, seconds=0)
    await cut_off.says("at ", 30)
    cluster.brokers.turn("half_open")
    # It is frozen until its successor has read, and learns only at its commit that it has lost its partitions.
    await hold(lambda: heir.lines.count("read") > before, 30)
    cut_off.send(signal.SIGCONT)
    await asyncio.sleep(6)
    cut_off.send(signal.SIGKILL)
    cluster.brokers.turn("fair")


async def end_sent_again(cluster: Cluster, chance: random.Random) -> None:
    """The first of two commits of a transaction arrives while the next transaction is open, and its worker dies."""
    await late_commit(cluster, chance)
    await cluster.start()


async def no_deadline(cluster: Cluster, chance: random.Random) -> None:
    """The children of a worker are stopped, and their template."""
    worker = await cluster.start()
    wake(cluster.below(worker), signal.SIGSTOP)
    await cluster.feed(chance)


async def leader_alone(cluster: Cluster, chance: random.Random) -> None:
    """A broker that confirms records dies before the others have them."""
    brokers = cluster.brokers
    worker = await cluster.start()
    await cluster.feed(chance)
    await cluster.comes_out(30)
    # The group's coordinator stays: it has to take the offsets of the records that are lost.
    coordinator = await brokers.coordinator(cluster.settings.kafka.topic_prefix + HANDLERS[0].group)
    victim = chance.choice([number for number in brokers.numbers if number != coordinator])
    # Only what all replicas have before the cut can be read after it.
    worker.send(signal.SIGSTOP)
    await cluster.feed(chance, transactions=False, seconds=0)
    await cluster.flushed()
    brokers.cut_off(victim)
    worker.send(signal.SIGCONT)
    await asyncio.sleep(2.5)
    await brokers.kill(victim)
    brokers.join()
    await asyncio.sleep(5)
    await brokers.restart(victim)


SITUATIONS: dict[str, Callable[[Cluster, random.Random], Awaitable[None]]] = {
    "one_id": one_id,
    "read_before_fence": read_before_fence,
    "end_sent_again": end_sent_again,
    "no_deadline": no_deadline,
    "leader_alone": leader_alone,
}
