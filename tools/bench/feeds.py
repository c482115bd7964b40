"""Records in Kafka for the contestants, written by the measuring process."""

from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import connection, make_producer, opened
from streams.kafka.topics import create_topics
from streams.local_kafka.broker import LocalKafka
from streams.topology import Handler, Topic
from tools.bench.assay_worker import handler_of, settings_for
from tools.bench.child import Task
from tools.bench.work import NOTES, Record, load_pages, note, page_records


async def feed_pages(kafka: LocalKafka, times: int) -> Task:
    """The pages, several times, in a separate topic."""
    return await _fed(kafka, f"pages{times}.", handler_of(""), page_records(load_pages(), times))


async def feed_notes(kafka: LocalKafka, count: int) -> Task:
    """Small messages in a separate topic."""
    return await _fed(kafka, f"notes{count}.", handler_of(NOTES), ((*note(number), []) for number in range(count)))


async def _fed(kafka: LocalKafka, prefix: str, handler: Handler, records: Iterable[Record]) -> Task:
    settings = settings_for(kafka.bootstrap_servers, prefix).kafka
    source: Topic = handler.consumes
    target: Topic = handler.emits[0]
    await create_topics(settings, topics=(source, target), handlers=(handler,))
    count = 0
    async with opened(make_producer(settings, None, "bench")) as producer:
        for key, value, headers in records:
            await producer.send(prefix + source.name, value, key=key, headers=headers)
            count += 1
    return Task("", kafka.bootstrap_servers, prefix, source.name, target.name, count, kafka.pid or 0)


async def rewind(feed: Task, group: str) -> None:
    """Sets a group that has no members back to the beginning of a feed, so that it reads it once more."""
    settings, topic = settings_for(feed.bootstrap, feed.prefix).kafka, handler_of(feed.source).consumes
    partitions = [TopicPartition(feed.prefix + topic.name, number) for number in range(topic.partitions)]
    options = connection(settings) | {"group_id": feed.prefix + group, "enable_auto_commit": False}
    async with opened(AIOKafkaConsumer(**options)) as consumer:
        consumer.assign(partitions)
        await consumer.commit({partition: OffsetAndMetadata(0, "") for partition in partitions})
