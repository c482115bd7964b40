"""Replays on a real Kafka: a bounded part of a topic is processed again into shadow topics, beside live traffic."""

import asyncio
import json
import time
from collections import Counter
from datetime import UTC, datetime

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.structs import OffsetAndMetadata
from prometheus_client import CollectorRegistry

from schemas.event import TYPE_PREFIX
from schemas.replays import ReplayState
from streams.kafka.clients import connection, make_producer, opened
from streams.replay.admin import cancel, drop, plan_status
from streams.replay.plan import ReplayError
from streams.replay.plan_store import PlanStore
from streams.runtime.clock import SystemClock
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, REPLAYS
from tests.kafka.installation import (
    CRAWLED,
    GROUP,
    SCORED,
    Installation,
    command,
    handlers_named,
    page,
    until,
)
from tests.kafka.replays import Watched, carried_out, planned, replayed
from tests.samples import the_handler

SHADOW = f"{SCORED}.replay.again"
LETTERS = f"{CRAWLED}.assay.score_page.replay.again.dlq"
GIVES_WAY = "gives way to live traffic"
OLD, NEW = 200, 60
"""Pages that are replayed, and live ones that come meanwhile."""
INSTALLED = (handlers_named("score_page", "index_page", "classify_results"), [REPLAYS])


def header(record: ConsumerRecord, name: str) -> str:
    return str(dict(record.headers)[name].decode())


def ids(records: list[ConsumerRecord]) -> list[str]:
    return sorted(header(record, "ce_id") for record in records)


@pytest.mark.usefixtures("children")
async def test_backfill_writes_what_live_traffic_wrote(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(60)], transactional=True)
    await assay.drain(the_handler("score_page"))
    live, committed = await assay.read(SCORED), await assay.committed()
    plan = await replayed(assay.settings, "score_page")
    assert (plan.state, plan.stage) == (ReplayState.FINISHED, 1)
    again = await assay.read(SHADOW)
    assert ids(again) == ids(live)
    assert {(r.key, r.partition, r.value) for r in again} == {(r.key, r.partition, r.value) for r in live}
    assert {header(record, "assay_run") for record in again} == {plan.run}
    assert {header(record, "ce_type") for record in again} == {TYPE_PREFIX + SCORED}
    assert len(await assay.read(SCORED)) == len(live)
    assert await assay.committed() == committed


async def test_a_replay_ends_at_an_instant(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(40)])
    await asyncio.sleep(0.05)
    between = datetime.now(UTC).isoformat()
    await asyncio.sleep(0.05)
    await assay.feed([page(n) for n in range(40, 70)])
    before = await planned(assay.settings, "score_page", plan="early", end=between)
    assert sum(its.end - its.start for its in before.stages[0].ranges) == 40
    await carried_out(assay.settings, "early")
    assert len(await assay.read(f"{SCORED}.replay.early")) == 40


async def test_dead_letters_of_a_replay_are_listed_by_its_name(
    assay: Installation, capfd: pytest.CaptureFixture[str]
) -> None:
    await assay.feed([*(page(n) for n in range(3)), (b"k", b"\xff{not json")])
    watched = Watched()
    await planned(assay.settings, "score_page")
    await carried_out(assay.settings, report=watched)
    assert watched.last is not None
    assert (watched.last.replayed, watched.last.dead) == (4, 1)
    assert [record.value for record in await assay.read(LETTERS)] == [b"\xff{not json"]

    async def told(*words: str) -> tuple[int, str]:
        status, out, err = await command(assay.settings, capfd, "dlq", *words)
        return status, out.strip() or err

    status, live = await told("list", "--json")
    assert (status, json.loads(live)["waiting"]) == (0, 0)
    status, line = await told("list", "--each", "--json", "--plan", "again")
    letter = json.loads(line)
    assert (status, letter["reason"]) == (0, "undecodable")
    status, shown = await told("show", letter["id"], "--json", "--plan", "again")
    assert (status, json.loads(shown)["from"]) == (0, letter["from"])
    assert (await told("show", letter["id"], "--json"))[0] == 1, "live traffic has no such letter"
    status, trouble = await told("list", "--plan", "another")
    assert (status, "no dead letters are kept of a replay 'another'" in trouble) == (1, True)


async def test_live_replay_writes_the_same_ids_and_fetches_nothing(assay: Installation) -> None:
    listing = "".join(f'<li><a href="/deals/{n}">Deal {n} of the day, with a long title</a></li>' for n in range(40))
    batch = {
        "batchId": "b1",
        "query": "events in Aarhus next week, with times and prices",
        "retrievedContent": [
            {
                "url": "https://list.example/all",
                "title": "All events",
                "content": "See all",
                "html": f"<ul>{listing}</ul>",
            }
        ],
    }
    await assay.feed([(b"b1", json.dumps(batch).encode())], topic="retrieval.batches.v1")
    await assay.drain(the_handler("classify_results"))
    assert len(await assay.read("extraction.needed.v1")) == 1
    plan = await replayed(assay.settings, "classify_results", live=True, readers_dedupe=True)
    assert plan.state is ReplayState.FINISHED
    assert Counter(ids(await assay.read("results.classified.v1"))).most_common(1)[0][1] == 2
    assert len(await assay.read("extraction.needed.v1")) == 1


async def test_a_plan_is_cancelled_from_elsewhere_and_dropped(assay: Installation) -> None:
    await assay.feed([page(n) for n in range(200)])
    await planned(assay.settings, "score_page", rate=10.0)
    running = asyncio.create_task(carried_out(assay.settings))

    async def some() -> bool:
        return len(await assay.read(SHADOW)) > 0

    await until(some)
    async with PlanStore(assay.settings, SystemClock()) as store:
        with pytest.raises(ReplayError, match="cancel again"):
            await drop(assay.settings, store, "again")
        left = await cancel(assay.settings, store, "again", SystemClock())
        assert (left.plan.state, left.members) == (ReplayState.CANCELLED, 0)
        assert 0 < left.remaining < 200
        assert (await running).state is ReplayState.CANCELLED
        gone = await drop(assay.settings, store, "again")
        assert {name.removeprefix(assay.prefix) for name in gone} == {SHADOW, LETTERS}
        # The name is free, and the group's offsets of before are of no account.
        plan = await replayed(assay.settings, "score_page")
        assert plan.state is ReplayState.FINISHED
    assert len(await assay.read(SHADOW)) == 200


async def test_a_plan_keeps_to_its_configuration_and_its_name(assay: Installation) -> None:
    await assay.feed([page(1)])
    plan = await planned(assay.settings, "score_page")
    labels = assay.settings.trust_labels.model_copy(update={"high": assay.settings.trust_labels.high - 1})
    other = assay.settings.model_copy(update={"trust_labels": labels})
    with pytest.raises(ReplayError, match="another configuration of score_page"):
        await carried_out(other)
    with pytest.raises(ReplayError, match="no plan 'nobody'"):
        await carried_out(assay.settings, "nobody")
    assert (await carried_out(assay.settings)).state is ReplayState.FINISHED
    async with PlanStore(assay.settings, SystemClock()) as store:
        [account] = await plan_status(assay.settings, store.plans.values())
        assert (account.plan.run, account.remaining) == (plan.run, 0)


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

    running = asyncio.create_task(carried_out(assay.settings, report=watched, metrics=metrics))
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
