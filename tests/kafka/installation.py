"""A small installation on a real Kafka: a test's own handlers on real topics, fed and read back."""

import asyncio
import contextlib
import json
import os
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from schemas.event import Event
from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage
from schemas.rules import Rules
from streams.app.application import Application
from streams.cli.commands import run_command_line
from streams.kafka.clients import connection, make_admin, make_producer, make_reader, opened
from streams.kafka.topics import create_topics
from streams.local_kafka.install import cache_folder, find_java, kafka_jars
from streams.settings.model import Settings, load_settings
from streams.topology import HANDLERS, TOPICS, Handler, Topic
from tests import samples
from tests.warm_processes import WARM, warm_processes

CRAWLED = "pages.crawled.v1"
SCORED = "pages.scored.v1"
GROUP = "assay.score_page"
DEAD = f"{CRAWLED}.{GROUP}.dlq"
SCORE_PAGE = HANDLERS[:1]
PROGRAM = "from streams.cli.main import main; main()"
PARTITIONS = 3
"""Of a topic, if the topology has no fewer."""
QUICK_BREAKER = {"first_seconds": 0.2, "max_seconds": 0.5}

_OFFSETS = "__consumer_offsets"
_MARKERS_SECONDS = 10.0


E = TypeVar("E", bound=Event)
Installing = Callable[..., Coroutine[Any, Any, "Installation"]]
"""``installed`` on a test's own prefix of the shared broker."""


class NoRules(Rules):
    """The rules of a handler that has none."""


def scored(page: CrawledPage, rules: Rules) -> Outcome:
    """The smallest valid answer to a page."""
    return Emit((samples.scored(page.url, config_version=rules.config_version, context=page.context),))


def scorer(fn: Callable[[Any, Any], Any] = scored, **changes: Any) -> Handler:
    """``score_page`` with a body of the test's own."""
    return replace(HANDLERS[0], fn=fn, rules=NoRules, **changes)


@dataclass(frozen=True)
class Installation:
    """Settings and topics with a unique prefix, and the steps of a test with them."""

    settings: Settings

    @property
    def prefix(self) -> str:
        return self.settings.kafka.topic_prefix

    async def feed(
        self, records: Iterable[tuple[bytes | None, bytes | None]], topic: str = CRAWLED, transactional: bool = False
    ) -> None:
        """Writes (key, value) records, in a transaction if markers are requested."""
        async with opened(
            make_producer(self.settings.kafka, f"{self.prefix}feed" if transactional else None, "feed")
        ) as producer:
            if transactional:
                await producer.begin_transaction()
            sent = [await producer.send(self.prefix + topic, value, key=key) for key, value in records]
            await asyncio.gather(*sent)
            if transactional:
                await producer.commit_transaction()
                await self.settle(topic)

    async def read(self, *topics: str) -> list[ConsumerRecord]:
        """All committed records of topics, up to the current end."""
        await self.settle(*topics)
        async with opened(make_reader(self.settings.kafka)) as reader:
            partitions = [
                TopicPartition(self.prefix + topic, number)
                for topic in topics
                for number in sorted(await partitions_of(self.settings, self.prefix + topic))
            ]
            reader.assign(partitions)
            ends = await reader.end_offsets(partitions)
            records: list[ConsumerRecord] = []
            for partition in partitions:
                await reader.seek_to_beginning(partition)
            while any([await reader.position(partition) < ends[partition] for partition in partitions]):
                for some in (await reader.getmany(timeout_ms=200)).values():
                    records += some
            return records

    async def events(self, kind: type[E], suffix: str = "") -> list[E]:
        """All events on the topic of a type, or on that of a replay: ``".replay.again"``."""
        [topic] = [topic.name for topic in TOPICS if topic.event is kind]
        return [kind.model_validate_json(record.value or b"") for record in await self.read(topic + suffix)]

    async def set_back(self, handler: Handler) -> None:
        """Sets a handler's group back to the beginning of its topic, as if it had never committed."""
        topic, group = self.prefix + handler.consumes.name, self.prefix + handler.group
        consumer = AIOKafkaConsumer(**connection(self.settings.kafka), group_id=group, enable_auto_commit=False)
        async with opened(consumer):
            partitions = [TopicPartition(topic, number) for number in await partitions_of(self.settings, topic)]
            consumer.assign(partitions)
            await consumer.commit(dict.fromkeys(partitions, 0))

    async def committed(self, group: str = GROUP) -> dict[int, int]:
        """The group's offsets by partition."""
        async with opened(make_admin(self.settings.kafka)) as admin:
            while True:
                try:
                    offsets = await admin.list_consumer_group_offsets(self.prefix + group)
                except KafkaError as error:
                    # A broker that has never had a group makes the place for them when it is first asked.
                    if not error.retriable:
                        raise
                    await asyncio.sleep(0.1)
                else:
                    return {partition.partition: at.offset for partition, at in offsets.items()}

    async def ends(self, topic: str = CRAWLED) -> dict[int, int]:
        """The end offsets of a topic, markers included."""
        async with opened(make_reader(self.settings.kafka)) as reader:
            numbers = await partitions_of(self.settings, self.prefix + topic)
            found = await reader.end_offsets([TopicPartition(self.prefix + topic, number) for number in numbers])
            return {partition.partition: end for partition, end in found.items()}

    async def settle(self, *topics: str) -> None:
        """Waits until the transactions on these topics have ended: Kafka confirms a commit before it can be read."""
        places = [
            TopicPartition(self.prefix + topic, number)
            for topic in topics
            for number in await partitions_of(self.settings, self.prefix + topic)
        ]
        await self._settle(places)

    async def settle_offsets(self, *groups: str) -> None:
        """Waits until the transactions that commit offsets of these groups have ended."""
        count = len(await partitions_of(self.settings, _OFFSETS))
        await self._settle([TopicPartition(_OFFSETS, _hash(self.prefix + group) % count) for group in groups])

    async def _settle(self, places: Sequence[TopicPartition]) -> None:
        """The wait is bounded, because the transaction of a killed producer stays open until Kafka's timeout."""
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(_MARKERS_SECONDS),
                opened(make_reader(self.settings.kafka, uncommitted=True)) as whole,
                opened(make_reader(self.settings.kafka)) as reader,
            ):
                ends, readable = await whole.end_offsets(places), await reader.end_offsets(places)
                while any(readable[place] < end for place, end in ends.items()):
                    await asyncio.sleep(0.02)
                    readable = await reader.end_offsets(places)

    @contextlib.asynccontextmanager
    async def running(self, *handlers: Handler, **flags: Any) -> AsyncIterator[Application]:
        """An application that runs while the block does, and is stopped cleanly."""
        settings = self.settings
        if flags:
            settings = settings.model_copy(update=flags)
        application = Application(settings, handlers)
        try:
            await application.start()
            yield application
        finally:
            await application.stop()

    async def drain(self, *handlers: Handler, **flags: Any) -> None:
        """Runs handlers, which may feed each other, until everything is caught up."""
        async with self.running(*handlers, **flags) as application:
            await self.quiet(application)
        await self.settle_offsets(*(group.subscription.group for group in application.groups))

    async def quiet(self, application: Application, seconds: float = 60.0) -> None:
        """Waits until the application is caught up, and its outputs can be read."""
        await until(application.drain_detector.reached, seconds=seconds)
        await self.settle(*sorted({topic.name for group in application.groups for topic in group.handler.emits}))


def install(bootstrap: str, prefix: str, **flags: Any) -> Settings:
    """Settings for a test: the shared broker, a unique prefix, no HTTP, an index in memory, quick breakers.

    Dead letters pause no handler, because many tests have little else.
    """
    index, processing, llm = flags.pop("index", {"path": None}), flags.pop("processing", {}), flags.pop("llm", {})
    return load_settings(
        kafka={"bootstrap_servers": bootstrap, "topic_prefix": prefix},
        http={"enabled": False},
        index=index,
        processing=processing | {"breaker": QUICK_BREAKER | processing.get("breaker", {})},
        llm={f"breaker_{name}": value for name, value in QUICK_BREAKER.items()} | llm,
        dlq={"max_share": 1} | flags.pop("dlq", {}),
        **flags,
    )


async def installed(
    bootstrap: str,
    prefix: str,
    handlers: Sequence[Handler] = SCORE_PAGE,
    topics: Sequence[Topic] = (),
    partitions: int = PARTITIONS,
    **flags: Any,
) -> Installation:
    """An installation with the topics of ``handlers``, and with ``topics`` besides.

    A partition costs the broker about 10 ms of CPU, and a worker a producer. So a test names only the topics that it
    uses, and these have few partitions.
    """
    settings = install(bootstrap, prefix, **flags)
    used = [topic for handler in handlers for topic in (*handler.emits, handler.consumes)]
    by_name = {topic.name: _small(topic, partitions) for topic in (*used, *topics)}
    read = [replace(handler, consumes=_small(handler.consumes, partitions)) for handler in handlers]
    await create_topics(settings.kafka, topics=tuple(by_name.values()), handlers=read)
    return Installation(settings)


def _small(topic: Topic, partitions: int) -> Topic:
    return replace(topic, partitions=min(topic.partitions, partitions))


def handlers_named(*names: str) -> tuple[Handler, ...]:
    """The handlers of these names, in the order of the topology."""
    return tuple(handler for handler in HANDLERS if handler.name in names)


async def partitions_of(settings: Settings, topic: str) -> Sequence[int]:
    """The partition numbers of a topic."""
    async with opened(make_admin(settings.kafka)) as admin:
        [described] = await admin.describe_topics([topic])
        return [partition["partition"] for partition in described["partitions"]]


async def configure(settings: Settings, topic: str, values: dict[str, str]) -> None:
    """Gives a topic these settings and no others, and waits until the broker, which is a moment later, has them."""
    async with opened(make_admin(settings.kafka)) as admin:
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, values)])

        async def changed() -> bool:
            [response] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            found = {entry[0]: entry[1] for _, _, _, _, entries in response.resources for entry in entries}
            return values.items() <= found.items()

        await until(changed, times=5)


def environment_of(settings: Settings, **variables: Any) -> dict[str, str]:
    """What leads a command to an installation's topics, and further settings: ``index__url="…"``. It serves no HTTP."""
    given = {
        "kafka__bootstrap_servers": settings.kafka.bootstrap_servers,
        "kafka__topic_prefix": settings.kafka.topic_prefix,
        "http__enabled": False,
        **variables,
    }
    return {
        f"ASSAY_{name.upper()}": value if isinstance(value, str) else json.dumps(value) for name, value in given.items()
    }


async def process(
    settings: Settings,
    *words: str | Path,
    stdin: int | None = None,
    stdout: int | None = PIPE,
    stderr: int | None = PIPE,
    **variables: Any,
) -> Process:
    """``assay WORDS`` in a separate process."""
    with warm_processes():
        return await asyncio.create_subprocess_exec(
            WARM, "-c", PROGRAM, *words,
            env=os.environ | environment_of(settings, **variables), stdin=stdin, stdout=stdout, stderr=stderr,
        )  # fmt: skip


async def ran(settings: Settings, *words: str | Path, **variables: Any) -> tuple[int | None, str, str]:
    """``assay WORDS`` as a process, to its end: exit status, standard output and standard error."""
    started = await process(settings, *words, **variables)
    said, told = await started.communicate()
    return started.returncode, said.decode(), told.decode()


def kafka_tool(name: str, *words: str) -> None:
    """Runs a tool of Kafka's own jars."""
    java = [find_java(), "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(map(str, kafka_jars(cache_folder(), print)))]
    done = subprocess.run([*java, name, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.asynccontextmanager
async def until_killed(started: Process) -> AsyncIterator[Process]:
    """Kills a process at the end of the block."""
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            started.kill()
        await started.communicate()


@contextlib.asynccontextmanager
async def assay_command(settings: Settings, *arguments: str) -> AsyncIterator[Process]:
    """The command line in a separate process, which ends with the block."""
    async with until_killed(await process(settings, *arguments, stdin=PIPE)) as started:
        yield started


async def line_of(process: Process) -> Any:
    assert process.stdout is not None
    return json.loads(await process.stdout.readline())


async def command(
    settings: Settings, capsys: pytest.CaptureFixture[str], *words: str, **variables: Any
) -> tuple[int, str, str]:
    """Runs ``assay WORDS`` in this process: exit status, standard output and standard error.

    Not for commands that take signals: those belong to the main thread.
    """
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_of(settings, **variables).items():
            patch.setenv(name, value)
        status = await asyncio.to_thread(run_command_line, list(words))
    return status, *capsys.readouterr()


def _hash(text: str) -> int:
    """The hash by which Kafka assigns a group to a partition: that of a Java string, without its sign."""
    number = 0
    for character in text.encode("ascii"):
        number = (31 * number + character) & 0xFFFFFFFF
    return min(number, 2**32 - number)


async def until(condition: Callable[[], Any], times: int = 1, seconds: float = 60.0) -> None:
    """Waits until a condition, sync or async, has held this many times in a row."""
    held = 0
    async with asyncio.timeout(seconds):
        while held < times:
            answer = condition()
            if asyncio.iscoroutine(answer):
                answer = await answer
            held = held + 1 if answer else 0
            await asyncio.sleep(0.05)


def page(number: int, **fields: Any) -> tuple[bytes, bytes]:
    """A small crawled page as a record."""
    event = CrawledPage(url=f"https://site.example/{number}", html=f"<p>{number}</p>", **fields)
    return event.url.encode(), event.to_json()
