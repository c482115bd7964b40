"""A consumer with librdkafka and the JSON Schemas only understands every event of the demonstration."""

import asyncio
import sys
from asyncio.subprocess import PIPE

import pytest

from streams.demo.run import Demo, run
from streams.settings.model import load_settings
from tests.samples import ROOT

READER = ROOT / "tools" / "read_events.py"


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_every_event_of_the_demonstration_is_valid_and_joined(kafka: str, topic_prefix: str) -> None:
    settings = load_settings(kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix}, http={"enabled": False})
    done: asyncio.Future[Demo] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    # At its end the demonstration deletes its topics.
    running = asyncio.create_task(run(settings, stop, False, None, lambda _: None, lambda _: None, done.set_result))
    try:
        await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
        assert done.done(), running.result()
        prefix = done.result().application.settings.kafka.topic_prefix
        reader = await asyncio.create_subprocess_exec(sys.executable, READER, kafka, prefix, stdout=PIPE, stderr=PIPE)
        said, told = await reader.communicate()
    finally:
        stop.set()
        await running
    assert reader.returncode == 0, told.decode()
    assert said.endswith(b" 0 problems\n")
