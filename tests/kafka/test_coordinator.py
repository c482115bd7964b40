"""The group coordinator after its broker was killed: answers that come too early must not be used."""

import asyncio
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.kafka.clients import connection, make_producer
from streams.kafka.settings import KafkaSettings
from streams.local_kafka.broker import LocalKafka
from streams.pipeline.commit import ExactlyOnce
from tests.kafka.installation import CRAWLED, installed

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

PARTITIONS = 6
ROUNDS = 40
RESTARTS = 4
"""Tries to see an answer that comes too early, for a broker may have read all it needs before it is asked."""


def stage_of(settings: KafkaSettings, consumer: AIOKafkaConsumer, number: int) -> ExactlyOnce:
    producers = partial(make_producer, settings, client_id="test")
    partition = TopicPartition(settings.topic_prefix + CRAWLED, number)
    return ExactlyOnce(partition, "group", settings.topic_prefix, consumer, producers, 20)


async def opened(stage: ExactlyOnce) -> int | None:
    """Opens a stage as soon as the broker lets it."""
    while True:
        try:
            return await stage.open()
        except (KafkaError, OSError, TimeoutError):
            await stage.close()
            await asyncio.sleep(0.01)


async def hammered(consumer: AIOKafkaConsumer, stage: ExactlyOnce, seconds: float) -> set[int | None]:
    """What reads by themselves find, from the broker's first answer on."""
    loop = asyncio.get_running_loop()
    found: set[int | None] = set()
    until: float | None = None
    while until is None or loop.time() < until:
        try:
            async with asyncio.timeout(5):
                found.add(await consumer.committed(stage._partition))
            until = until or loop.time() + seconds
        except (KafkaError, OSError, TimeoutError):
            await asyncio.sleep(0.01)
    return found


async def test_partition_opened_right_after_a_restart_finds_its_offset() -> None:
    async with LocalKafka() as kafka:
        assay = await installed(kafka.bootstrap_servers, "t.")
        settings = assay.settings.kafka
        consumer = AIOKafkaConsumer(**connection(settings), group_id="group", enable_auto_commit=False)
        await consumer.start()
        stages = [stage_of(settings, consumer, number) for number in range(PARTITIONS)]
        await asyncio.gather(*(stage.open() for stage in stages))
        for offset in range(1, ROUNDS + 1):
            await asyncio.gather(*(stage.commit((), offset) for stage in stages))
        try:
            for _ in range(RESTARTS):
                if await found_by_themselves(kafka, consumer, stages) - {ROUNDS}:
                    break
            else:
                pytest.fail("reads by themselves are no longer too early: the wait can go")
        finally:
            await asyncio.gather(*(stage.close() for stage in stages))
            await consumer.stop()


async def found_by_themselves(
    kafka: LocalKafka, consumer: AIOKafkaConsumer, stages: list[ExactlyOnce]
) -> set[int | None]:
    """Kills the broker and starts it anew: checks what committers find that open, and returns what reads find."""
    await asyncio.to_thread(kafka.kill)
    await asyncio.gather(*(stage.close() for stage in stages))
    hammering = asyncio.gather(*(hammered(consumer, stage, 1.5) for stage in stages))
    restarting = asyncio.ensure_future(asyncio.to_thread(kafka.restart))
    try:
        assert await asyncio.gather(*(opened(stage) for stage in stages)) == [ROUNDS] * PARTITIONS
        return set().union(*await hammering)
    finally:
        hammering.cancel()
        await asyncio.gather(hammering, restarting, return_exceptions=True)
