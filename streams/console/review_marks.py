"""Reads and writes editors' marks: ``decisions.reviewed.v1``."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.event import Envelope, derive_id
from schemas.review import DecisionReviewed
from streams.kafka.clients import make_producer, opened
from streams.kafka.settings import KafkaSettings
from streams.kafka.topic_table import TopicTable
from streams.runtime.clock import SystemClock
from streams.topology import DECISIONS_REVIEWED
from streams.topology.codec import encode

_95_PERCENT = 1.959964


@dataclass(frozen=True, slots=True)
class Agreement:
    """The marks on decisions of a handler under one version of its rules; "" if their events name no version."""

    handler: str
    config_version: str
    right: int
    wrong: int

    @property
    def share(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share (Wilson), which is also valid for a few marks and for a share of 0 or 1."""
        z, n, p = _95_PERCENT, self.right + self.wrong, self.share
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        spread = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return min(p, max(0.0, centre - spread)), max(p, min(1.0, centre + spread))  # rounding must not exclude it


def newest_marks(reviews: Iterable[DecisionReviewed]) -> dict[str, DecisionReviewed]:
    """The mark of each decision: the newest that was not withdrawn; ``reviews`` are in the order of their records."""
    newest: dict[str, DecisionReviewed] = {}
    for review in reviews:
        at, before = review.reviewed_at, newest.get(review.decision.identity)
        # Without times, the order of the records decides.
        if before is None or before.reviewed_at is None or at is None or at >= before.reviewed_at:
            newest[review.decision.identity] = review
    return {identity: review for identity, review in newest.items() if not review.withdrawn}


def agreement(marks: Iterable[DecisionReviewed]) -> tuple[Agreement, ...]:
    """The agreement by handler and version; ``marks`` has one mark for each decision (``newest_marks``)."""
    counts = Counter((its.decision.handler, its.decision.config_version or "", its.right) for its in marks)
    groups = sorted({(handler, version) for handler, version, _ in counts})
    return tuple(
        Agreement(handler, version, counts[handler, version, True], counts[handler, version, False])
        for handler, version in groups
    )


MOST_MARKS = 100_000  # decisions whose marks are kept in memory; the oldest leave


class Marks(TopicTable[DecisionReviewed]):
    """The newest mark of each decision, by the identity of the decision."""

    def __init__(self, kafka: KafkaSettings) -> None:
        super().__init__(kafka, DECISIONS_REVIEWED, "assay-reviews", SystemClock(), random.random)
        self._producer: Any = None

    def note(self, value: DecisionReviewed) -> None:
        before = self.rows.pop(value.decision.identity, None)
        self.rows |= newest_marks([value] if before is None else [before, value])
        if len(self.rows) > MOST_MARKS:
            del self.rows[next(iter(self.rows))]

    async def aclose(self) -> None:
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
