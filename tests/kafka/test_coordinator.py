"""The group coordinator after its broker was killed: answers that come too early must not be used."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from streams.kafka.clients import connection, make_producer
from streams.kafka.settings import KafkaSettings
from streams.kafka.transactions import RecordWriter, transactional_id
from streams.local_kafka.broker import LocalKafka
from streams.pipeline.commit import Committer
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.metrics import PipelineMetrics
from streams.runtime.clock import SystemClock
from streams.telemetry.metrics import Metrics
from tests.kafka.installation import CRAWLED, installed

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

PARTITIONS = 6
ROUNDS = 40
RESTARTS = 4
"""Tries to see an answer that comes too early, for a broker may have read all it needs before it is asked."""


def committer_of(settings: KafkaSettings, consumer: CountingConsumer, number: int) -> Committer:
    partition = TopicPartition(settings.topic_prefix + CRAWLED, number)
    own_id = transactional_id("group", partition)
    return Committer(
        partition,
        consumer,
        RecordWriter(lambda: make_producer(settings, own_id, "test"), 20),
        SystemClock(),
        PipelineMetrics(Metrics(CollectorRegistry()), "toy"),
        group="group",
        topic_prefix=settings.topic_prefix,
        transactional=True,
    )


async def opened(committer: Committer) -> int:
    """Opens a committer as soon as the broker lets it, without the pauses of ``open``."""
    while True:
        try:
            return await committer._acquire()
        except (KafkaError, OSError, TimeoutError):
            await committer.close()
            await asyncio.sleep(0.01)


async def hammered(consumer: AIOKafkaConsumer, committer: Committer, seconds: float) -> set[int | None]:
    """What reads of a client of aiokafka's find, from the broker's first answer on."""
    loop = asyncio.get_running_loop()
    found: set[int | None] = set()
    until: float | None = None
    while until is None or loop.time() < until:
        try:
            async with asyncio.timeout(5):
                found.add(await consumer.committed(committer._partition))
            until = until or loop.time() + seconds
        except (KafkaError, OSError, TimeoutError):
            await asyncio.sleep(0.01)
    return found


async def test_partition_opened_right_after_a_restart_finds_its_offset() -> None:
    async with LocalKafka() as kafka:
        assay = await installed(kafka.bootstrap_servers, "t.", partitions=PARTITIONS)
        settings = assay.settings.kafka
        consumer = CountingConsumer(**connection(settings), group_id="group", enable_auto_commit=False)
        # It takes the error of a broker that does not coordinate yet for no offset.
        plain = AIOKafkaConsumer(**connection(settings), group_id="group", enable_auto_commit=False)
        await asyncio.gather(consumer.start(), plain.start())
        committers = [committer_of(settings, consumer, number) for number in range(PARTITIONS)]
        await asyncio.gather(*(committer.open() for committer in committers))
        for offset in range(1, ROUNDS + 1):
            await asyncio.gather(*(committer.commit((), offset) for committer in committers))
        try:
            for _ in range(RESTARTS):
                if await found_by_themselves(kafka, plain, committers) - {ROUNDS}:
                    break
            else:
                pytest.fail("reads by themselves no longer find another offset: what is done about that can go")
        finally:
            await asyncio.gather(*(committer.close() for committer in committers))
            await asyncio.gather(consumer.stop(), plain.stop())


async def found_by_themselves(
    kafka: LocalKafka, consumer: AIOKafkaConsumer, committers: list[Committer]
) -> set[int | None]:
    """Kills the broker and starts it anew: checks what committers find that open, and returns what reads find."""
    await asyncio.to_thread(kafka.kill)
    await asyncio.gather(*(committer.close() for committer in committers))
    hammering = asyncio.gather(*(hammered(consumer, committer, 1.5) for committer in committers))
    restarting = asyncio.ensure_future(asyncio.to_thread(kafka.restart))
    try:
        assert await asyncio.gather(*(opened(committer) for committer in committers)) == [ROUNDS] * PARTITIONS
        return set().union(*await hammering)
    finally:
        hammering.cancel()
        await asyncio.gather(hammering, restarting, return_exceptions=True)
