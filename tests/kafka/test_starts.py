"""An application, a replay or a watch that fails or is cancelled half-way leaves no connection and no task."""

import asyncio
import itertools

import pytest
from aiokafka.errors import KafkaConnectionError, KafkaError

from streams.app.application import Application
from streams.kafka.topics import create_topics
from streams.pipeline.consumer import CountingConsumer
from streams.topology import HANDLERS
from tests.kafka.connections import Connections, of_aiokafka
from tests.kafka.installation import Installing, install, until

TWO = [handler for handler in HANDLERS if handler.name in ("score_page", "rank_results")]


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    return Connections(monkeypatch)


async def test_failed_start_of_one_group_stops_the_others(
    installing: Installing, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (await installing(TWO)).settings
    numbers, start, ended = itertools.count(), CountingConsumer.start, list[bool]()

    async def fail_once(consumer: CountingConsumer) -> None:
        if next(numbers) == 0:
            raise KafkaConnectionError("the first one")
        try:
            await start(consumer)
        finally:
            ended.append(True)

    monkeypatch.setattr(CountingConsumer, "start", fail_once)
    application = Application(settings, TWO)
    with pytest.raises(KafkaError, match="the first one"):
        await application.start()
    assert len(ended) == next(numbers) - 1 > 0
    await application.stop()
    assert (connections.open, of_aiokafka()) == (0, [])


async def test_a_worker_names_the_topic_that_it_waits_for(kafka: str, topic_prefix: str) -> None:
    settings = install(kafka, topic_prefix)
    application = Application(settings, [TWO[0]])
    starting = asyncio.create_task(application.start())
    try:
        await until(lambda: any("`assay topics create`" in words for words in application.health.ready().problems))
        [words] = application.health.ready().problems
        assert f"{topic_prefix}pages.crawled.v1" in words
        assert f"{topic_prefix}pages.scored.v1" in words, "what it writes, too"
        await create_topics(settings.kafka)
        await until(lambda: application.health.ready().well, seconds=90)
    finally:
        starting.cancel()
        await application.stop()
