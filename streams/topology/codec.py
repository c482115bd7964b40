"""Encodes events as Kafka records and decodes them: JSON under the wire names, or a raw page as its bytes.

Decoding is total: every value gives an event or a reason. The identity of an output derives from its input, so a replay
writes the same ids.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.addresses import web_address
from schemas.event import Envelope, Event
from schemas.instants import BAD_INSTANT
from schemas.outcome import Dead, DeadReason
from schemas.pages import GONE_STATUS, CrawledPage
from streams.topology import TOPIC_BYTES, Topic

Headers = Sequence[tuple[str, bytes | None]]

RAW_PAGE_TYPES = ("text/html", "application/xhtml+xml")
UNREADABLE_HEADER = "assay_unreadable"  # says why the Kafka client could not read a record, which then has no value
_PAGE_URL = "assay_url"  # the header that each raw page has
_VALUE_HEADERS = ("content-type", "assay_")
"""How the names of headers begin that belong to a record's value; their case does not matter."""
_HALF_PAIR = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<escaped>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
    rb"|(?P<raw>\xed[\xa0-\xbf][\x80-\xbf])",
    re.DOTALL,
)
_REPLACED = {"escaped": rb"\ufffd", "raw": b"\xef\xbf\xbd"}
M = TypeVar("M", bound=BaseModel)
_VERSIONED = ("ce_type", "ce_dataschema")  # the headers that state an event with its version, after any prefix
_MAX_STATED = 200
_REASONS = {"json_invalid": DeadReason.UNDECODABLE, BAD_INSTANT: DeadReason.BAD_INSTANT}
"""By the type of the first problem of a value."""
MAX_DETAIL = 500  # characters of an error in a dead letter


class OutputRecord(NamedTuple):
    """A record to write; ``topic`` is without the prefix."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int | None = None  # none: the key decides

    @property
    def size(self) -> int:
        total = len(self.key or b"") + len(self.value or b"")
        for name, value in self.headers:
            total += len(name) + len(value or b"")
        return total


def decode(
    topic: Topic, value: bytes | None, headers: Headers, produced_at: datetime | None, key: bytes | None = None
) -> Event | Dead:
    """The event of a raw record.

    Args:
        topic: The record's topic.
        value: None is a tombstone.
        headers: Raw headers; a raw page has its address in ``assay_url``.
        produced_at: The record's timestamp, for an event without a time of its own (``Event.time_field``).
        key: The record's key; a tombstone on a topic of pages whose key is an address says that its page was removed.
    """
    if value is None and key and topic.raw_pages and not _texts(headers).get(UNREADABLE_HEADER):
        url = key.decode("utf-8", "replace")
        value = json.dumps({"url": url, "status": GONE_STATUS[-1]}).encode() if web_address(url) else None
    if value is None:
        why = _texts(headers).get(UNREADABLE_HEADER)
        detail = f"the client can't read the record: {why}" if why else "the record has no value (a tombstone)"
        return Dead(DeadReason.UNDECODABLE, detail[:MAX_DETAIL])
    if (stated := _other_version(topic, headers)) is not None:
        known = topic.name.rpartition(".")[2]
        return Dead(DeadReason.UNKNOWN_VERSION, f"the record is {stated!r}, and this version of Assay reads {known}")
    if len(value) > TOPIC_BYTES:
        return Dead(DeadReason.TOO_LARGE, f"{len(value)} bytes, {TOPIC_BYTES} at most")
    event: Event | Dead
    try:
        raw = _raw_page(value, headers) if topic.raw_pages else None
        event = raw or from_json(topic.event, value)
    except ValidationError as error:
        return refusal(error)
    except (ValueError, RecursionError) as error:
        return Dead(DeadReason.UNDECODABLE, str(error)[:MAX_DETAIL])
    if isinstance(event, Dead):
        return event
    if why := event.why_too_late(produced_at):
        return Dead(DeadReason.BAD_INSTANT, why)
    return event.arrived(produced_at)


def from_json(model: type[M], value: bytes) -> M:
    """The model of a JSON text, without a byte order mark and halves of surrogate pairs. Raises ValidationError."""
    try:
        return model.model_validate_json(value)
    except ValidationError:
        if (whole := without_half_pairs(value.removeprefix(codecs.BOM_UTF8))) == value:
            raise
        return model.model_validate_json(whole)


def without_half_pairs(text: bytes) -> bytes:
    r"""A JSON text with U+FFFD for each half of a surrogate pair, which is no character and which no store accepts.

    >>> without_half_pairs(rb'"\ud83d\ude00 \ud83d \\ud83d"')
    b'"\\ud83d\\ude00 \\ufffd \\\\ud83d"'
    """
    return _HALF_PAIR.sub(lambda found: _REPLACED.get(found.lastgroup or "", found[0]), text)


def encode(topic: Topic, event: Event, envelope: Envelope) -> OutputRecord:
    """The record of an event. A page with its bytes is written raw, without the cost of JSON escapes."""
    key = topic.key(event)
    if topic.raw_pages and isinstance(event, CrawledPage) and event.html_base64 is not None:
        headers = [*envelope.headers(topic.name, key, event.content_type or "text/html"), *_page_headers(event)]
        return OutputRecord(topic.name, key.encode(), event.html_base64, tuple(headers))
    value = event.to_json_as(envelope.id)
    return OutputRecord(topic.name, key.encode(), value, tuple(envelope.headers(topic.name, key)))


def _other_version(topic: Topic, headers: Headers) -> str | None:
    """The type or schema that a record states, if it is another major version of the topic's event.

    What names no version of this event says nothing about the value: headers are also copied from other events.
    """
    event, _, known = topic.name.rpartition(".v")
    for name, value in headers:
        if value and name.lower() in _VERSIONED:
            stated = value[:_MAX_STATED].decode("utf-8", "replace").strip()
            _, same, after = stated.lower().rpartition(f"{event}.v")
            version = after.partition(".")[0]
            if same and version.isdecimal() and version.lstrip("0") != known:
                return stated
    return None


def timestamp(milliseconds: int | None) -> datetime | None:
    """A Kafka timestamp as UTC; None if the record has no timestamp, or one outside the calendar."""
    if milliseconds is None or milliseconds < 0:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _raw_page(value: bytes, headers: Headers) -> CrawledPage | Dead | None:
    texts = _texts(headers)
    content_type = texts.get("content-type", "")
    url = texts.get(_PAGE_URL)
    if url is None and not content_type.lower().startswith(RAW_PAGE_TYPES):
        return None
    if not url:
        return Dead(DeadReason.INVALID, "a raw page needs the header assay_url")
    fields = {
        "url": url,
        "html_base64": value,
        "content_type": content_type or None,
        "fetched_at": texts.get("assay_fetched_at") or None,
        "final_url": texts.get("assay_final_url"),
        "status": _whole_number(texts.get("assay_status")),
        "site_name": texts.get("assay_site_name"),
        "context": texts.get("assay_context"),
    }
    return CrawledPage.model_validate(fields)


def _page_headers(page: CrawledPage) -> list[tuple[str, bytes]]:
    pairs = (
        (_PAGE_URL, page.url),
        ("assay_fetched_at", page.fetched_at.isoformat() if page.fetched_at else None),
        ("assay_final_url", page.final_url),
        ("assay_status", None if page.status is None else str(page.status)),
        ("assay_site_name", page.site_name),
        ("assay_context", page.context),
    )
    return [(name, value.encode("utf-8", "replace")) for name, value in pairs if value]


def _texts(headers: Headers) -> dict[str, str]:
    """The headers that belong to a record's value; ``Provenance`` and ``Origin`` read the others."""
    return {
        lower: value.decode("utf-8", "replace")
        for name, value in headers
        if value is not None and (lower := name.lower()).startswith(_VALUE_HEADERS)
    }


def _whole_number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) <= 9 and text.isascii() and text.isdigit() else None


def refusal(error: ValidationError) -> Dead:
    """Why a value does not fit its model: the first problems by field, without the value."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    # A default that depends on an invalid field is not a problem of its own.
    problems: Iterable[str] = (
        f"{'.'.join(str(part) for part in item['loc']) or 'value'}: {item['msg'].removeprefix('Value error, ')}"
        for item in [item for item in errors if item["type"] != "default_factory_not_called"][:5]
    )
    return Dead(_REASONS.get(errors[0]["type"], DeadReason.INVALID), "; ".join(problems)[:MAX_DETAIL])
