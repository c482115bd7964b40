"""Live traffic beside a replay at full speed, and a large backfill that is killed: ``python -m tools.bench.replay``.

A worker that ``assay run`` starts scores pages that arrive at a steady rate. The age of each result is measured from
outside when it can be read, first without and then with ``assay replay`` at work on a backlog on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Iterable
from itertools import count, islice
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from streams.kafka.clients import connection, make_producer, make_reader
from streams.kafka.topics import create_topics
from streams.local_kafka.broker import LocalKafka
from streams.pipeline.group import Subscription
from streams.replay.group import PlanGroup
from streams.replay.plan_store import PlanStore, StartOffsets
from streams.replay.ranges import LATEST, resolve_ranges
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings
from streams.topology import HANDLERS
from streams.topology.names import run_group
from tests.kafka.installation import CRAWLED, SCORED, Installation, page, until
from tests.kafka.replays import assay_replay
from tools import labelled
from tools.bench.assay_worker import settings_for
from tools.bench.feeds import fill
from tools.bench.pages import SET, Record, load_pages, page_records

PLAN = "bench"
SHADOW = f"{SCORED}.replay.{PLAN}"


def main() -> int:
    """Measures both, prints a JSON object each; 1 where a result is missing or doubled."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.replay", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=("live", "kills"), default=["live", "kills"])
    parser.add_argument("--backlog", type=int, default=20_000, help="pages that are replayed")
    parser.add_argument("--rate", type=float, default=20.0, help="live pages a second")
    parser.add_argument("--seconds", type=float, default=30.0, help="of live traffic, without and with a replay")
    parser.add_argument("--kills", type=int, default=5)
    return asyncio.run(_measure(parser.parse_args()))


async def _measure(options: argparse.Namespace) -> int:
    status = 0
    async with LocalKafka() as kafka:
        if "live" in options.only:
            print(json.dumps(await live_beside_replay(kafka.bootstrap_servers, options)), flush=True)
        if "kills" in options.only:
            figures = await killed(kafka.bootstrap_servers, options.backlog, options.kills)
            print(json.dumps(figures), flush=True)
            status = 0 if figures["results"] == figures["different"] == options.backlog else 1
    return status


async def live_beside_replay(bootstrap: str, options: argparse.Namespace) -> dict[str, Any]:
    """Ages of live pages in seconds, without and with a replay, and what the replay did meanwhile."""
    settings = settings_for(bootstrap, "live.")
    await create_topics(settings.kafka)
    await fill(settings, CRAWLED, islice(_pages("old"), options.backlog))
    # The worker has done these before, as it were.
    here = await resolve_ranges(settings, CRAWLED, LATEST)
    await _set_group(settings, PlanGroup(settings.kafka, Subscription(HANDLERS[0]), here).starts)
    worker = await _worker(settings)
    try:
        await _ages(settings, "warm", options.rate, 5)
        alone = await _ages(settings, "alone", options.rate, options.seconds)
        replay = await assay_replay(settings, "score_page", "--plan", PLAN)
        assay = Installation(settings)

        async def has_begun() -> bool:
            return await _done(assay) > 0

        await until(has_begun)
        before, began = await _done(assay), time.monotonic()
        beside = await _ages(settings, "beside", options.rate, options.seconds)
        speed = (await _done(assay) - before) / (time.monotonic() - began)
        running = replay.returncode is None
        replay.kill()
        await replay.communicate()
    finally:
        worker.kill()
        await worker.wait()
    return {
        "live_rate": options.rate,
        "slo_seconds": HANDLERS[0].slo_seconds,
        "alone": alone,
        "beside_replay": beside,
        "replayed_per_second": round(speed, 1),
        "replay_ran_throughout": running,
    }


async def killed(bootstrap: str, backlog: int, kills: int) -> dict[str, Any]:
    """A backfill killed so often: its results, how many different ones, and the time it took."""
    settings = settings_for(bootstrap, "kills.")
    await create_topics(settings.kafka)
    assay = Installation(settings)
    await assay.feed(page(number) for number in range(backlog))
    began, arguments, at = time.monotonic(), ["score_page", "--plan", PLAN], []
    for number in range(kills):
        process = await assay_replay(settings, *arguments)
        goal = backlog * (number + 1) // (kills + 1)

        async def far_enough(goal: int = goal) -> bool:
            return await _done(assay) >= goal

        await until(far_enough, seconds=600)
        assert process.returncode is None, "done before it could be killed"
        process.kill()
        await process.communicate()
        at.append(await _done(assay))
        arguments = ["resume", PLAN]
    process = await assay_replay(settings, *arguments)
    said, _ = await process.communicate()
    results = Counter(record.key for record in await assay.read(SHADOW))
    return {
        "pages": backlog,
        "killed_at": at,
        "state": json.loads(said)["state"],
        "results": results.total(),
        "different": len(results),
        "seconds": round(time.monotonic() - began, 1),
    }


async def _done(assay: Installation) -> int:
    """Offsets after the plan's group; empty while a broker that has just started knows no groups yet."""
    try:
        async with PlanStore(assay.settings, SystemClock()) as store:
            plan = store.plans.get(PLAN)
        return 0 if plan is None else sum((await assay.committed(run_group("score_page", plan))).values())
    except KafkaError:
        return 0


def _pages(name: str) -> Iterable[Record]:
    """Endless pages with a unique address each: labelled pages if there are any, else small ones."""
    if labelled.has(SET):
        for number, record in enumerate(page_records(load_pages(), 1_000_000)):
            address = f"https://{name}.example/{number}".encode()
            yield address, record[1], [("assay_url", address), ("content-type", b"text/html")]
    for number in count():
        key, value = page(number)
        yield key, value, []


async def _set_group(settings: Settings, starts: StartOffsets) -> None:
    """Sets a group without members to these offsets."""
    async with AIOKafkaConsumer(
        **connection(settings.kafka), group_id=starts.group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(list(starts.offsets))
        consumer.pause(*starts.offsets)
        await consumer.commit(starts.offsets)


async def _worker(settings: Settings) -> Process:
    environment = os.environ | {
        "ASSAY_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
        "ASSAY_KAFKA__TOPIC_PREFIX": settings.kafka.topic_prefix,
        "ASSAY_HTTP__ENABLED": "false",
        "ASSAY_LOGS__LEVEL": "error",
    }
    program = "from streams.cli.main import main; main()"
    return await asyncio.create_subprocess_exec(sys.executable, "-c", program, "run", "score_page", env=environment)


async def _ages(settings: Settings, name: str, rate: float, seconds: float) -> dict[str, float]:
    """Writes live pages at a rate; how old each was when its result could be read."""
    prefix = settings.kafka.topic_prefix
    producer, reader = make_producer(settings.kafka, None, "bench"), make_reader(settings.kafka, prefix + SCORED)
    await producer.start()
    await reader.start()
    written: dict[bytes, float] = {}
    ages: list[float] = []

    async def read() -> None:
        while len(ages) < round(rate * seconds):
            for records in (await reader.getmany(timeout_ms=20)).values():
                now = time.monotonic()
                ages.extend(now - written[record.key] for record in records if record.key in written)

    try:
        await reader.seek_to_end()
        reading = asyncio.create_task(read())
        began = time.monotonic()
        for number, (key, value, headers) in enumerate(islice(_pages(name), round(rate * seconds))):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            written[key] = time.monotonic()
            await producer.send(prefix + CRAWLED, value, key=key, headers=headers)
        await asyncio.wait_for(reading, 300)
    finally:
        await producer.stop()
        await reader.stop()
    cuts = statistics.quantiles(ages, n=100)
    return {"p50": round(cuts[49], 3), "p99": round(cuts[98], 3), "max": round(max(ages), 3)}


if __name__ == "__main__":
    sys.exit(main())
