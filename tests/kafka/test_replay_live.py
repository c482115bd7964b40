"""A replay beside live traffic on a real Kafka: it pauses while live records are late, and then continues."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata
from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan, ReplayState
from streams.kafka.clients import connection, make_producer, opened
from streams.replay.plan_store import PlanSession, PlanStore
from streams.replay.run import run_plan
from streams.runtime.clock import SystemClock
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, REPLAYS
from tests.kafka.installation import CRAWLED, GROUP, SCORE_PAGE, SCORED, Installation, page, until
from tests.kafka.replays import Watched, planned

SHADOW = f"{SCORED}.replay.again"
GIVES_WAY = "gives way to live traffic"
OLD, NEW = 200, 60
"""Pages that are replayed, and live ones that come meanwhile."""
INSTALLED = (SCORE_PAGE, [REPLAYS])


async def carried_out(assay: Installation, metrics: Metrics, watched: Watched) -> ReplayPlan:
    async with PlanStore(assay.settings, SystemClock()) as store:
        session = PlanSession(assay.settings, store, "again", SystemClock(), metrics, asyncio.Event(), watched)
        return await run_plan(session)


async def feed_late(assay: Installation, seconds: float) -> None:
    """Live pages that were produced a while ago: as if a slow worker had not come to them."""
    at = int((time.time() - seconds) * 1000)
    async with opened(make_producer(assay.settings.kafka, None, "feed")) as producer:
        for key, value in (page(n) for n in range(OLD, OLD + NEW)):
            await producer.send(assay.prefix + CRAWLED, value, key=key, timestamp_ms=at)


async def catch_up(worker: AIOKafkaConsumer) -> None:
    """The worker has done all there is."""
    ends = await worker.end_offsets(worker.assignment())
    await worker.commit({place: OffsetAndMetadata(end, "") for place, end in ends.items()})


async def test_replay_pauses_for_late_live_records_and_continues(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(OLD)])
    worker = AIOKafkaConsumer(
        assay.prefix + CRAWLED, **connection(assay.settings.kafka), group_id=assay.prefix + GROUP,
        enable_auto_commit=False,
    )  # fmt: skip
    await worker.start()
    await catch_up(worker)
    await planned(assay.settings, "score_page", rate=30.0)
    metrics, watched = Metrics(CollectorRegistry()), Watched()

    def waiting() -> float | None:
        return metrics.registry.get_sample_value("assay_replay_waiting", {"handler": "score_page"})

    running = asyncio.create_task(carried_out(assay, metrics, watched))
    await until(lambda: watched.last is not None and watched.last.replayed > 0)
    assert (waiting(), watched.notes) == (0, {""})
    await feed_late(assay, HANDLERS[0].slo_seconds * 0.75)
    await until(lambda: GIVES_WAY in watched.notes)
    assert waiting() == 1
    assert watched.last is not None
    done = watched.last.replayed
    await asyncio.sleep(2.0)
    assert (watched.last.replayed, watched.last.note) == (done, GIVES_WAY)
    assert 0 < done < OLD
    assert len(await assay.read(SHADOW)) == done
    await catch_up(worker)
    await until(lambda: running.done() or (watched.last is not None and watched.last.replayed > done))
    assert (await running).state is ReplayState.FINISHED
    assert waiting() == 0
    assert len(await assay.read(SHADOW)) == OLD
    await worker.stop()
