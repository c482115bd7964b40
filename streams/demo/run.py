"""Runs the demonstration: Kafka, topics, the sample web and all handlers, then the report.

Without a named cluster the demonstration starts a local Kafka and ends it. On a named cluster it uses topics of its
own.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError
from pydantic import SecretStr
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from schemas.dead import DeadLetter, dead_letter_topic
from schemas.event import Envelope, Event, Provenance, derive_id
from schemas.outcome import Dead
from streams.app.application import Application
from streams.demo import feed
from streams.demo.tally import Balance, Tally, Trace, faults
from streams.http.server import HttpServer
from streams.index.settings import EmbedderSettings
from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.log_reader import follow
from streams.kafka.topics import create_topics, plan_topics
from streams.local_kafka.broker import LocalKafka
from streams.local_kafka.install import BrokerUnavailable
from streams.pipeline.drain import high_watermarks
from streams.settings.model import HttpSettings, Settings
from streams.telemetry.metrics import counted
from streams.topology import HANDLERS, MIB, TOPICS, topic_of
from streams.topology.codec import OutputRecord, decode, encode, timestamp

_ROOM_BYTES = 128 * MIB  # the space for a local Kafka's files, with a reserve


@contextlib.asynccontextmanager
async def with_kafka(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[Settings]:
    """Settings with a Kafka: a local one for this run, or the configured one with a topic prefix for this run."""
    if not settings.kafka.bootstrap_servers:
        _have_room()
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


def _have_room() -> None:
    folder = Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    if free < _ROOM_BYTES:
        raise BrokerUnavailable(
            f"{folder} has {free // MIB} MiB free and a local Kafka needs {_ROOM_BYTES // MIB}: free some space, or "
            "name another folder with TMPDIR"
        )


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


class Watch:
    """Follows every topic, ``read_committed``, from its beginning."""

    def __init__(self, settings: Settings, tally: Tally) -> None:
        prefix = settings.kafka.topic_prefix
        self._kafka = settings.kafka
        self._tally = tally
        self._topics = {prefix + topic.name: topic for topic in TOPICS}
        self._dead = {prefix + dead_letter_topic(handler.consumes.name, handler.group) for handler in HANDLERS}
        self._positions: dict[TopicPartition, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        lists = follow(self._kafka, {*self._topics, *self._dead}, "earliest", positions=self._positions)
        await anext(lists)
        self._task = asyncio.create_task(self._follow(lists), name="demo watch")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def catch_up(self) -> None:
        """Waits until all records that are written by now are read; open transactions must end first.

        Raises Exception if the reading failed.
        """
        # The readable end could miss a commit that was confirmed a moment ago.
        ends = await high_watermarks(self._kafka, [*self._positions])
        behind = True
        while behind:
            await asyncio.sleep(0.05)
            if self._task is not None and self._task.done():
                self._task.result()
            behind = any(self._positions[at] < end for at, end in ends.items())

    async def _follow(self, lists: AsyncGenerator[list[ConsumerRecord], None]) -> None:
        async with contextlib.aclosing(lists):
            async for records in lists:
                for record in records:
                    self._see(record)

    def _see(self, record: ConsumerRecord) -> None:
        if record.topic in self._dead:
            self._tally.see_dead(DeadLetter.of(record.headers))
            return
        topic = self._topics[record.topic]
        event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
        if isinstance(event, Dead):
            # An unreadable record is an input too.
            self._tally.account.see(topic, _trace(record))
        else:
            self._tally.see(event, _trace(record))


def _trace(record: ConsumerRecord) -> Trace:
    here = f"{record.topic}/{record.partition}/{record.offset}"
    texts = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
    writer = texts.get("ce_source", "").removeprefix("assay/")
    return Trace(Provenance.of(record.headers, here).identity, texts.get("ce_causationid", ""), writer)


_COUNT_SECONDS = 0.25
_HOST_DELAY_SECONDS = 0.05
_CLOSE_SECONDS = 5.0


@dataclass(slots=True)
class Demo:
    """A running demonstration; its address is "" without an HTTP server."""

    settings: Settings
    application: Application
    tally: Tally
    watch: Watch
    address: str
    began: float

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def balances(self) -> dict[str, Balance]:
        dropped: Counter[str] = Counter()
        for labels, count in counted(self.application.metrics.handler_events_total):
            if labels["outcome"] == "drop":
                dropped[labels["handler"]] += int(count)
        return self.tally.account.balances(dropped)

    async def work(self, say: Callable[[str], None]) -> None:
        drain_detector = self.application.drain_detector
        await _feed(self.settings, feed.events(datetime.now(UTC)))
        await drain_detector.wait(say)
        # Not earlier: their results would depend on the order of processing.
        await _feed(self.settings, feed.queries())
        await drain_detector.wait(say)
        await self.watch.catch_up()


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
        tally = Tally()
        watch = Watch(settings, tally)
        stack.push_async_callback(lambda: _close(watch.stop()))
        await watch.start()
        application = Application(settings)
        http = await stack.enter_async_context(HttpServer(application.asgi, settings.http))
        began = time.monotonic()
        # Before the start, so that an interrupted start is closed too.
        stack.push_async_callback(lambda: _close(application.stop()))
        await application.start()
        say("handlers are running")
        yield Demo(settings, application, tally, watch, http.address, began)


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
        for record in map(_record, events):
            name = settings.kafka.topic_prefix + record.topic
            await producer.send_and_wait(name, value=record.value, key=record.key, headers=list(record.headers))


def _record(event: Event) -> OutputRecord:
    topic = topic_of(event)
    identity = derive_id("demo", topic.name, topic.key(event))
    envelope = Envelope(id=identity, source="assay/demo", time=datetime.now(UTC), correlation_id=identity)
    return encode(topic, event, envelope)


def live_table(demo: Demo, *, done: bool) -> RenderableType:
    """The screen; with ``done``, also whether every input has one outcome."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column("handler", no_wrap=True)
    for name in ("in", "answered", "dead", "in flight", "waiting"):
        table.add_column(name, justify="right", no_wrap=True)
    held: Counter[str] = Counter()
    lag: Counter[str] = Counter()
    for group in demo.application.groups:
        # A handler's retry topics have groups of their own.
        held[group.handler.name] += sum(partition.held for partition in group.partitions.values())
        lag[group.handler.name] += group.lag
    for name, balance in demo.balances().items():
        dead = Text(str(balance.dead), style="red" if balance.dead else "")
        waiting = max(lag[name] - held[name], 0)
        table.add_row(name, str(balance.taken), str(balance.answered), dead, str(held[name]), str(waiting))
    panel = Panel(
        table,
        title=f"Assay, {demo.seconds:.1f} s",
        title_align="left",
        subtitle=f"http://{demo.address}/metrics" if demo.address else None,
        subtitle_align="left",
        border_style="dim",
        expand=False,
    )
    return Group(panel, _account(demo) if done else Text("working …", style="dim"))


def _account(demo: Demo) -> Text:
    balances = demo.balances()
    if wrong := faults(balances):
        return Text(f"not every input is accounted for: {'; '.join(wrong)}", style="red")
    taken, answered, dead, dropped = (
        sum(getattr(balance, part) for balance in balances.values())
        for part in ("taken", "answered", "dead", "dropped")
    )
    counts = f"{taken} inputs: {answered} answered, {dead} dead letter{'' if dead == 1 else 's'}"
    aside = f", {dropped} dropped" if dropped else ""
    return Text(f"{counts}{aside}; none lost, none counted twice", style="green")
