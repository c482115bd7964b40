"""The entries of sources, and their records.

An entry is read but not parsed; ``record`` parses it. A resumed run therefore skips its earlier entries at the speed of
reading, and recognizes changed sources by the traces of their entries.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from schemas.event import Envelope, Event, Run, derive_id
from schemas.instants import BAD_INSTANT
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.topology import TOPIC_BYTES, Topic
from streams.topology.codec import OutputRecord, encode, refusal

UNREADABLE = (OSError, EOFError, zlib.error)  # the errors of reading a file, plain or gzipped
_LARGEST_RECORD = TOPIC_BYTES - 64 * 1024
"""Leaves room for the overhead of a batch and of incompressible data, so that the topic accepts the record."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that cannot be published."""

    place: str  # ``file:line``, or a file
    reason: str
    line: bytes | None = None  # the line; None for a file, and for a line that is too long


class SourceError(Exception):
    """A path cannot be read, or does not suit the topic; the message says what to do."""


class EntryError(ValueError):
    """An entry cannot be published; the message says why."""


class Entry(NamedTuple):
    """A line of a source, or a page of a folder."""

    place: str  # ``file:line``, or a file
    trace: bytes  # the line, or the name and size of a page: it must be the same when a run is resumed
    end: int  # the bytes of the source up to its end, compressed as on the disk
    event: Callable[[], Event | None]  # Makes the event; None if it has none. Raises EntryError and ValidationError.
    line: bytes | None = None  # for a refusal

    def record(self, topic: Topic, run: Run | None = None) -> OutputRecord | Refused | None:
        """The record of the event, of the backfill; None if it has no event."""
        try:
            event = self.event()
            return None if event is None else record_of(topic, event, run)
        except ValidationError as error:
            return Refused(self.place, refusal(error).detail, self.line)
        except EntryError as error:
            return Refused(self.place, str(error), self.line)


def record_of(topic: Topic, event: Event, run: Run | None = None) -> OutputRecord:
    """The record of an event; its id derives from the topic, the run and the fields of the event that are given.

    So a later version whose event has more optional fields gives it the same id.
    Raises EntryError if the page or the record is too large.
    """
    now = datetime.now(UTC)
    if isinstance(event, CrawledPage) and _page_bytes(event) > MAX_PAGE_BYTES:
        raise EntryError(f"the page is larger than {MAX_PAGE_BYTES} bytes")
    if why := event.why_too_late(now):
        raise EntryError(f"{BAD_INSTANT}: {why}")
    digest = sha256(event.model_dump_json(by_alias=True, exclude_defaults=True, exclude={"html_base64"}).encode())
    if isinstance(event, CrawledPage):
        digest.update(event.html_base64 or b"")  # its base64 would take longer than to read it from an archive
    identity = derive_id("publish", topic.name, run.name if run else "", digest.hexdigest())
    envelope = Envelope(
        id=identity,
        source="assay/publish",
        time=now,
        correlation_id=identity,
        run=run,
    )
    record = encode(topic, event, envelope)
    if record.size > _LARGEST_RECORD:
        raise EntryError(f"the record is {record.size} bytes, {_LARGEST_RECORD} at most")
    return record


def opened(path: Path) -> BufferedReader | gzip.GzipFile:
    """Opens a file, and unpacks it if its name ends with ``.gz``."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def explain(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _page_bytes(page: CrawledPage) -> int:
    body = page.body
    return len(body) if isinstance(body, bytes) else len(body.encode())
