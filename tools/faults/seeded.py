"""The situation in which each seeded bug shows: a checker that does not find it proves nothing."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable

from tools.faults.cluster import Cluster, hold
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
    cluster.proxy.turn("half_open")
    # It is frozen until its successor has read, and learns only at its commit that it has lost its partitions.
    await hold(lambda: heir.lines.count("read") > before, 30)
    cut_off.send(signal.SIGCONT)
    await asyncio.sleep(6)
    cut_off.send(signal.SIGKILL)
    cluster.proxy.turn("fair")


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


SITUATIONS: dict[str, Callable[[Cluster, random.Random], Awaitable[None]]] = {
    "one_id": one_id,
    "not_awaited": not_awaited,
    "read_before_fence": read_before_fence,
    "positions": positions,
    "offset_before_outputs": offset_before_outputs,
    "end_sent_again": end_sent_again,
}
