"""Reads sources one entry at a time: JSON lines, TSV, web archives, folders of pages, page lists, and standard input.

The entries of a path always have the same order. Nothing outside of the named paths is read.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Literal, NamedTuple

from schemas.event import Event
from schemas.outcome import Dead, DeadReason
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError, explain, opened
from streams.publish.page_folders import PAGE_LISTS, is_page, page_files, page_list, read_case, read_folder
from streams.publish.tsv import read_row
from streams.publish.warc import archive_size, is_archive, read_archive
from streams.topology import TOPIC_BYTES, Topic
from streams.topology.codec import decode

Format = Literal["jsonl", "tsv"]
"""The format of a file of lines."""
LARGEST_LINE = TOPIC_BYTES
"""The bytes of the longest line that is read; no topic accepts more."""
STANDARD_INPUT_PATH = Path("-")
STANDARD_INPUT = 0
"""The descriptor of standard input."""
_URL = re.compile(r"(https?):/+(.+)")
"""An address as a path, which has lost a slash."""
_CHUNK_BYTES = 64 * 1024
_TSV_SUFFIXES = (".tsv", ".tsv.gz")


def format_of(path: Path, stated: Format | None) -> Format:
    """The format of the lines of a path: as stated, else by its name.

    >>> format_of(Path("pages.TSV.gz"), None)
    'tsv'
    """
    return stated or ("tsv" if path.name.lower().endswith(_TSV_SUFFIXES) else "jsonl")


def check_source(path: Path, topic: Topic, stated: Format | None = None) -> None:
    """Checks that a path exists and suits the topic; ``-`` always does.

    Raises:
        SourceError: With what to do.
    """
    if format_of(path, stated) == "tsv" and not topic.raw_pages:
        raise SourceError(f"{path}: TSV has pages, and {topic.name} does not take pages")
    if path == STANDARD_INPUT_PATH:
        return
    if (url := _URL.match(str(path))) is not None and not path.exists():
        address = f"{url[1]}://{url[2]}"
        raise SourceError(f"{address} is an address; `assay score {address}` fetches and scores it")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{path}: {'no permission to read it' if path.exists() else 'No such file or folder'}")
    if not topic.raw_pages and holds_pages(path):
        raise SourceError(f"{path} has pages, and {topic.name} does not take pages")


def size_of(path: Path) -> int:
    """The bytes that ``read`` reads, for the progress; 0 if they cannot be read.

    A page list counts without its pages.
    """
    try:
        if is_archive(path):
            return archive_size(path)
        files = [listing] if (listing := page_list(path)) else page_files(path)
        return sum(file.stat().st_size for file in files)
    except (*UNREADABLE, SourceError):
        return 0


class Line(NamedTuple):
    """A line of a file or of standard input.

    Attributes:
        place: The file and the line number.
        content: The line with its end; None if it is longer than any topic takes.
        end: The bytes of the file up to its end, compressed as on the disk; 0 for standard input.
    """

    place: str
    content: bytes | None
    end: int


def read(path: Path, topic: Topic, stated: Format | None = None) -> Iterator[Entry]:
    """The entries of a path, in order.

    Args:
        path: JSON lines or TSV (also gzipped); a WARC file, a WACZ package or a list of WARC files;
            ``cases.jsonl[.gz]`` or its folder; or a folder of HTML files.
        topic: The topic of the records.
        stated: The format of lines; None derives it from the name.

    Raises:
        SourceError: The path cannot be read, or does not suit the topic.
    """
    check_source(path, topic, stated)
    try:
        if is_archive(path):
            yield from read_archive(path)
        elif not holds_pages(path):
            yield from _lines(path, topic, format_of(path, stated))
        elif is_page(path) or (listing := page_list(path)) is None:
            yield from read_folder(path)
        else:
            yield from _cases(listing)
    except UNREADABLE as error:
        raise SourceError(f"{path}: {explain(error)}") from None


async def read_standard_input(topic: Topic, stated: Format | None) -> AsyncIterator[Entry]:
    """The entries of standard input. Raises SourceError."""
    number = end = 0
    try:
        async for line in read_piped_lines(STANDARD_INPUT, LARGEST_LINE):
            number, end = number + 1, end + len(line or b"") + 1
            yield _entry(f"standard input:{number}", line, end, topic, stated or "jsonl")
    except OSError as error:
        raise SourceError(f"standard input: {error.strerror}") from None


def event_of(line: bytes | None, topic: Topic, written: Format = "jsonl") -> Event | None:
    """The event of one line, which is None if it was too long; None for a blank line and for TSV column names.

    Raises:
        EntryError, ValidationError: The line has no event of the topic.
    """
    if line is None:
        raise EntryError(too_long().detail)
    if written == "tsv":
        return read_row(line)
    if not line.strip():
        return None
    event = decode(topic, line, (), None)
    if isinstance(event, Dead):
        raise EntryError(f"{event.reason}: {event.detail}")
    return event


def _entry(place: str, line: bytes | None, end: int, topic: Topic, written: Format) -> Entry:
    return Entry(place, line or b"", end, partial(event_of, line, topic, written), line)


def _lines(path: Path, topic: Topic, written: Format) -> Iterator[Entry]:
    for place, line, end in read_lines(path):
        yield _entry(place, line, end, topic, written)


def _cases(listing: Path) -> Iterator[Entry]:
    folder = listing.parent.resolve()
    for place, line, end in read_lines(listing):
        if line is None or line.strip():
            yield read_case(line, end, place, folder)


def holds_pages(path: Path) -> bool:
    """Whether a path is a folder, a page list, an HTML file or a web archive, which have pages and not lines."""
    return path.is_dir() or path.name in PAGE_LISTS or is_page(path) or is_archive(path)


def _position(file: IO[bytes]) -> int:
    """The bytes that were read of the file on the disk."""
    packed: IO[bytes] = getattr(file, "fileobj", None) or file
    return packed.tell()


def too_long() -> Dead:
    """The refusal of a line that is longer than any topic takes."""
    return Dead(DeadReason.TOO_LARGE, f"the line is longer than {LARGEST_LINE} bytes")


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file, plain or gzipped, or of standard input for ``-``; one is held at a time.

    Raises:
        OSError: The file cannot be read; the error has its name.
    """
    piped = path == STANDARD_INPUT_PATH
    name = "standard input" if piped else str(path)
    try:
        with nullcontext(sys.stdin.buffer) if piped else opened(path) as file:
            for number, line in enumerate(_limited(file), 1):
                yield Line(f"{name}:{number}", line, 0 if piped else _position(file))
    except UNREADABLE as error:
        raise OSError(getattr(error, "errno", None) or errno.EIO, explain(error), name) from None


def _limited(file: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a file; None for a line that is too long."""
    while line := file.readline(LARGEST_LINE + 1):
        if len(line) <= LARGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST_LINE)
        yield None


async def read_piped_lines(descriptor: int, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of a pipe, terminal, socket or file, without their ends; None for one longer than the limit in bytes.

    A blocking read of a pipe would delay the sending of earlier records, and Ctrl-C, until the next line.

    Raises:
        OSError: The descriptor cannot be read.
    """
    held = bytearray()
    exceeded = False
    while chunk := await _read(descriptor):
        *ends, begun = chunk.split(b"\n")
        for end in ends:
            held += end
            yield None if exceeded or len(held) > limit else bytes(held)
            held.clear()
            exceeded = False
        held += begun
        if len(held) > limit:
            held.clear()
            exceeded = True
    if held or exceeded:
        yield None if exceeded else bytes(held)


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
