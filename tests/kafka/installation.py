"""A small installation on a real Kafka for tests: own handlers on real topics, fed and read back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage, ScoredPage, TrustFeatures
from schemas.rules import Rules
from streams.app import Application
from streams.kafka import make_admin, make_producer, make_reader, opened
from streams.settings import Settings, load_settings
from streams.topic_plan import create_topics
from streams.topology import HANDLERS, Handler

CRAWLED = "pages.crawled.v1"
SCORED = "pages.scored.v1"
GROUP = "assay.score_page"
DEAD = f"{CRAWLED}.{GROUP}.dlq"


_OFFSETS = "__consumer_offsets"
_MARKERS_SECONDS = 10.0
_Ends = Mapping[TopicPartition, int]


class NoRules(Rules):
    """The rules of a handler that has none."""


def scored(page: CrawledPage, rules: Rules) -> Outcome:
    """The smallest valid answer to a page."""
    features = TrustFeatures(source_tier=3, base_score=10, cts_score=10)
    event = ScoredPage(
        url=page.url,
        trust_features=features,
        cts_score=10,
        tier="C",
        trust_label="LOW",
        config_version=rules.config_version,
        context=page.context,
    )
    return Emit((event,))


def scorer(fn: Callable[[Any, Any], Any] = scored, **changes: Any) -> Handler:
    """``score_page`` with a body of the test's own."""
    return replace(HANDLERS[0], fn=fn, rules=NoRules, **changes)


@dataclass(frozen=True)
class Installation:
    """Settings, topics with a prefix of their own, and what a test does with them."""

    settings: Settings

    @property
    def prefix(self) -> str:
        return self.settings.kafka.topic_prefix

    async def feed(
        self, records: Iterable[tuple[bytes | None, bytes | None]], topic: str = CRAWLED, transactional: bool = False
    ) -> None:
        """Writes (key, value) records, in a transaction of their own where markers are wanted."""
        async with opened(
            make_producer(self.settings.kafka, f"{self.prefix}feed" if transactional else None, "feed")
        ) as producer:
            if transactional:
                await producer.begin_transaction()
            sent = [await producer.send(self.prefix + topic, value, key=key) for key, value in records]
            await asyncio.gather(*sent)
            if transactional:
                await producer.commit_transaction()
                await self.settle(self.prefix + topic)

    async def read(self, *topics: str) -> list[ConsumerRecord]:
        """Everything committed on topics, to the end as it is now."""
        await self.settle(*(self.prefix + topic for topic in topics))
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
        """Waits until what stands in topics is committed or aborted: a broker confirms a commit before it can be read.

        Not for ever, for a transaction whose producer was killed stays open until the broker's patience is over.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_MARKERS_SECONDS), _looking_at_ends(self.settings, topics) as ends_now:
                ends, readable = await ends_now()
                while any(readable[place] < end for place, end in ends.items()):
                    await asyncio.sleep(0.02)
                    _, readable = await ends_now()

    @asynccontextmanager
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
        await self.settle(_OFFSETS)

    async def quiet(self, application: Application, seconds: float = 60.0) -> None:
        """Waits until all is caught up, and what came of it can be read."""
        await until(application.caught_up, seconds=seconds)
        emitted = {topic.name for group in application.groups for topic in group.handler.emits}
        await self.settle(*(self.prefix + name for name in sorted(emitted)))


def install(bootstrap: str, prefix: str, **flags: Any) -> Settings:
    """Settings for a test: the shared broker, a prefix of its own, no HTTP, an index in memory."""
    flags = {"index": {"path": None}, **flags}
    return load_settings(
        kafka={"bootstrap_servers": bootstrap, "topic_prefix": prefix}, http={"enabled": False}, **flags
    )


async def installed(bootstrap: str, prefix: str, handlers: Sequence[Handler] = HANDLERS, **flags: Any) -> Installation:
    """An installation with its topics made."""
    settings = install(bootstrap, prefix, **flags)
    await create_topics(settings, handlers=handlers)
    return Installation(settings)


@asynccontextmanager
async def _looking_at_ends(
    settings: Settings, topics: Sequence[str]
) -> AsyncIterator[Callable[[], Awaitable[tuple[_Ends, _Ends]]]]:
    """Asks for the ends of topics, by partition: of everything, and of what can be read."""
    async with contextlib.AsyncExitStack() as stack:
        admin = await stack.enter_async_context(opened(make_admin(settings.kafka)))
        places = [
            TopicPartition(described["topic"], partition["partition"])
            for described in await admin.describe_topics(list(topics))
            for partition in described["partitions"]
        ]
        whole = await stack.enter_async_context(opened(make_reader(settings.kafka, uncommitted=True)))
        reader = await stack.enter_async_context(opened(make_reader(settings.kafka)))

        async def ends() -> tuple[_Ends, _Ends]:
            return await whole.end_offsets(places), await reader.end_offsets(places)

        yield ends


async def partitions_of(settings: Settings, topic: str) -> Sequence[int]:
    """The partition numbers of a topic."""
    async with opened(make_admin(settings.kafka)) as admin:
        [described] = await admin.describe_topics([topic])
        return [partition["partition"] for partition in described["partitions"]]


async def until(condition: Callable[[], Any], times: int = 1, seconds: float = 60.0) -> None:
    """Waits until a condition, sync or async, has held so often in a row."""
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
