"""Hostile input against ``assay run`` on a real Kafka: a worker goes on behind it, and tells its true state all the time.

Each bad record is written before a good one, into the same partition. What has to come of it is told with it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.extraction import ExtractionCompleted, ExtractionNeeded, ExtractionTrigger
from schemas.outcome import Dead
from streams.kafka import make_producer, opened
from streams.topology import Handler, handler_named
from tests.kafka import hostile
from tests.kafka.batches import batch, bomb, write
from tests.kafka.hostile import Hostile
from tests.kafka.installation import Installation, installed, scorer, until
from tests.kafka.malformed import Input, good_batch, good_page
from tests.kafka.worker import Worker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

MEMORY_MIB = 400
FETCH, SCORE, INDEX, RANK, CLASSIFY = (
    handler
    for name in ("fetch_page", "score_page", "index_page", "rank_results", "classify_results")
    if (handler := handler_named(name)) is not None
)


async def feed(
    assay: Installation, handler: Handler, bad: Iterable[Hostile], good: Sequence[Input]
) -> dict[int, tuple[str, str]]:
    """Writes each bad batch and a good record behind it to one partition.

    Returns:
        By offset: what it is, and what has to come of it.
    """
    place = TopicPartition(assay.prefix + handler.consumes.name, 0)
    expected: dict[int, tuple[str, str]] = {}
    async with opened(make_producer(assay.settings.kafka, None, "feed")) as producer:
        for number, its in enumerate(bad):
            first = await write(producer, place, its.data)
            expected |= {first + n: (its.name, its.ends) for n in range(its.records)}
            behind = good[number % len(good)]
            at = await producer.send_and_wait(
                place.topic, behind.value, behind.key, place.partition, headers=behind.headers
            )
            expected[at.offset] = (f"good, behind {its.name}", "emit")
    return expected


async def ends_of(assay: Installation, handler: Handler) -> dict[int, str]:
    """What came of each record of partition 0, by offset: ``emit``, or the reason of its dead letter."""
    topic = assay.prefix + handler.consumes.name
    emitted = {
        dict(record.headers)["ce_causationid"].decode(): "emit"
        for record in await assay.read(*(its.name for its in handler.emits))
    }
    found = {int(place.split("/")[2]): end for place, end in emitted.items() if place.startswith(f"{topic}/0/")}
    for record in await assay.read(dead_letter_topic(handler.consumes.name, handler.group)):
        letter = DeadLetter.of(record.headers)
        assert letter.offset not in found
        found[letter.offset] = letter.reason
        assert letter.error
    return found


async def done(assay: Installation, worker: Worker, *handlers: Handler) -> None:
    """Waits until the groups have committed everything, or the worker has ended."""
    for handler in handlers:
        ends = await assay.ends(handler.consumes.name)
        async with asyncio.timeout(200):
            while (await assay.committed(handler.group)).get(0, 0) < ends[0] and worker.process.returncode is None:
                await asyncio.sleep(0.3)


async def test_a_worker_goes_on_behind_every_hostile_record(kafka: str, topic_prefix: str) -> None:
    assay = await installed(kafka, topic_prefix, (SCORE, CLASSIFY))
    async with Worker(assay.settings, SCORE.name, CLASSIFY.name) as worker:
        rebalances, cpu = await worker.rebalances(), worker.cpu_seconds
        expected = {
            SCORE: await feed(assay, SCORE, [*hostile.packed(), *hostile.pages()], [good_page(n) for n in range(2)]),
            CLASSIFY: await feed(assay, CLASSIFY, [*hostile.packed(), *hostile.batches()], [good_batch(1)]),
        }
        await done(assay, worker, *expected)
        assert await worker.rebalances() == rebalances
        print(f"{worker.peak_mib} MiB, {worker.cpu_seconds - cpu:.1f} s CPU, {len(worker.probes)} probes")
        assert worker.peak_mib < MEMORY_MIB
    assert worker.process.returncode == 0, worker.lines
    assert {probe.status for probe in worker.probes} == {200}
    for handler, its in expected.items():
        came = await ends_of(assay, handler)
        assert {place: (name, came.get(place)) for place, (name, _) in its.items()} == its
