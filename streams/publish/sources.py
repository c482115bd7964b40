"""What can be published: JSON lines, TSV, folders of pages, page lists; read one entry at a time, whatever their size.

A path goes in; its entries come out in an order that is always the same, and each becomes a record ready to be sent, or
the place it stands and why it can't be. Nothing is read outside of the paths that were named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Literal

from schemas.outcome import Dead
from streams.codec import OutputRecord, decode
from streams.publish.entries import UNREADABLE, Entry, Refused, SourceError, explain, opened, record_of
from streams.publish.lines import lines_of
from streams.publish.page_folders import PAGE_LISTS, page_files, page_list, read_case, read_folder
from streams.publish.tsv import BadRow, read_row
from streams.topology import TOPIC_BYTES, Topic

Format = Literal["jsonl", "tsv"]
"""How a file of lines is written."""
LARGEST_LINE = TOPIC_BYTES
"""Bytes of a line that is read; no topic takes more."""
STANDARD_INPUT_PATH = Path("-")
_TSV_SUFFIXES = (".tsv", ".tsv.gz")


def format_of(path: Path, stated: Format | None) -> Format:
    """How the lines of a path are written: as stated, else as its name says.

    >>> format_of(Path("pages.TSV.gz"), None)
    'tsv'
    """
    return stated or ("tsv" if path.name.lower().endswith(_TSV_SUFFIXES) else "jsonl")


def check_source(path: Path, topic: Topic, stated: Format | None = None) -> None:
    """Whether a path is there and goes with the topic, before anything of it is sent; ``-`` is always there.

    Raises:
        SourceError: With what to do.
    """
    if format_of(path, stated) == "tsv" and not topic.raw_pages:
        raise SourceError(f"{path}: TSV holds pages, and {topic.name} does not take pages")
    if path == STANDARD_INPUT_PATH:
        return
    if not os.access(path, os.R_OK):
        raise SourceError(f"{path}: {'no permission to read it' if path.exists() else 'No such file or folder'}")
    if not topic.raw_pages and _holds_pages(path):
        raise SourceError(f"{path} holds pages, and {topic.name} does not take pages")


def size_of(path: Path) -> int:
    """Bytes that ``read_entries`` goes through, to tell how far it is; 0 for what can't be read.

    A list of pages counts as such, without its pages, since each of its lines is one.
    """
    try:
        if path.is_dir() and (listing := page_list(path)) is None:
            return sum(file.stat().st_size for file in page_files(path))
        return (listing if path.is_dir() and listing else path).stat().st_size
    except OSError:
        return 0


def read_source(
    path: Path, topic: Topic, run: str | None, stated: Format | None = None
) -> Iterator[OutputRecord | Refused]:
    """The records of a path.

    Args:
        path: JSON lines or TSV (also gzipped); a folder with ``cases.jsonl[.gz]``, or such a file; or a folder of HTML
            files.
        topic: Where they go; only ``CrawledPage`` can be made of pages.
        run: Identity of the backfill, which goes into a header and into the records' ids.
        stated: How a file of lines is written, where its name does not say.

    Raises:
        SourceError: With what to do.
    """
    for entry in read_entries(path, topic, run, stated):
        if (record := entry.read()) is not None:
            yield record


def read_entries(path: Path, topic: Topic, run: str | None, stated: Format | None = None) -> Iterator[Entry]:
    """The entries of a path, in order; arguments and errors as ``read_source``."""
    check_source(path, topic, stated)
    try:
        if not _holds_pages(path):
            yield from _events(path, topic, run, format_of(path, stated))
        elif (listing := page_list(path)) is None:
            yield from read_folder(path, topic, run)
        else:
            yield from _cases(listing, topic, run)
    except UNREADABLE as error:
        raise SourceError(f"{path}: {explain(error)}") from None


def read_event(
    line: bytes | None, place: str, topic: Topic, run: str | None, written: Format = "jsonl"
) -> OutputRecord | Refused | None:
    """The record of one line; None for one that holds nothing: a blank one, or the names of TSV columns.

    Args:
        line: The line; None where it was longer than ``LARGEST_LINE``.
        place: Where it stands, for the refusal.
        topic: Where the record goes; the event must be valid there.
        run: As in ``read_source``.
        written: How the line is written.
    """
    if line is None:
        return Refused(place, f"the line is longer than {LARGEST_LINE} bytes")
    if written == "tsv":
        page = read_row(line)
        if isinstance(page, BadRow):
            return Refused(place, page.reason, line)
        return None if page is None else record_of(topic, page, place, run, line)
    if not line.strip():
        return None
    event = decode(topic, line, (), None)
    if isinstance(event, Dead):
        return Refused(place, f"{event.reason}: {event.detail}", line)
    return record_of(topic, event, place, run, line)


def _events(path: Path, topic: Topic, run: str | None, written: Format) -> Iterator[Entry]:
    with opened(path) as file:
        for number, line, trace in _lines(file):
            place = f"{path}:{number}"
            yield Entry(place, trace, _position(file), partial(read_event, line, place, topic, run, written))


def _cases(listing: Path, topic: Topic, run: str | None) -> Iterator[Entry]:
    folder = listing.parent.resolve()
    with opened(listing) as file:
        for number, line, _ in _lines(file):
            if line is None or line.strip():
                yield read_case(line, _position(file), f"{listing}:{number}", folder, topic, run)


def _holds_pages(path: Path) -> bool:
    return path.is_dir() or path.name in PAGE_LISTS


def _position(file: IO[bytes]) -> int:
    """Bytes read of the file as it lies on the disk."""
    packed: IO[bytes] = getattr(file, "fileobj", None) or file
    return packed.tell()


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None, bytes]]:
    """Numbered lines and their traces; a line that is too long is None, and its trace is its size."""
    for number, line in enumerate(lines_of(file, LARGEST_LINE), 1):
        yield (number, None, b"%d" % line) if isinstance(line, int) else (number, line, line)
