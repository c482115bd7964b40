"""Reads and writes editors' marks: ``decisions.reviewed.v1``."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition

from schemas.event import Envelope, derive_id
from schemas.review import DecisionReviewed
from streams.console.review_agreement import newest_marks
from streams.kafka.clients import make_admin, make_producer, make_reader, opened
from streams.kafka.groups import read_topics
from streams.kafka.log_reader import records_to_end
from streams.kafka.settings import KafkaSettings
from streams.topology import DECISIONS_REVIEWED
from streams.topology.codec import decode, encode, timestamp

_FETCH_WAIT_MS = 50
"""Each read of the end of the topic waits for a fetch that finds nothing, so that one must be short."""
MOST_MARKS = 100_000
"""Decisions whose marks are kept in memory; the oldest leave."""


class Marks:
    """The newest mark of each decision, as of the last ``refresh``. Opens its clients at the first use."""

    def __init__(self, kafka: KafkaSettings) -> None:
        """Opens nothing."""
        self._kafka = kafka
        self._open = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._reader: Any = None
        self._producer: Any = None
        self._partitions: list[TopicPartition] = []
        self.by_decision: dict[str, DecisionReviewed] = {}

    async def aclose(self) -> None:
        """Closes the clients."""
        await self._open.aclose()
        self._reader = self._producer = None

    async def refresh(self) -> dict[str, DecisionReviewed]:
        """Reads up to the present end; the marks by the identity of their decision. Raises KafkaError."""
        async with self._lock:
            if self._reader is None and not await self._start():
                return self.by_decision
            async for record in records_to_end(self._reader, self._partitions):
                self._add(record)
        return self.by_decision

    async def write(self, review: DecisionReviewed, now: datetime) -> None:
        """Writes a mark, and returns when Kafka has it. The same mark again changes nothing. Raises KafkaError."""
        async with self._lock:
            if self._producer is None:
                producer = make_producer(self._kafka, None, "assay-console")
                self._producer = await self._open.enter_async_context(opened(producer))
            record = encode(DECISIONS_REVIEWED, review, _envelope(review, now))
            name = self._kafka.topic_prefix + record.topic
            await self._producer.send_and_wait(name, record.value, key=record.key, headers=list(record.headers))
        self._note(review)

    async def _start(self) -> bool:
        """Opens the reader; whether the topic exists."""
        name = self._kafka.topic_prefix + DECISIONS_REVIEWED.name
        async with opened(make_admin(self._kafka)) as admin:
            numbers = (await read_topics(admin, [name]))[name].partitions
        if not numbers:
            return False
        reader = make_reader(self._kafka, client_id="assay-reviews", fetch_wait_ms=_FETCH_WAIT_MS)
        self._reader = await self._open.enter_async_context(opened(reader))
        self._partitions = [TopicPartition(name, number) for number in numbers]
        self._reader.assign(self._partitions)
        await self._reader.seek_to_beginning(*self._partitions)
        return True

    def _add(self, record: ConsumerRecord) -> None:
        event = decode(DECISIONS_REVIEWED, record.value, record.headers, timestamp(record.timestamp))
        if isinstance(event, DecisionReviewed):
            self._note(event)

    def _note(self, review: DecisionReviewed) -> None:
        identity = review.decision.identity
        before = self.by_decision.pop(identity, None)
        newest = newest_marks([review] if before is None else [before, review])
        self.by_decision |= newest
        if len(self.by_decision) > MOST_MARKS:
            del self.by_decision[next(iter(self.by_decision))]


def _envelope(review: DecisionReviewed, now: datetime) -> Envelope:
    decision = review.decision
    parts = (decision.identity, review.right, review.expected, review.note, review.reviewer, review.reviewed_at)
    return Envelope(
        id=derive_id("review", *parts),
        source="assay/console",
        time=now,
        correlation_id=decision.identity,
        causation_id=decision.identity,
    )
