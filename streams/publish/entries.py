"""What every source of records has in common: its entries, why one is refused, and how a record is made of an event.

An entry is one thing of a source, read but not looked at: what it is worth is found out by ``read``. So a source can be
gone through up to where a run had been, at the speed of reading, and be told from another by what its entries were.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

from schemas.event import Envelope, Event, derive_id
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.codec import OutputRecord, encode
from streams.topology import TOPIC_BYTES, Topic

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file, plain or gzipped, may raise."""
_LARGEST_RECORD = TOPIC_BYTES - 64 * 1024
"""Leaves room for what a batch adds and for what compression can add at worst, so that the topic takes it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that was not published.

    Attributes:
        place: Where it stands: ``file:line``, or a file.
        reason: Why.
        line: The line as it was read; None for what is no line, and for one too long to be held.
    """

    place: str
    reason: str
    line: bytes | None = None


class SourceError(Exception):
    """A path that can't be read at all, or does not go with the topic."""


class Entry(NamedTuple):
    """One thing of a source: a line, or a page of a folder.

    Attributes:
        place: Where it stands, for people.
        trace: What of it has to be the same when a run is resumed: the line, or a page's name and size.
        end: Bytes of the source up to its end, compressed as they lie on the disk.
        read: Makes the record, or the reason why there is none; None for what holds nothing, such as a blank line.
    """

    place: str
    trace: bytes
    end: int
    read: Callable[[], OutputRecord | Refused | None]


def record_of(
    topic: Topic, event: Event, place: str, run: str | None, line: bytes | None = None
) -> OutputRecord | Refused:
    """The record of an event; the same event published twice in a run has the same identity.

    Args:
        topic: Where it goes.
        event: What it says.
        place: Where it stands, for a refusal.
        run: Identity of the backfill, which goes into a header and into the record's id.
        line: The line it was, for a refusal.
    """
    if isinstance(event, CrawledPage) and _page_bytes(event) > MAX_PAGE_BYTES:
        return Refused(place, f"the page is larger than {MAX_PAGE_BYTES} bytes", line)
    identity = derive_id("publish", topic.name, run or "", sha256(event.to_json()).hexdigest())
    envelope = Envelope(
        id=identity,
        type=topic.name,
        source="assay/publish",
        time=datetime.now(UTC),
        correlation_id=identity,
        run=run,
    )
    record = encode(topic, event, envelope)
    if record.size > _LARGEST_RECORD:
        return Refused(place, f"the record is {record.size} bytes, {_LARGEST_RECORD} at most", line)
    return record


def opened(path: Path) -> IO[bytes]:
    """A file's bytes, unpacked where its name says that it is gzipped."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def explain(error: Exception) -> str:
    """What the system says of a file that can't be read."""
    return getattr(error, "strerror", None) or str(error)


def _page_bytes(page: CrawledPage) -> int:
    body = page.body
    return len(body) if isinstance(body, bytes) else len(body.encode())
