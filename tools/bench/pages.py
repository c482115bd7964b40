"""The input: labelled pages from the disk, and small notes, written to Kafka by the measuring process."""

from __future__ import annotations

from collections.abc import Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import connection, make_producer
from streams.settings import Settings
from tools import labelled

SET = "wcxb_page_types"
Page = tuple[str, bytes]
Record = tuple[bytes, bytes, list[tuple[str, bytes]]]


def load_pages() -> list[Page]:
    """Every page of the set: address and bytes."""
    return [(labelled.address(case), labelled.body(SET, case)) for case in labelled.cases(SET)]


def page_records(pages: list[Page], times: int) -> Iterable[Record]:
    """The pages as raw records, several times, with a unique address each."""
    for turn in range(times):
        for url, body in pages:
            address = f"{url}#{turn}".encode()
            yield address, body, [("assay_url", address), ("content-type", b"text/html")]


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
