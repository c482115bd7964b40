"""Dead letters: the original bytes of a record that can't be handled, and in text headers why, where and when.

A dead letter is an output like any other: it is written in the transaction that moves the input's offset, so a bad
record is neither lost nor does it block its partition.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from datetime import datetime

from schemas.dead import KEPT_BYTES, dead_letter_topic
from schemas.event import Provenance
from schemas.outcome import Dead, Stage
from streams.codec import MAX_DETAIL, Headers, OutputRecord
from streams.pipeline.origin import NOTES, Origin
from streams.topology import DEAD_LETTER_BYTES, MIB, Handler

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
