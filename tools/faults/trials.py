"""Situations with topics or workers of their own: sequence numbers that end, retention in a replay, a bad deploy."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from streams.kafka.clients import make_admin, opened
from streams.kafka.topics import create_topics
from streams.replay.plan_store import PlanStore
from streams.runtime.clock import SystemClock
from streams.topology import REPLAYS
from streams.topology.names import run_group
from tests.kafka.installation import CRAWLED, SCORE_PAGE, SCORED, Installation, install, page, process
from tools.faults.cluster import PATIENCE_SECONDS, Cluster
from tools.faults.rounds import Fault

_PAUSE_SECONDS = 60.0
_PAGES = 600
_PLAN = "backfill"
_REPLAY_SECONDS = 300.0


async def sequence_overflow(cluster: Cluster, chance: random.Random) -> bool:
    """The sequence numbers of a producer end, or would end and it is replaced before."""
    sign, condition = chance.choice((("overflow", "sequences_overflow"), ("renewed", "sequences_renewed")))
    async with cluster.beside("exactly_once") as other:
        worker = await other.start(stage=condition)
        await other.feed(chance, count=800, seconds=2)
        complete = await other.comes_out(PATIENCE_SECONDS)
        await other.read_on(1)
        findings = other.ledger.check()
        if not (findings.clean and complete):
            cluster.complaints.append(f"{condition}: {findings.counts}")
        return await worker.says(sign, 1)


async def bad_deploy(cluster: Cluster, chance: random.Random) -> bool:
    """A version that fails for every record pauses its intake; the version before does the rest."""
    async with cluster.beside("exactly_once") as other:
        await other.feed(chance, seconds=0, count=400, plain=100)
        await other.flushed()
        worker = await other.start(stage="bad_deploy")
        paused = await worker.says("paused", _PAUSE_SECONDS)
        await asyncio.sleep(chance.uniform(0, 3))
        worker.send(chance.choice((signal.SIGTERM, signal.SIGKILL)))
        await worker.ends(_PAUSE_SECONDS)
        await other.read_on(9)  # an open transaction of a worker that was killed ends by its timeout
        # What the bad version refused are dead letters. Everything else is still in Kafka.
        refused = set(other.ledger.dead)
        other.ledger.fed |= dict.fromkeys(refused, "poison")
        other.found = None
        if not 0 < len(refused) < 100:
            cluster.complaints.append(f"bad deploy: {len(refused)} of 400 records became dead letters")
        await other.start()
        complete = await other.comes_out(PATIENCE_SECONDS)
        await other.read_on(1)
        findings = other.ledger.check()
        if not (findings.clean and complete):
            cluster.complaints.append(f"bad deploy: {findings.counts}")
        return paused


async def retention_in_replay(cluster: Cluster, chance: random.Random) -> bool:
    """Retention deletes inputs of a replay before it has read them, and its process dies; no other input is missing."""
    replicas = len(cluster.brokers.numbers)
    settings = install(cluster.brokers.bootstrap_servers, f"faults.replay-{chance.randrange(10**6)}.{os.getpid()}.")
    kafka = settings.kafka.model_copy(update={"replication_factor": replicas})
    assay = Installation(settings.model_copy(update={"kafka": kafka}))
    topics = (SCORE_PAGE[0].consumes, *SCORE_PAGE[0].emits, REPLAYS)
    await create_topics(kafka, topics, SCORE_PAGE)
    await assay.feed([page(number) for number in range(_PAGES)])

    async def replay(*words: str) -> asyncio.subprocess.Process:
        variables = {"kafka__session_timeout_seconds": 6, "kafka__replication_factor": replicas}
        return await process(assay.settings, "replay", *words, "--json", stderr=asyncio.subprocess.DEVNULL, **variables)

    running = await replay("score_page", "--plan", _PLAN, "--rate=100", "--no-give-way")
    try:
        async with asyncio.timeout(_REPLAY_SECONDS):
            begun = chance.uniform(50, 150)
            while await _done(assay) < begun:  # noqa: ASYNC110 - it looks at another process
                await asyncio.sleep(0.5)
            deleted = {
                TopicPartition(assay.prefix + CRAWLED, number): RecordsToDelete(chance.randint(0, end))
                for number, end in (await assay.ends()).items()
            }
            async with opened(make_admin(kafka)) as admin:
                await admin.delete_records(deleted)
            reached = running.returncode is None
            if reached and chance.random() < 0.5:
                running.kill()
                await running.communicate()
                running = await replay("resume", _PLAN, "--rate=5000")
            said, _ = await running.communicate()
    except TimeoutError:
        return False
    finally:
        if running.returncode is None:
            running.kill()
            await running.communicate()
    summary = json.loads(said.splitlines()[-1])
    scored = Counter(record.key for record in await assay.read(f"{SCORED}.replay.{_PLAN}"))
    missing = [key for key in (page(number)[0] for number in range(_PAGES)) if key not in scored]
    # What was deleted can't be read any more, so the inputs that remain are the rest of those that must be there.
    remaining = {record.key for record in await assay.read(CRAWLED)}
    if summary["state"] != "finished" or len(missing) != summary["deleted"] or remaining & set(missing):
        cluster.complaints.append(f"retention: {len(missing)} results are missing, {summary}")
    if max(scored.values(), default=0) > 1:
        cluster.complaints.append(f"retention: {sum(count > 1 for count in scored.values())} results are there twice")
    return reached


async def _done(assay: Installation) -> int:
    """Offsets of the plan's group, over all partitions; 0 while there is no such plan."""
    async with PlanStore(assay.settings, SystemClock()) as store:
        plan = store.plans.get(_PLAN)
    return 0 if plan is None else sum((await assay.committed(run_group("score_page", plan))).values())


TRIALS: dict[str, Fault] = {
    "sequence overflow": sequence_overflow,
    "bad deploy": bad_deploy,
    "retention in a replay": retention_in_replay,
}
