"""Reads one record at its position, or the newest records of a key: texts are in the topics, and not in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaTimeoutError

from handlers.html.links import canonical_url
from schemas.event import Event
from schemas.outcome import Dead
from streams.console.entries import Position, time_of
from streams.kafka.lookups import read_newest_first, record_reader
from streams.kafka.settings import KafkaSettings
from streams.topology import PAGES_CRAWLED, TOPICS, Topic
from streams.topology.codec import decode, timestamp

_SEARCH_SECONDS = 8.0  # a page that was crawled once would otherwise be searched in the whole partition


@dataclass(frozen=True, slots=True)
class Read:
    """A record with its event, or why it has none."""

    position: Position
    at: datetime
    headers: dict[str, str]
    event: Event | Dead


class Records:
    """The records of a cluster. Every method opens a reader and raises KafkaError if the cluster can't be read."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka

    async def at(self, position: Position) -> ConsumerRecord | None:
        """The raw record at a position; None if retention has deleted it."""
        return next(iter((await self._raw([position])).values()), None)

    async def events(self, positions: Collection[Position]) -> dict[Position, Read]:
        """The events at positions; those that retention has deleted, and dead letters, are missing."""
        records = (await self._raw(positions)).items()
        topics = {topic.name: topic for topic in TOPICS}
        return {at: self._read(topics[at.topic], record) for at, record in records if at.topic in topics}

    async def newest(self, topic: Topic, keys: Collection[bytes], most: int) -> list[Read]:
        """The newest records with one of the keys, as far back as a few seconds of reading reach.

        Raises KafkaError, also if nothing was found in that time: there may be one further back.
        """
        found: list[Read] = []
        try:
            async with (
                asyncio.timeout(_SEARCH_SECONDS),
                aclosing(read_newest_first(self._kafka, {topic.name: keys}, None)) as steps,
            ):
                async for records in steps:
                    found += [self._read(topic, record) for record in records[: most - len(found)]]
                    if len(found) >= most:
                        break
        except TimeoutError:
            if not found:
                raise KafkaTimeoutError(f"no record of this key was found in {_SEARCH_SECONDS:g} s") from None
        return found

    async def crawled(self, url: str, most: int) -> list[Read]:
        """The newest crawled records of a page, under both spellings of its address, as ``newest`` finds them."""
        keys = {spelling.encode() for spelling in (url, canonical_url(url)) if spelling}
        return await self.newest(PAGES_CRAWLED, keys, most)

    async def _raw(self, positions: Collection[Position]) -> dict[Position, ConsumerRecord]:
        prefix = self._kafka.topic_prefix
        places = {(TopicPartition(prefix + its.topic, its.partition), its.offset): its for its in positions}
        async with record_reader(self._kafka, [partition for partition, _ in places]) as reader:
            return {places[place]: record for place, record in (await reader.several(places)).items()}

    def _read(self, topic: Topic, record: ConsumerRecord) -> Read:
        name = record.topic.removeprefix(self._kafka.topic_prefix)
        headers = {key: value.decode("utf-8", "replace") for key, value in record.headers if value is not None}
        event = decode(topic, record.value, record.headers, timestamp(record.timestamp), record.key)
        return Read(Position(name, record.partition, record.offset), time_of(record.timestamp), headers, event)
