"""Records in Kafka for the contestants, written by the measuring process, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import connection, make_producer
from streams.kafka.topics import create_topics
from streams.local_kafka.broker import LocalKafka
from streams.settings.model import Settings
from streams.topology import HANDLERS, PAGES_CRAWLED, PAGES_SCORED
from tools.bench.assay_worker import NOTES_TOPIC, SEEN_TOPIC, SEES, settings_for
from tools.bench.child import Task
from tools.bench.events import NOTES, SEEN, note
from tools.bench.pages import Record, load_pages, page_records


@dataclass(frozen=True)
class Feed:
    """Records in Kafka: where, and how many."""

    bootstrap: str
    prefix: str
    source: str
    target: str
    records: int
    broker: int = 0
    """The broker's process."""

    def task(self, mode: str = "", **more: Any) -> Task:
        """All of them, for a contestant."""
        at = (self.bootstrap, self.prefix, self.source, self.target, self.records)
        return Task(*at, mode=mode, broker=self.broker, **more)

    @property
    def settings(self) -> Settings:
        """The shipped settings on the feed's Kafka and prefix."""
        return settings_for(self.bootstrap, self.prefix)


async def feed_pages(kafka: LocalKafka, times: int) -> Feed:
    """The pages, several times, in a separate topic."""
    prefix = f"pages{times}."
    settings = settings_for(kafka.bootstrap_servers, prefix)
    await create_topics(settings.kafka, topics=(PAGES_CRAWLED, PAGES_SCORED), handlers=(HANDLERS[0],))
    count = await fill(settings, PAGES_CRAWLED.name, page_records(load_pages(), times))
    return Feed(kafka.bootstrap_servers, prefix, PAGES_CRAWLED.name, PAGES_SCORED.name, count, kafka.pid or 0)


async def feed_notes(kafka: LocalKafka, count: int) -> Feed:
    """Small messages in a separate topic."""
    prefix = f"notes{count}."
    settings = settings_for(kafka.bootstrap_servers, prefix)
    await create_topics(settings.kafka, topics=(NOTES_TOPIC, SEEN_TOPIC), handlers=(SEES,))
    await fill(settings, NOTES, ((*note(number), []) for number in range(count)))
    return Feed(kafka.bootstrap_servers, prefix, NOTES, SEEN, count, kafka.pid or 0)


async def fill(settings: Settings, topic: str, records: Iterable[Record]) -> int:
    """Writes records to a topic; returns how many."""
    producer = make_producer(settings.kafka, None, "bench")
    await producer.start()
    count = 0
    try:
        for key, value, headers in records:
            await producer.send(settings.kafka.topic_prefix + topic, value, key=key, headers=headers)
            count += 1
    finally:
        await producer.stop()
    return count


async def ends(settings: Settings, topic: str) -> dict[TopicPartition, int]:
    """The end offsets of a topic."""
    consumer = AIOKafkaConsumer(**connection(settings.kafka))
    await consumer.start()
    try:
        consumer.subscribe([topic])
        await consumer.getmany(timeout_ms=0)
        numbers = consumer.partitions_for_topic(topic) or set()
        return dict(await consumer.end_offsets([TopicPartition(topic, number) for number in numbers]))
    finally:
        await consumer.stop()


async def rewind(settings: Settings, group: str, topic: str) -> None:
    """Sets a group that has no members back to the beginning of a topic, so that it reads it once more."""
    partitions = [TopicPartition(topic, tp.partition) for tp in await ends(settings, topic)]
    consumer = AIOKafkaConsumer(**connection(settings.kafka), group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign(partitions)
        await consumer.commit({partition: OffsetAndMetadata(0, "") for partition in partitions})
    finally:
        await consumer.stop()
