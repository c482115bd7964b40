"""A consumer with librdkafka and the JSON Schemas only understands every event of the demonstration."""

import asyncio

import pytest

from streams.demo.run import Demo, run
from streams.settings import load_settings
from tools.read_events import main


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_every_event_of_the_demonstration_is_valid_and_joined(
    kafka: str, topic_prefix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix}, http={"enabled": False})
    statuses = []

    def read(demo: Demo) -> None:
        statuses.append(main(kafka, demo.application.settings.kafka.topic_prefix))

    await run(settings, asyncio.Event(), True, None, lambda _: None, lambda _: None, read)
    found = capfd.readouterr()
    assert statuses == [0], found.err
    assert found.out.endswith(" 0 problems\n")
