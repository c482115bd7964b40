"""Records that could not be handled: delayed retry topics and dead letter topics.

Both are outputs like any other. The transaction that moves the input's offset writes them, so a bad record is neither
lost nor doubled, and it does not block its partition. A dead letter keeps the original bytes; text headers state the
reason, the place and the time.

A record on ``<topic>.<group>.retry.<delay>`` loses its place among the records of its key. A handler whose order
matters therefore declares no retry topics (``Handler.retry_later``), and its records wait in place.

Headers of the record carry its ``Origin``: topic, partition, offset and timestamp of the original record, and the
number of attempts. They are read from retry topics only, and ignored on a record of any other topic.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from aiokafka import ConsumerRecord

from schemas.dead import KEPT_BYTES, dead_letter_topic
from schemas.event import Provenance
from schemas.outcome import Dead, Retry, Stage
from streams.topology import DEAD_LETTER_BYTES, MIB, Handler, RetryTopic
from streams.topology.codec import MAX_DETAIL, Headers, OutputRecord

_DUE = "x-not-before"
_ORIGIN = ("x-orig-topic", "x-orig-partition", "x-orig-offset", "x-orig-ts", "x-attempt")
NOTES = ("x-id", "x-root-id", *_ORIGIN, "x-handler", "x-reason", "x-error-message", "x-run", _DUE)
"""Headers that a retried record carries; those of an earlier attempt are replaced."""


class Origin(NamedTuple):
    """The place of a record before its first attempt, and the number of attempts until now."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    attempts: int = 0

    @property
    def identity(self) -> str:
        """The record's identity if its producer gave it none."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def of(cls, record: ConsumerRecord, retried: bool) -> Self:
        """The origin of a record; ``retried`` says that it was read from a retry topic."""
        here = cls(record.topic, record.partition, record.offset, record.timestamp)
        if not retried:
            return here
        texts = {name: value.decode("utf-8", "replace") for name, value in record.headers if value and name in _ORIGIN}
        topic, partition, offset, timestamp, attempts = (texts.get(name) for name in _ORIGIN)
        if not topic or (number := _number(partition)) is None or (at := _number(offset)) is None:
            return here
        return cls(topic, number, at, _number(timestamp), _number(attempts) or 0)


class Input(NamedTuple):
    """A record with what its headers say, which are read once."""

    record: ConsumerRecord
    origin: Origin
    provenance: Provenance

    @classmethod
    def of(cls, record: ConsumerRecord, retried: bool = False) -> Self:
        """Reads the headers; ``retried`` says that the record was read from a retry topic. Never raises."""
        origin = Origin.of(record, retried)
        return cls(record, origin, Provenance.of(record.headers, origin.identity))

    @property
    def replayed(self) -> bool:
        """Whether a replay or a backfill wrote the record."""
        return self.provenance.run is not None

    def notes(self, handler: Handler) -> dict[str, str]:
        """The headers that carry origin and identity of the record on."""
        origin, provenance = self.origin, self.provenance
        return {
            "x-id": provenance.identity,
            "x-root-id": provenance.identity,
            "x-orig-topic": origin.topic,
            "x-orig-partition": str(origin.partition),
            "x-orig-offset": str(origin.offset),
            "x-orig-ts": "" if origin.timestamp_ms is None else str(origin.timestamp_ms),
            "x-handler": handler.name,
            "x-run": provenance.run.name if provenance.run else "",
        }


def due_at(record: ConsumerRecord) -> float:
    """When a record of a retry topic may be tried, in seconds since 1970; 0 if its headers do not say."""
    due = next((value for name, value in record.headers if name == _DUE and value), b"")
    return (_number(due.decode("utf-8", "replace")) or 0) / 1000


def _number(text: str | None) -> int | None:
    return int(text) if text and len(text) <= 19 and text.isascii() and text.isdigit() else None


def next_retry_topic(
    topics: tuple[RetryTopic, ...], current: RetryTopic | None, retry_after: float | None
) -> RetryTopic | None:
    """The retry topic for a record that failed in ``current``; None after the last one.

    Args:
        topics: The handler's, the shortest delay first.
        current: The topic of the last attempt; None for the handler's own topic.
        retry_after: The provider's Retry-After in seconds. A topic with at least this delay is preferred, so that the
            records of a topic become due in the order of their offsets.
    """
    later = [topic for topic in topics if current is None or topic.delay_seconds > current.delay_seconds]
    return next((topic for topic in later if topic.delay_seconds >= (retry_after or 0.0)), later[-1] if later else None)


def retry_record(
    handler: Handler, retry_topic: RetryTopic, input_: Input, retry: Retry, now: datetime, longest_seconds: float
) -> OutputRecord:
    """The record for a retry topic: the original, with the reason, the attempts and the due time in text headers.

    It is due after the topic's delay, or a longer Retry-After up to ``longest_seconds``.
    """
    wait = max(float(retry_topic.delay_seconds), min(retry.after_seconds or 0.0, longest_seconds))
    notes = input_.notes(handler) | {
        "x-reason": retry.reason.value,
        "x-error-message": retry.detail[:MAX_DETAIL],
        "x-attempt": str(input_.origin.attempts),
        _DUE: str(int((now + timedelta(seconds=wait)).timestamp() * 1000)),
    }
    record = input_.record
    written = [(name, value) for name, value in record.headers if name not in NOTES]
    written += [(name, text.encode("utf-8", "replace")) for name, text in notes.items()]
    return OutputRecord(retry_topic.topic, record.key, record.value, tuple(written))


_ROOM_FOR_HEADERS = MIB // 4
_ROOM_FOR_VALUE = DEAD_LETTER_BYTES - MIB // 2
_HEADER_OVERHEAD = 10  # bytes that a header takes in addition to its name and value, at most
_OF_LETTERS = ("x-stage", "x-died-at", "x-tombstone", "x-orig-key-size", "x-orig-size", "x-orig-sha256")
_OF_HEADERS = ("x-orig-headers-dropped", "x-orig-binary-headers")
LETTER_NOTES = frozenset((*NOTES, *_OF_LETTERS, *_OF_HEADERS))  # all headers that Assay adds to a dead letter


def dead_letter(handler: Handler, input_: Input, refusal: Dead, stage: Stage, died_at: datetime) -> OutputRecord:
    """The record for the handler's dead letter topic.

    Key, value and headers are unchanged. A value that no topic takes is cut to its first 64 KiB; its size and digest
    are kept. Headers that are not UTF-8 text are encoded as base64 in ``x-orig-binary-headers``, because many consumers
    cannot read them. The record always fits its topic.
    """
    key, value = input_.record.key, input_.record.value
    notes = input_.notes(handler) | {
        "x-stage": stage.value,
        "x-reason": refusal.reason.value,
        "x-error-message": refusal.detail[:MAX_DETAIL],
        "x-died-at": died_at.isoformat(),
    }
    kept, binary = _split_headers(input_.record.headers)
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
    """Headers that are text, and others as base64; those of an earlier dead letter are left out."""
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
