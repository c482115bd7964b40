"""A worker says what it waits for."""

import asyncio

from streams.app.application import Application
from streams.kafka.topics import create_topics
from streams.topology import HANDLERS
from tests.kafka.installation import install, until


async def test_a_worker_names_the_topic_that_it_waits_for(kafka: str, topic_prefix: str) -> None:
    settings = install(kafka, topic_prefix)
    application = Application(settings, HANDLERS[:1])
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
