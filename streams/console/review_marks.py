"""Reads and writes editors' marks: ``decisions.reviewed.v1``."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

from schemas.event import Envelope, derive_id
from schemas.review import DecisionReviewed
from streams.console.review_agreement import newest_marks
from streams.kafka.clients import make_producer, opened
from streams.kafka.settings import KafkaSettings
from streams.kafka.topic_table import TopicTable
from streams.runtime.clock import SystemClock
from streams.topology import DECISIONS_REVIEWED
from streams.topology.codec import encode

MOST_MARKS = 100_000
"""Decisions whose marks are kept in memory; the oldest leave."""


class Marks(TopicTable[DecisionReviewed]):
    """The newest mark of each decision, by the identity of the decision."""

    def __init__(self, kafka: KafkaSettings) -> None:
        """Opens nothing."""
        super().__init__(kafka, DECISIONS_REVIEWED, "assay-reviews", SystemClock(), random.random)
        self._producer: Any = None

    def note(self, value: DecisionReviewed) -> None:
        """Keeps the newest mark of a decision."""
        before = self.rows.pop(value.decision.identity, None)
        self.rows |= newest_marks([value] if before is None else [before, value])
        if len(self.rows) > MOST_MARKS:
            del self.rows[next(iter(self.rows))]

    async def aclose(self) -> None:
        """Closes the clients."""
        self._producer = None
        await super().aclose()

    async def write(self, review: DecisionReviewed, now: datetime) -> None:
        """Writes a mark, and returns when Kafka has it. The same mark again changes nothing. Raises KafkaError."""
        async with self._lock:
            if self._producer is None:
                producer = make_producer(self._kafka, None, "assay-console")
                self._producer = await self._clients.enter_async_context(opened(producer))
            decision = review.decision.identity
            parts = (review.right, review.expected, review.note, review.reviewer, review.reviewed_at)
            envelope = Envelope(derive_id("review", decision, *parts), "assay/console", now, decision, decision)
            record = encode(DECISIONS_REVIEWED, review, envelope)
            name = self._kafka.topic_prefix + record.topic
            await self._producer.send_and_wait(name, record.value, key=record.key, headers=list(record.headers))
        self.note(review)
