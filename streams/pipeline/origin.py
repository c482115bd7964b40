"""Where a record stood when it first came in, and the notes in text headers that carry this along.

A record that comes back from a retry topic is the record it was: same identity, same timestamp, same original topic,
partition and offset. Notes of that kind on a record from anywhere else are a stranger's, and are not believed.
"""

from __future__ import annotations

from typing import NamedTuple

from aiokafka import ConsumerRecord

from schemas.event import Provenance
from streams.codec import Headers

NOTES = (
    "x-id",
    "x-root-id",
    "x-orig-topic",
    "x-orig-partition",
    "x-orig-offset",
    "x-orig-ts",
    "x-handler",
    "x-reason",
    "x-error-message",
    "x-run",
    "x-attempt",
    "x-not-before",
)
"""The notes that a retried record carries; an earlier record's notes are replaced by the next one's."""


class Origin(NamedTuple):
    """Where a record stood, and how often it has been tried before."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    attempts: int = 0
    not_before_ms: int = 0

    @property
    def identity(self) -> str:
        """The record's identity where its writer gave it none."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def of(cls, record: ConsumerRecord, retried: bool) -> Origin:
        """The origin of a record as it was read; ``retried`` says that it comes from a retry topic of ours."""
        here = cls(record.topic, record.partition, record.offset, record.timestamp)
        if not retried:
            return here
        texts = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
        topic = texts.get("x-orig-topic")
        partition, offset = _number(texts.get("x-orig-partition")), _number(texts.get("x-orig-offset"))
        if not topic or partition is None or offset is None:
            return here
        return cls(
            topic,
            partition,
            offset,
            _number(texts.get("x-orig-ts")),
            _number(texts.get("x-attempt")) or 0,
            _number(texts.get("x-not-before")) or 0,
        )

    def notes(self, handler: str, provenance: Provenance) -> dict[str, str]:
        """The notes that carry the origin along."""
        return {
            "x-id": provenance.identity,
            "x-root-id": provenance.identity,
            "x-orig-topic": self.topic,
            "x-orig-partition": str(self.partition),
            "x-orig-offset": str(self.offset),
            "x-orig-ts": "" if self.timestamp_ms is None else str(self.timestamp_ms),
            "x-handler": handler,
            "x-run": provenance.run or "",
        }


def without_notes(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Headers as they came first, without the notes of an earlier try."""
    return [(name, value) for name, value in headers if name not in NOTES]


def _number(text: str | None) -> int | None:
    return int(text) if text and len(text) <= 19 and text.isascii() and text.isdigit() else None
