"""Runs the demonstration: Kafka, topics, the sample web and all handlers.

Without a named cluster the demonstration starts a local Kafka and ends it. On a named cluster it uses topics of its
own.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError
from pydantic import SecretStr

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Event
from schemas.outcome import Dead
from streams.app.application import Application
from streams.demo import feed
from streams.demo.tally import Tally
from streams.http.server import HttpServer
from streams.index.settings import EmbedderSettings
from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.log_reader import existing_partitions, paused_reader, records_between
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import create_topics, plan_topics
from streams.local_kafka.broker import LocalKafka
from streams.local_kafka.install import BrokerUnavailable
from streams.pipeline.drain import high_watermarks
from streams.publish.entries import record_of
from streams.settings.model import HttpSettings, Settings
from streams.topology import HANDLERS, TOPICS, topic_of
from streams.topology.codec import decode, timestamp


@contextlib.asynccontextmanager
async def with_kafka(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[Settings]:
    """Settings with a Kafka: a local one for this run, or the configured one with a topic prefix for this run."""
    if not settings.kafka.bootstrap_servers:
        say("starting a real Kafka on this machine")
        async with LocalKafka(progress=say) as kafka:
            try:
                async with _while_running(kafka):
                    yield _changed(settings, bootstrap_servers=kafka.bootstrap_servers)
            finally:
                # Nothing on it is kept, so a clean stop is not necessary.
                await asyncio.to_thread(kafka.kill)
        return
    prefix = f"{settings.kafka.topic_prefix}demo-{uuid.uuid4().hex[:8]}."
    say(f"using the Kafka at {settings.kafka.bootstrap_servers}, topics under {prefix}")
    named = _changed(settings, topic_prefix=prefix)
    try:
        yield named
    finally:
        async with opened(make_admin(named.kafka)) as admin:
            await admin.delete_topics([topic.name for topic in plan_topics(named.kafka)])


@contextlib.asynccontextmanager
async def _while_running(kafka: LocalKafka) -> AsyncIterator[None]:
    """Ends the block if the broker ends: its clients would try to reconnect for ever."""
    here = asyncio.current_task()
    ended = ""

    async def look() -> None:
        nonlocal ended
        await asyncio.to_thread(kafka.wait)
        ended = kafka.cause()
        if here is not None:
            here.cancel()

    looking = asyncio.create_task(look(), name="demo kafka")
    try:
        yield
    except (asyncio.CancelledError, KafkaError):
        if not ended:
            raise
        raise BrokerUnavailable(f"the Kafka of this demonstration has ended: {ended}") from None
    finally:
        looking.cancel()


def _changed(settings: Settings, **kafka: str) -> Settings:
    return settings.model_copy(update={"kafka": settings.kafka.model_copy(update=kafka)})


async def _counted(kafka: KafkaSettings) -> Tally:
    """Everything that is committed on the topics, in the order of its time."""
    topics = {kafka.topic_prefix + topic.name: topic for topic in TOPICS}
    dead = {kafka.topic_prefix + dead_letter_topic(handler.consumes.name, handler.group) for handler in HANDLERS}
    places = await existing_partitions(kafka, {*topics, *dead})
    # The readable end could miss a commit that was confirmed a moment ago.
    ends = await high_watermarks(kafka, places)
    async with paused_reader(kafka, places, "assay-demo") as reader:
        records = [record async for record in records_between(reader, {at: (0, ends[at]) for at in places})]
    tally = Tally()
    for record in sorted(records, key=lambda record: record.timestamp):
        if record.topic in dead:
            tally.dead.append(DeadLetter.of(record.headers))
            continue
        event = decode(topics[record.topic], record.value, record.headers, timestamp(record.timestamp), record.key)
        if not isinstance(event, Dead):
            tally.see(event)
    return tally


_COUNT_SECONDS = 0.25
_HOST_DELAY_SECONDS = 0.05
_CLOSE_SECONDS = 5.0


@dataclass(slots=True)
class Demo:
    """A running demonstration; its address is "" without an HTTP server."""

    settings: Settings
    application: Application
    address: str
    began: float
    tally: Tally = field(default_factory=Tally)  # what was decided, once the work is done

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    async def work(self, say: Callable[[str], None]) -> None:
        drain_detector = self.application.drain_detector
        await _feed(self.settings, feed.events(datetime.now(UTC)))
        await drain_detector.wait(say)
        # Not earlier: their results would depend on the order of processing.
        await _feed(self.settings, feed.queries())
        await drain_detector.wait(say)
        self.tally = await _counted(self.settings.kafka)


@contextlib.asynccontextmanager
async def running(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[Demo]:
    """Runs the handlers while the block runs; ``say`` is called with each step of the start.

    Raises BrokerUnavailable, PortTakenError: something cannot be started.
    """
    async with contextlib.AsyncExitStack() as stack:
        settings = await stack.enter_async_context(with_kafka(settings, say))
        served = HttpSettings(port=0, allowed_hosts=feed.hosts())
        web = await stack.enter_async_context(HttpServer(feed.serve, served))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-demo-"))
        settings = _for_demo(settings, web.address, Path(folder))
        await create_topics(settings.kafka)
        application = Application(settings)
        http = await stack.enter_async_context(HttpServer(application.asgi, settings.http))
        began = time.monotonic()
        # Before the start, so that an interrupted start is closed too.
        stack.push_async_callback(lambda: _close(application.stop()))
        await application.start()
        say("handlers are running")
        yield Demo(settings, application, http.address, began)


async def _close(work: Coroutine[Any, Any, object]) -> None:
    """Closes something within a time limit: without its Kafka, closing would never end."""
    closing = asyncio.create_task(work)
    await asyncio.wait({closing}, timeout=_CLOSE_SECONDS)
    if closing.done():
        closing.result()
    else:
        closing.cancel()


def _for_demo(settings: Settings, address: str, folder: Path) -> Settings:
    """Settings with which a demonstration costs nothing and leaves no files.

    Fetching reaches the sample web under its own names, with short delays. The offline judge answers and the vectors
    are hashed, whatever models are configured. No schemas are registered.
    """
    fetch = settings.fetch.model_copy(
        update={
            "resolve": settings.fetch.resolve | dict.fromkeys(feed.hosts(), address),
            "min_delay_seconds": _HOST_DELAY_SECONDS,
            "cache_path": folder / "fetch.sqlite",
        }
    )
    index = settings.index.model_copy(
        update={"url": "", "path": folder / "index", "count_seconds": _COUNT_SECONDS, "embedder": EmbedderSettings()}
    )
    llm = settings.llm.model_copy(update={"base_url": "", "api_key": SecretStr("")})
    return settings.model_copy(update={"fetch": fetch, "index": index, "llm": llm})


async def _feed(settings: Settings, events: Sequence[Event]) -> None:
    async with opened(make_producer(settings.kafka, None, "assay.demo")) as producer:
        for event in events:
            record = record_of(topic_of(event), event)
            name = settings.kafka.topic_prefix + record.topic
            await producer.send_and_wait(name, value=record.value, key=record.key, headers=list(record.headers))
