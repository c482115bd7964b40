"""Records that could not be handled: delayed retry topics and dead letter topics.

Both are outputs like any other. The transaction that moves the input's offset writes them, so a bad record is neither
lost nor doubled, and it does not block its partition. A dead letter keeps the original bytes; text headers state the
reason, the place and the time.

A record on ``<topic>.<group>.retry.<delay>`` loses its place among the records of its key. A handler whose order
matters therefore declares no retry topics (``Handler.retry_later``), and its records wait in place.

``Origin`` carries identity, timestamp, topic, partition and offset of the original record in headers. Such headers on a
record from any other topic are ignored.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from datetime import datetime, timedelta
from typing import NamedTuple

from aiokafka import ConsumerRecord

from schemas.dead import KEPT_BYTES, dead_letter_topic
from schemas.event import Provenance
from schemas.outcome import Dead, Retry, Stage
from streams.codec import MAX_DETAIL, Headers, OutputRecord
from streams.topology import DEAD_LETTER_BYTES, MIB, Handler, RetryTopic

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


def next_tier(tiers: tuple[RetryTopic, ...], current: RetryTopic | None, wish: float | None) -> RetryTopic | None:
    """The retry topic for a record that failed in ``current``, None where every one has had it.

    Args:
        tiers: The handler's, the shortest delay first.
        current: Where the record was tried now; None for the handler's own topic.
        wish: Seconds that the provider wants to be left alone. A topic whose delay suffices is preferred, so that the
            records of a topic are due in the order in which they stand there.
    """
    later = [tier for tier in tiers if current is None or tier.delay_seconds > current.delay_seconds]
    return next((tier for tier in later if tier.delay_seconds >= (wish or 0.0)), later[-1] if later else None)


def retry_record(
    handler: Handler,
    tier: RetryTopic,
    origin: Origin,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    retry: Retry,
    attempts: int,
    provenance: Provenance,
    now: datetime,
    longest_seconds: float,
) -> OutputRecord:
    """The record for a retry topic: the original, and in text headers why, how often, and not before when.

    Args:
        handler: Whose input it is.
        tier: The retry topic.
        origin: Where the record stood first.
        key: As it came.
        value: As it came.
        headers: As they came; an earlier try's notes are replaced.
        retry: Why it failed, and how long the provider wants to be left alone.
        attempts: Tries so far.
        provenance: Its identity, which it keeps.
        now: The wall clock, UTC.
        longest_seconds: The longest that a provider's wish is obeyed.
    """
    delay = max(float(tier.delay_seconds), min(retry.after_seconds or 0.0, longest_seconds))
    due = now + timedelta(seconds=delay)
    notes = origin.notes(handler.name, provenance) | {
        "x-reason": retry.reason.value,
        "x-error-message": retry.detail[:MAX_DETAIL],
        "x-attempt": str(attempts),
        "x-not-before": str(int(due.timestamp() * 1000)),
    }
    written = without_notes(headers)
    written += [(name, text.encode("utf-8", "replace")) for name, text in notes.items()]
    return OutputRecord(tier.topic, key, value, tuple(written))


_ROOM_FOR_HEADERS = MIB // 4
_ROOM_FOR_VALUE = DEAD_LETTER_BYTES - MIB // 2
_HEADER_OVERHEAD = 10
"""Bytes that a header takes beside its name and value, at most."""
_SOMETIMES = (
    "x-orig-headers-dropped",
    "x-orig-binary-headers",
    "x-tombstone",
    "x-orig-key-size",
    "x-orig-size",
    "x-orig-sha256",
)
"""Notes that not every dead letter has."""
LETTER_NOTES = frozenset((*NOTES, *_SOMETIMES, "x-stage", "x-died-at"))
"""Every header of a dead letter that is ours and not the record's own."""


def dead_letter(
    handler: Handler,
    origin: Origin,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    refusal: Dead,
    stage: Stage,
    provenance: Provenance,
    died_at: datetime,
) -> OutputRecord:
    """The record for the handler's dead letter topic.

    Key, value and headers are kept as they came. What no topic takes is cut to its first 64 KiB, with size and digest;
    headers that are not UTF-8 text go as base64 into ``x-orig-binary-headers``, for many readers can't take them. The
    whole is never larger than a dead letter topic takes, whatever came in.
    """
    notes = origin.notes(handler.name, provenance) | {
        "x-stage": stage.value,
        "x-reason": refusal.reason.value,
        "x-error-message": refusal.detail[:MAX_DETAIL],
        "x-died-at": died_at.isoformat(),
    }
    kept, binary = _split_headers(headers)
    as_json = json.dumps(binary) if binary else ""
    header_bytes = sum(len(name.encode()) + len(text) + _HEADER_OVERHEAD for name, text in kept) + len(as_json)
    if header_bytes > _ROOM_FOR_HEADERS:
        kept, notes["x-orig-headers-dropped"] = [], str(header_bytes)
    elif binary:
        notes["x-orig-binary-headers"] = as_json
    if key is not None and len(key) > KEPT_BYTES:
        notes["x-orig-key-size"] = str(len(key))
        key = key[:KEPT_BYTES]
    if value is None:
        notes["x-tombstone"] = "true"
        # The client refuses to send a record that has neither key nor value.
        value = b"" if key is None else None
    elif len(value) > _ROOM_FOR_VALUE:
        notes["x-orig-size"] = str(len(value))
        notes["x-orig-sha256"] = hashlib.sha256(value).hexdigest()
        value = value[:KEPT_BYTES]
    written: list[tuple[str, bytes | None]] = [*kept]
    written += [(name, text.encode("utf-8", "replace")) for name, text in notes.items()]
    return OutputRecord(dead_letter_topic(handler.consumes.name, handler.group), key, value, tuple(written))


def _split_headers(headers: Headers) -> tuple[list[tuple[str, bytes]], dict[str, str | None]]:
    """Headers that are text, and those that are not; an earlier dead letter's notes are not carried on."""
    kept: list[tuple[str, bytes]] = []
    binary: dict[str, str | None] = {}
    for name, value in headers:
        if name in LETTER_NOTES:
            continue
        if value is not None and _is_text(value):
            kept.append((name, value))
        else:
            binary[name] = None if value is None else b64encode(value).decode()
    return kept, binary


def _is_text(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
