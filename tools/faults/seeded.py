"""The situation in which each seeded bug shows: a checker that does not find it proves nothing."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable

from tests.faults.chain import HANDLERS
from tools.faults.cluster import Cluster, hold, wake
from tools.faults.rounds import late_commit


async def one_id(cluster: Cluster, chance: random.Random) -> None:
    """A worker freezes before its transaction, and is not fenced when it wakes."""
    victim = await cluster.start(fail="before_begin:3:stop")
    await cluster.start()
    await cluster.feed(chance)
    await victim.says("at ", 30)
    await cluster.comes_out(25)
    victim.send(signal.SIGCONT)
    await asyncio.sleep(2)


async def not_awaited(cluster: Cluster, chance: random.Random) -> None:
    """The broker refuses some outputs, and the worker does not look."""
    await cluster.start()
    await cluster.feed(chance, big=5)


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


async def positions(cluster: Cluster, chance: random.Random) -> None:
    """A worker dies while it has records in work."""
    victim = await cluster.start(fail="mid_call:150:kill")
    await cluster.feed(chance, count=400, seconds=0)
    await victim.ends(30)
    await cluster.start()


async def offset_before_outputs(cluster: Cluster, chance: random.Random) -> None:
    """A worker dies between the first output of a commit and the second."""
    victim = await cluster.start(fail=f"mid_send:{chance.randint(1, 6)}:kill")
    await cluster.feed(chance, count=400, seconds=0)
    await victim.ends(30)
    await cluster.start()


async def end_sent_again(cluster: Cluster, chance: random.Random) -> None:
    """The first of two commits of a transaction arrives while the next transaction is open, and its worker dies."""
    await late_commit(cluster, chance)
    await cluster.start()


async def doubt_is_failure(cluster: Cluster, chance: random.Random) -> None:
    """The broker gets a commit, and its answer is lost."""
    await _lose_commit(cluster, chance, deliver=True)


async def doubt_is_success(cluster: Cluster, chance: random.Random) -> None:
    """The broker never gets a commit."""
    await _lose_commit(cluster, chance, deliver=False)


async def _lose_commit(cluster: Cluster, chance: random.Random, deliver: bool) -> None:
    await cluster.start(through_proxy="all")
    feeding = asyncio.ensure_future(cluster.feed(chance, seconds=4))
    await cluster.brokers.trap.hold(10, deliver)
    await feeding


async def two_transactions(cluster: Cluster, chance: random.Random) -> None:
    """A worker dies before the offset of a commit."""
    victim = await cluster.start(fail=f"before_offsets:{chance.randint(4, 8)}:kill")
    await cluster.feed(chance, count=400, seconds=0)
    await victim.ends(30)
    await cluster.start()


async def last_first(cluster: Cluster, chance: random.Random) -> None:
    """There is work for transactions of many records."""
    await cluster.start()
    await cluster.feed(chance, count=400, seconds=0)


async def dead_letters_dropped(cluster: Cluster, chance: random.Random) -> None:
    """Some records are bad."""
    await cluster.start()
    await cluster.feed(chance, poison=10)


async def begins_at_the_end(cluster: Cluster, chance: random.Random) -> None:
    """Records are there before the first worker."""
    await cluster.feed(chance, seconds=0)
    await cluster.flushed()
    await cluster.start()


async def reads_uncommitted(cluster: Cluster, chance: random.Random) -> None:
    """Some inputs are in transactions that are aborted."""
    await cluster.start()
    while not cluster.aborted:
        await cluster.feed(chance)


async def commit_at_the_stop(cluster: Cluster, chance: random.Random) -> None:
    """A worker is asked to end while it has records in work."""
    leaving = await cluster.start()
    await cluster.feed(chance, count=400, seconds=0)
    await asyncio.sleep(chance.uniform(0, 0.3))
    await cluster.dismiss(leaving)
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


FEW = ("one_id", "not_awaited", "read_before_fence", "positions", "offset_before_outputs", "end_sent_again")
"""What CI looks for on a real Kafka."""

SITUATIONS: dict[str, Callable[[Cluster, random.Random], Awaitable[None]]] = {
    "one_id": one_id,
    "not_awaited": not_awaited,
    "read_before_fence": read_before_fence,
    "positions": positions,
    "offset_before_outputs": offset_before_outputs,
    "end_sent_again": end_sent_again,
    "doubt_is_failure": doubt_is_failure,
    "doubt_is_success": doubt_is_success,
    "two_transactions": two_transactions,
    "last_first": last_first,
    "dead_letters_dropped": dead_letters_dropped,
    "begins_at_the_end": begins_at_the_end,
    "reads_uncommitted": reads_uncommitted,
    "window_kept": one_id,
    "commit_at_the_stop": commit_at_the_stop,
    "no_deadline": no_deadline,
    "leader_alone": leader_alone,
}
