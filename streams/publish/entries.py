"""The entries of sources and their records, and the lines of files, plain or gzipped, and of standard input.

An entry is read but not parsed; ``record`` parses it. A resumed run therefore skips its earlier entries at the speed of
reading, and recognizes changed sources by the traces of their entries. One line and one block are held at a time. A
blank line and a byte order mark are passed over.
"""

from __future__ import annotations

import asyncio
import codecs
import errno
import gzip
import os
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import ValidationError

from schemas.event import Envelope, Event, Run, derive_id
from schemas.instants import BAD_INSTANT
from schemas.outcome import Dead, DeadReason
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


LARGEST_LINE = TOPIC_BYTES  # the bytes of the longest line that is read; no topic accepts more
STANDARD_INPUT_PATH = Path("-")
STANDARD_INPUT = 0  # the descriptor of standard input
_CHUNK_BYTES = 64 * 1024
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


class Line(NamedTuple):
    """A line of a file or of standard input that is not blank."""

    place: str
    # The line with its end, without a byte order mark; None if it is longer than any topic takes.
    content: bytes | None
    # The bytes of the file up to about its end, compressed as on the disk; 0 for standard input.
    end: int


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file, or of standard input for ``-``.

    Raises OSError if the file cannot be read, or is not UTF-8; the error has its name.
    """
    piped = path == STANDARD_INPUT_PATH
    name = "standard input" if piped else str(path)
    try:
        with nullcontext(cast(BufferedReader, sys.stdin.buffer)) if piped else opened(path) as file:
            on_disk = getattr(file, "fileobj", None) or file
            cutter, block = _Cutter(name), b"\n"
            while block:
                # Without waiting for a whole block, for the input may be a terminal.
                block = file.read1(_CHUNK_BYTES)
                for place, line in cutter.lines(block):
                    yield Line(place, line, 0 if piped else on_disk.tell())
    except UNREADABLE as error:
        raise OSError(getattr(error, "errno", None) or errno.EIO, explain(error), name) from None


async def read_piped_lines(descriptor: int) -> AsyncIterator[Line]:
    """The lines of a pipe, terminal, socket or file, with the bytes that were read.

    A blocking read of a pipe would delay the sending of earlier records, and Ctrl-C, until the next line.
    Raises OSError if the descriptor cannot be read, or its text is not UTF-8.
    """
    cutter, end, block = _Cutter("standard input", b""), 0, b"\n"
    while block:
        block = await _read(descriptor)
        end += len(block)
        for place, line in cutter.lines(block):
            yield Line(place, line, end)


def too_long() -> Dead:
    return Dead(DeadReason.TOO_LARGE, f"the line is longer than {LARGEST_LINE} bytes")


class _Cutter:
    """Cuts a text into numbered lines, wherever the limits of its blocks are."""

    def __init__(self, name: str, end: bytes = b"\n") -> None:
        """``end`` is what a line gets back that was cut off at its end."""
        self._name, self._end = name, end
        self._number = self._length = 0
        self._held = bytearray()
        self._began = False

    def lines(self, block: bytes) -> Iterator[tuple[str, bytes | None]]:
        """The lines that end in a block, each with its place; an empty block is the end of the text. Raises OSError."""
        if not self._began and (block.startswith(_WIDE) or b"\0" in block[:4]):
            raise OSError(errno.EILSEQ, "it is packed, or not UTF-8; convert UTF-16: iconv -f UTF-16 -t UTF-8")
        self._began = True
        *ended, unfinished = block.split(b"\n") if block else (b"", b"")
        for piece in ended:
            self._hold(piece)
            self._number += 1
            text = bytes(self._held).removeprefix(codecs.BOM_UTF8) + (self._end if block else b"")
            line = None if self._length > LARGEST_LINE else text
            if line is None or line.strip():
                yield f"{self._name}:{self._number}", line
            self._held, self._length = bytearray(), 0
        self._hold(unfinished)

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        self._held += piece if self._length <= LARGEST_LINE else b""


async def _read(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file on a disk is always ready
        return os.read(descriptor, _CHUNK_BYTES)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK_BYTES)
