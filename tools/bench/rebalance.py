"""How long the other members of a group pause when one joins or leaves: ``python -m tools.bench.rebalance``.

Two workers read small messages all the time; a third one joins, and leaves on SIGTERM. The pause of a member is the
time from its last commit before a rebalance to its first commit after it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from statistics import median
from typing import Any

from aiokafka import TopicPartition

from streams.app.application import Application
from streams.kafka.clients import make_producer, opened
from streams.kafka.topics import create_topics
from streams.local_kafka.broker import LocalKafka
from streams.pipeline.group import ConsumerGroup
from streams.pipeline.partition import Partition
from streams.settings.model import Settings
from tools.bench.assay_worker import NOTES_TOPIC, SEEN_TOPIC, SEES, settings_for
from tools.bench.events import note

PREFIX = "rebalance."
MESSAGES_PER_SECOND = 200
SETTLE_SECONDS = 4.0


class Pauses:
    """Notes the commits and the rebalances of this process, and prints one line for each rebalance."""

    def __init__(self) -> None:
        self._committed_at = 0.0
        self._revoked_at: float | None = None

    def watch(self) -> None:
        """Wraps the pipeline's methods in this process."""
        commit, revoked = Partition._commit, ConsumerGroup.on_partitions_revoked

        async def noting_commit(partition: Partition, *arguments: Any) -> None:
            await commit(partition, *arguments)
            self._on_commit()

        async def noting_revoked(group: ConsumerGroup, partitions: Iterable[TopicPartition]) -> None:
            partitions = list(partitions)
            await revoked(group, partitions)
            if partitions:
                self._revoked_at = self._committed_at

        setattr(Partition, "_commit", noting_commit)  # noqa: B010 - a method that is replaced
        setattr(ConsumerGroup, "on_partitions_revoked", noting_revoked)  # noqa: B010

    def _on_commit(self) -> None:
        now = time.monotonic()
        if self._revoked_at is not None:
            print(json.dumps({"pause": round(now - self._revoked_at, 3)}), flush=True)
            self._revoked_at = None
        self._committed_at = now


async def work(bootstrap: str, heartbeat_seconds: float) -> None:
    """A worker: prints ``{"ready": true}``, then its pauses, until SIGTERM."""
    Pauses().watch()
    application = Application(settings_of(bootstrap, heartbeat_seconds), [SEES])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await application.start()
    while not application.health.ready().well:  # noqa: ASYNC110 - readiness has no event
        await asyncio.sleep(0.05)
    print(json.dumps({"ready": True}), flush=True)
    await stop.wait()
    await application.stop()


def settings_of(bootstrap: str, heartbeat_seconds: float) -> Settings:
    """The shipped settings with another interval of heartbeats."""
    settings = settings_for(bootstrap, PREFIX, workers={"processes": 0})
    return settings.model_copy(
        update={"kafka": settings.kafka.model_copy(update={"heartbeat_seconds": heartbeat_seconds})}
    )


class Worker:
    """A worker process and its pauses."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pauses: list[float] = []
        self.ready = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def stop(self) -> None:
        """Stops it as a supervisor does."""
        self.process.terminate()
        await self.process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            found = json.loads(line)
            if "pause" in found:
                self.pauses.append(found["pause"])
            else:
                self.ready.set()


async def start_worker(bootstrap: str, heartbeat_seconds: float) -> Worker:
    """Starts a worker and waits until it has its partitions."""
    command = [sys.executable, "-m", "tools.bench.rebalance", "--worker", bootstrap, str(heartbeat_seconds)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    worker = Worker(process)
    await worker.ready.wait()
    return worker


@asynccontextmanager
async def feeding(settings: Settings) -> AsyncIterator[None]:
    """Messages at a steady rate while the block runs."""

    async def feed() -> None:
        async with opened(make_producer(settings.kafka, None, "feed")) as producer:
            number = 0
            while True:
                key, value = note(number)
                await producer.send(f"{PREFIX}{NOTES_TOPIC.name}", value, key)
                number += 1
                await asyncio.sleep(1 / MESSAGES_PER_SECOND)

    task = asyncio.create_task(feed())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def measure(bootstrap: str, heartbeat_seconds: float, rounds: int) -> dict[str, Any]:
    """The pauses of the two members that stay, when the third one joins and when it leaves."""
    settings = settings_of(bootstrap, heartbeat_seconds)
    await create_topics(settings.kafka, (NOTES_TOPIC, SEEN_TOPIC), (SEES,))
    joins: list[float] = []
    leaves: list[float] = []
    async with feeding(settings):
        staying = [await start_worker(bootstrap, heartbeat_seconds) for _ in range(2)]
        await asyncio.sleep(SETTLE_SECONDS)
        for _ in range(rounds):
            for worker in staying:
                worker.pauses.clear()
            third = await start_worker(bootstrap, heartbeat_seconds)
            await asyncio.sleep(SETTLE_SECONDS)
            joins += [pause for worker in staying for pause in worker.pauses]
            for worker in staying:
                worker.pauses.clear()
            await third.stop()
            await asyncio.sleep(SETTLE_SECONDS)
            leaves += [pause for worker in staying for pause in worker.pauses]
        for worker in staying:
            await worker.stop()
    return {
        "heartbeat_seconds": heartbeat_seconds,
        "join": {"count": len(joins), "median": median(joins), "longest": max(joins)},
        "leave": {"count": len(leaves), "median": median(leaves), "longest": max(leaves)},
    }


async def run(heartbeats: list[float], rounds: int) -> None:
    """Prints one line for each interval."""
    async with LocalKafka() as kafka:
        for heartbeat_seconds in heartbeats:
            print(json.dumps(await measure(kafka.bootstrap_servers, heartbeat_seconds, rounds)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heartbeats", type=float, nargs="+", default=[3.0, 0.5], help="Intervals, in seconds.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", nargs=2, metavar=("BOOTSTRAP", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        asyncio.run(work(options.worker[0], float(options.worker[1])))
    else:
        asyncio.run(run(options.heartbeats, options.rounds))
