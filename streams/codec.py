"""Events to Kafka records and back: JSON under the wire names, or a page as the bytes that were fetched.

Decoding is total: whatever the bytes are, the answer is an event or a reason. Encoding derives the record's identity
from its input, so a replay writes the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from schemas.event import Envelope, Event, in_utc
from schemas.outcome import Dead, DeadReason
from schemas.pages import CrawledPage
from streams.topology import TOPIC_BYTES, Topic

Headers = Sequence[tuple[str, bytes | None]]

RAW_PAGE_TYPES = ("text/html", "application/xhtml+xml")
UNREADABLE_HEADER = "assay_unreadable"
"""Says why the Kafka client could not read a record, which then has no value."""
_VALUE_HEADERS = frozenset(
    (
        "content-type",
        "assay_url",
        "assay_fetched_at",
        "assay_final_url",
        "assay_status",
        "assay_site_name",
        "assay_context",
        UNREADABLE_HEADER,
    )
)
"""Names in lower case; their case does not matter."""
MAX_DETAIL = 500
"""Characters of an error's detail that travel with a dead letter."""


class OutputRecord(NamedTuple):
    """A record to write. ``topic`` is the logical name; the prefix is the writer's business."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    partition: int | None = None
    """Where it has to go; None lets the key decide."""

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        total = len(self.key or b"") + len(self.value or b"")
        for name, value in self.headers:
            total += len(name) + len(value or b"")
        return total


def decode(topic: Topic, value: bytes | None, headers: Headers, produced_at: datetime | None) -> Event | Dead:
    """The event of a raw record.

    Args:
        topic: Where the record stands.
        value: The record's value; None is a tombstone, which no topic of Assay has a use for.
        headers: Raw headers; a page that travels raw has its address in ``assay_url``.
        produced_at: The record's timestamp, which stands in for a missing time of the event (``Event.time_field``).
    """
    if value is None:
        why = _texts(headers).get(UNREADABLE_HEADER)
        detail = f"the client can't read the record: {why}" if why else "the record has no value (a tombstone)"
        return Dead(DeadReason.UNDECODABLE, detail[:MAX_DETAIL])
    if len(value) > TOPIC_BYTES:
        return Dead(DeadReason.TOO_LARGE, f"{len(value)} bytes, {TOPIC_BYTES} at most")
    if topic.raw_pages and (page := _raw_page(value, headers, produced_at)) is not None:
        return page
    try:
        return topic.event.model_validate_json(value).arrived(produced_at)
    except ValidationError as error:
        return refusal(error)
    except (ValueError, RecursionError) as error:
        return Dead(DeadReason.UNDECODABLE, str(error)[:MAX_DETAIL])


def encode(topic: Topic, event: Event, envelope: Envelope) -> OutputRecord:
    """The record of an event. A page whose bytes are at hand travels raw, which spares JSON the escaping."""
    key = topic.key(event).encode()
    if topic.raw_pages and isinstance(event, CrawledPage) and event.html_base64 is not None:
        headers = [*envelope.headers(event.content_type or "text/html"), *_page_headers(event)]
        return OutputRecord(topic.name, key, event.html_base64, tuple(headers))
    return OutputRecord(topic.name, key, event.to_json(), tuple(envelope.headers()))


def timestamp(milliseconds: int | None) -> datetime | None:
    """A Kafka timestamp as UTC; None where the record has none, or one that no calendar holds."""
    if milliseconds is None or milliseconds < 0:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _raw_page(value: bytes, headers: Headers, produced_at: datetime | None) -> CrawledPage | Dead | None:
    texts = _texts(headers)
    content_type = texts.get("content-type", "")
    url = texts.get("assay_url")
    if url is None and not content_type.lower().startswith(RAW_PAGE_TYPES):
        return None
    if not url:
        return Dead(DeadReason.INVALID, "a raw page needs the header assay_url")
    try:
        return CrawledPage(
            url=url,
            html_base64=value,
            content_type=content_type or None,
            fetched_at=_instant(texts.get("assay_fetched_at")) or produced_at,
            final_url=texts.get("assay_final_url"),
            status=_whole_number(texts.get("assay_status")),
            site_name=texts.get("assay_site_name"),
            context=texts.get("assay_context"),
        )
    except ValidationError as error:
        return refusal(error)


def _page_headers(page: CrawledPage) -> list[tuple[str, bytes]]:
    pairs = (
        ("assay_url", page.url),
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
        if value is not None and (lower := name.lower()) in _VALUE_HEADERS
    }


def _instant(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def _whole_number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) <= 9 and text.isascii() and text.isdigit() else None


def refusal(error: ValidationError) -> Dead:
    """Why a value does not fit its model: the first problems by field, without the value itself."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    # A default that could not be made for want of another field is no problem of its own.
    problems: Iterable[str] = (
        f"{'.'.join(str(part) for part in item['loc']) or 'value'}: {item['msg'].removeprefix('Value error, ')}"
        for item in [item for item in errors if item["type"] != "default_factory_not_called"][:5]
    )
    not_json = any(item["type"] == "json_invalid" for item in errors)
    reason = DeadReason.UNDECODABLE if not_json else DeadReason.INVALID
    return Dead(reason, "; ".join(problems)[:MAX_DETAIL])
