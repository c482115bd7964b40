"""The faults, one function each: what happens to the workers, the network or the broker while records flow.

Each seeded bug has a situation in which it shows: a checker that does not find it proves nothing.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable

from tests.faults.chain import HANDLERS, SESSION_SECONDS
from tests.processes import freezes
from tests.proxy import Weather
from tools.faults.cluster import DEAD, PATIENCE_SECONDS, Cluster, wake
from tools.faults.worker import AFTER_LOST_END, POINTS
from tools.faults.worker_process import Worker, hold

Fault = Callable[[Cluster, random.Random], Awaitable[bool]]
"""Does its harm while it feeds; whether the harm was done."""
_SILENCE = SESSION_SECONDS + 2


async def killed(cluster: Cluster, chance: random.Random) -> bool:
    """A worker is killed at a random moment."""
    victim = chance.choice(await cluster.keep(2))
    async with cluster.feeding(chance, (0.1, 1.5)):
        victim.send(signal.SIGKILL)
    return await victim.ends(5) is not None


def children(*signals: signal.Signals) -> Fault:
    """Processes below the workers get signals at random moments; what is stopped may continue, or stay so.

    The records in their work run again. A second end of the same record's child within a round would be a dead letter,
    so all signals come before the first deadline of a stopped process.
    """

    async def fault(cluster: Cluster, chance: random.Random) -> bool:
        workers = await cluster.keep(2)
        feeding = asyncio.ensure_future(cluster.feed(chance, seconds=3))
        struck: list[int] = []
        for _ in range(chance.randint(4, 8)):
            await asyncio.sleep(chance.uniform(0.1, 0.5))
            number = chance.choice(signals)
            if below := struck if number is signal.SIGCONT else cluster.below(chance.choice(workers)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid := chance.choice(below), number)
                    struck.append(pid)
        await feeding
        stopped = signal.SIGSTOP not in signals or any([await freezes(pid, 0) for pid in struck])
        return bool(struck) and stopped and all(worker.alive for worker in workers)

    return fault


def dies_at(point: str) -> Fault:
    """A worker kills itself at a fail point, the n-th time it comes by."""

    async def fault(cluster: Cluster, chance: random.Random) -> bool:
        # One that dies while its partitions open is never ready; a third worker is sure of one partition in each group.
        opening = point == "opening"
        nth = chance.randint(1, 2 if opening else 6)
        victim = await cluster.start(fail=f"{point}:{nth}:kill", wait="" if opening else "ready")
        for _ in range(3):
            await cluster.feed(chance)
            if await victim.ends(4) is not None:
                return True
        return False

    return fault


async def arrives(cluster: Cluster, chance: random.Random, victim: Worker, seconds: float = 1.5) -> bool:
    """Feeds until a worker is at its fail point, three times at most."""
    for _ in range(3):
        await cluster.feed(chance, seconds=seconds)
        if await victim.says("at ", 3):
            return True
    return False


async def zombie(cluster: Cluster, chance: random.Random) -> bool:
    """A worker freezes between its work and its transaction, loses its partitions, and wakes."""
    victim = await cluster.start(
        fail=f"{chance.choice(('before_begin', 'before_offsets'))}:{chance.randint(1, 4)}:stop"
    )
    if reached := await arrives(cluster, chance, victim):
        await asyncio.sleep(_SILENCE)
        victim.send(signal.SIGCONT)
        await asyncio.sleep(1)
    return reached


async def frozen(cluster: Cluster, chance: random.Random) -> bool:
    """A worker freezes at a random moment for longer than its session, alone or with its children, and wakes."""
    victim = chance.choice(await cluster.keep(2))
    async with cluster.feeding(chance, (0.1, 1.2)):
        frozen = [victim.process.pid, *(cluster.below(victim) if chance.random() < 0.5 else ())]
        wake(frozen, signal.SIGSTOP)
        froze = await freezes(victim.process.pid, 1)
        await asyncio.sleep(_SILENCE)
        wake(frozen)
    return froze and victim.alive


async def dismissed(cluster: Cluster, chance: random.Random) -> bool:
    """A worker is asked to end, and does so in good order."""
    victim = chance.choice(await cluster.keep(3))
    async with cluster.feeding(chance, (0.2, 1.2)):
        await cluster.dismiss(victim)
    return not victim.alive


async def storm(cluster: Cluster, chance: random.Random) -> bool:
    """Workers join and leave, faster than the group settles."""
    feeding = asyncio.ensure_future(cluster.feed(chance, count=240, seconds=6))
    joined, left = [], []
    for _ in range(3):
        joined.append(await cluster.start(wait=""))
        await asyncio.sleep(chance.uniform(0.5, 1.5))
        leaving = chance.choice(cluster.staying)
        leaving.send(chance.choice((signal.SIGTERM, signal.SIGKILL)))
        left.append(leaving)
        await asyncio.sleep(chance.uniform(0.2, 0.8))
    await feeding
    return any(worker.alive for worker in joined) and any([await worker.ends(5) is not None for worker in left])


async def rebalance_in_transaction(cluster: Cluster, chance: random.Random) -> bool:
    """A worker joins while another one is between its sends and its offsets."""
    slow = await cluster.start(fail=f"before_offsets:{chance.randint(1, 4)}:pause=4")
    if reached := await arrives(cluster, chance, slow):
        await cluster.start()
    return reached


async def restarted(cluster: Cluster, victim: int, seconds: float) -> bool:
    """Kills a broker and starts it after a while; whether it was away."""
    await cluster.brokers.kill(victim)
    await asyncio.sleep(seconds)
    away = not cluster.brokers.nodes[victim].running
    await cluster.brokers.restart(victim)
    return away


async def broker_killed(cluster: Cluster, chance: random.Random) -> bool:
    """A broker is killed during the work, and restarted."""
    await cluster.keep(2)
    victim = chance.choice(cluster.brokers.numbers)
    async with cluster.feeding(chance, (0.2, 1.3), transactions=False):
        return await restarted(cluster, victim, chance.uniform(0.5, 2))


def network(weather: Weather, resets: int) -> Fault:
    """A worker whose connections are delayed, reset, or half open for longer than its session."""

    async def fault(cluster: Cluster, chance: random.Random) -> bool:
        victim = await cluster.start(through_proxy="all")
        async with cluster.feeding(chance, (0.2, 0.8), seconds=3):
            cluster.brokers.turn(weather)
            reset, held = cluster.brokers.resets, cluster.brokers.held
            for _ in range(resets):
                await asyncio.sleep(chance.uniform(0.1, 0.7))
                cluster.brokers.reset()
            await asyncio.sleep(_SILENCE if weather == "half_open" else 2)
            cluster.brokers.turn("fair")
            harmed = cluster.brokers.resets > reset if resets else cluster.brokers.held > held
            if weather == "half_open":
                cluster.brokers.reset()
        await cluster.dismiss(victim)
        return harmed

    return fault


async def cut_off(cluster: Cluster, chance: random.Random) -> bool:
    """The group no longer hears a worker, which continues and whose producers still reach the broker."""
    victim = await cluster.start(fail=f"before_begin:{chance.randint(1, 4)}:pause=6", through_proxy="consumers")
    if not await arrives(cluster, chance, victim, seconds=0.3):
        return False
    held = cluster.brokers.held
    cluster.brokers.turn("half_open")
    await asyncio.sleep(7)
    cluster.brokers.turn("fair")
    cluster.brokers.reset()
    return cluster.brokers.held > held


async def late_commit(cluster: Cluster, chance: random.Random) -> bool:
    """A commit is on its way until the next transaction of its id is open; then the worker dies."""
    victim = await cluster.start(fail=f"{AFTER_LOST_END}:1:stop", through_proxy="all")
    for _ in range(3):
        feeding = asyncio.ensure_future(cluster.feed(chance, seconds=4))
        held = await cluster.brokers.trap.hold(10)
        reached = held and await victim.says("at ", 10)
        if reached:
            await cluster.brokers.trap.deliver()
            victim.send(signal.SIGKILL)
        await feeding
        if reached:
            return await victim.ends(5) is not None
    return False


async def refused(cluster: Cluster, chance: random.Random) -> bool:
    """The broker refuses some outputs: each becomes a dead letter, alone."""
    await cluster.feed(chance, big=4, poison=2)
    ledger = cluster.ledger
    return await hold(lambda: any(ledger.fed.get(name) == "big" for name in ledger.dead), PATIENCE_SECONDS)


async def dead_letters_refused(cluster: Cluster, chance: random.Random) -> bool:
    """No dead letter can be written for a while: nothing passes a poisonous record, and nothing is dropped."""
    await cluster.limit(DEAD, 150)  # the markers of transactions, of 78 bytes, still pass
    await cluster.feed(chance, poison=5)
    await asyncio.sleep(4)
    await cluster.read_on(0.5)
    written = set(cluster.ledger.dead)
    await cluster.limit(DEAD, 1_000_000)
    return not all(name in written for name in cluster.ledger.wanted("dead"))


async def at_least_once(cluster: Cluster, chance: random.Random) -> bool:
    """A worker with at-least-once delivery dies in a commit: outputs may repeat, and no output is lost."""
    point = chance.choice(("mid_send", "before_offsets", "after_commit"))
    async with cluster.beside("at_least_once") as other:
        harmed = await dies_at(point)(other, chance)
        await other.keep(1)
        # Repetitions are findings of the reader, and no reason to stop waiting.
        complete = await other.comes_out(PATIENCE_SECONDS, whatever_is_found=True)
        await other.read_on(1)
        findings = other.ledger.without_repetitions().check()
        if not (findings.clean and complete):
            cluster.complaints.append(f"at least once, died at {point}: {findings.counts}")
    return harmed


FAULTS: dict[str, Fault] = {
    "killed": killed,
    "child killed": children(signal.SIGKILL),
    "child stopped": children(signal.SIGSTOP, signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL),
    **{f"dies {point}": dies_at(point) for point in POINTS},
    "zombie": zombie,
    "frozen": frozen,
    "dismissed": dismissed,
    "storm": storm,
    "rebalance in transaction": rebalance_in_transaction,
    "broker killed": broker_killed,
    "slow network": network("slow", 0),
    "resets": network("fair", 3),
    "half open": network("half_open", 0),
    "cut off": cut_off,
    "late commit": late_commit,
    "outputs refused": refused,
    "dead letters refused": dead_letters_refused,
    "at least once": at_least_once,
}


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
