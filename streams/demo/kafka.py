"""The Kafka of a demonstration: a local one that ends with it, or a named one under topics of the run's own."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from aiokafka.errors import KafkaError

from streams.broker import LocalKafka
from streams.broker_files import BrokerUnavailable
from streams.kafka import make_admin, opened
from streams.settings import Settings
from streams.topic_plan import plan_topics
from streams.topology import MIB

_ROOM_BYTES = 128 * MIB
"""Room for a local Kafka's files, with some to spare."""


@contextlib.asynccontextmanager
async def with_kafka(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[Settings]:
    """Settings with a Kafka in them: a local one for this run, or a named one under a prefix of the run's own."""
    if not settings.kafka.bootstrap_servers:
        _have_room()
        say("starting a real Kafka on this machine")
        async with LocalKafka(progress=say) as kafka:
            try:
                async with _while_running(kafka):
                    yield _changed(settings, bootstrap_servers=kafka.bootstrap_servers)
            finally:
                # Nothing on it is kept, so there is nothing to wait for.
                await asyncio.to_thread(kafka.kill)
        return
    prefix = f"{settings.kafka.topic_prefix}demo-{uuid.uuid4().hex[:8]}."
    say(f"using the Kafka at {settings.kafka.bootstrap_servers}, topics under {prefix}")
    named = _changed(settings, topic_prefix=prefix)
    try:
        yield named
    finally:
        async with opened(make_admin(named.kafka)) as admin:
            await admin.delete_topics([topic.name for topic in plan_topics(named)])


def _have_room() -> None:
    folder = Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    if free < _ROOM_BYTES:
        raise BrokerUnavailable(
            f"{folder} has {free // MIB} MiB free and a local Kafka wants {_ROOM_BYTES // MIB}: make room there, or "
            "name another folder with TMPDIR"
        )


@contextlib.asynccontextmanager
async def _while_running(kafka: LocalKafka) -> AsyncIterator[None]:
    """Ends the block where the broker ends first: its clients would go on trying to reach it."""
    here = asyncio.current_task()
    ended = ""

    async def look() -> None:
        nonlocal ended
        await asyncio.to_thread(kafka.wait)
        full = "No space left on device" in kafka.tail()
        ended = f"the disk of {kafka.data_dir} is full; name another with TMPDIR" if full else "it failed; start again"
        if here is not None:
            here.cancel()

    looking = asyncio.create_task(look(), name="demo kafka")
    try:
        yield
    except (asyncio.CancelledError, KafkaError):
        if not ended:
            raise
        raise BrokerUnavailable(f"the Kafka of this demonstration is gone: {ended}") from None
    finally:
        looking.cancel()


def _changed(settings: Settings, **kafka: str) -> Settings:
    return settings.model_copy(update={"kafka": settings.kafka.model_copy(update=kafka)})
