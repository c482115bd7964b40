"""Reads sources one entry at a time: JSON lines, TSV, web archives, folders of pages, page lists, and standard input.

The entries of a path always have the same order. Nothing outside of the named paths is read.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from schemas.addresses import web_address
from schemas.event import Event
from schemas.outcome import Dead
from schemas.pages import GONE_STATUS, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError, explain
from streams.publish.lines import STANDARD_INPUT, STANDARD_INPUT_PATH, Line, read_lines, read_piped_lines, too_long
from streams.publish.page_folders import PAGE_LISTS, is_page, page_files, page_list, read_case, read_folder
from streams.publish.tsv import read_row
from streams.publish.warc import archive_size, is_archive, read_archive
from streams.topology import Topic
from streams.topology.codec import decode

_SHOWN = 200
Format = Literal["jsonl", "tsv", "removed"]
"""The format of a file of lines; ``removed``: addresses of pages that no longer exist."""
_URL = re.compile(r"(https?):/+(.+)")  # an address as a path, which has lost a slash
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
    if stated == "removed" and holds_pages(path):
        raise SourceError(f"{path} has pages; --format removed takes a file with an address in each line")
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


def read(path: Path, topic: Topic, stated: Format | None = None, passed: Counter[str] | None = None) -> Iterator[Entry]:
    """The entries of a path, in order; ``passed`` counts the records of archives that are no pages, by kind.

    A path is JSON lines or TSV (also gzipped); a WARC file, a WACZ package or a list of WARC files;
    ``cases.jsonl[.gz]`` or its folder; or a folder of HTML files. Without a format the name of a file decides.
    Raises SourceError if the path cannot be read, or does not suit the topic.
    """
    check_source(path, topic, stated)
    try:
        if is_archive(path):
            yield from read_archive(path, Counter() if passed is None else passed)
        elif not holds_pages(path):
            written = format_of(path, stated)
            yield from (_entry(line, topic, written) for line in read_lines(path))
        elif is_page(path) or (listing := page_list(path)) is None:
            yield from read_folder(path)
        else:
            folder = listing.parent.resolve()
            yield from (read_case(line, folder) for line in read_lines(listing))
    except UNREADABLE as error:
        raise SourceError(f"{getattr(error, 'filename', None) or path}: {explain(error)}") from None


async def read_standard_input(topic: Topic, stated: Format | None) -> AsyncIterator[Entry]:
    """The entries of standard input. Raises SourceError."""
    try:
        async for line in read_piped_lines(STANDARD_INPUT):
            yield _entry(line, topic, stated or "jsonl")
    except OSError as error:
        raise SourceError(f"standard input: {error.strerror}") from None


def event_of(line: bytes | None, topic: Topic, written: Format = "jsonl") -> Event | None:
    """The event of one line, which is None if it was too long; None for TSV column names.

    Raises:
        EntryError, ValidationError: The line has no event of the topic.
    """
    if line is None:
        raise EntryError(too_long().detail)
    if written == "tsv":
        return read_row(line)
    if written == "removed":
        url = line.decode("utf-8", "replace").strip()
        if not url or url.startswith("#"):
            return None
        if not web_address(url):
            raise EntryError(f"{url[:_SHOWN]!r} is no address of a page; write https://… in each line")
        return CrawledPage(url=url, status=GONE_STATUS[-1])
    event = decode(topic, line, (), None)
    if isinstance(event, Dead):
        raise EntryError(f"{event.reason}: {event.detail}")
    return event


def _entry(line: Line, topic: Topic, written: Format) -> Entry:
    event = partial(event_of, line.content, topic, written)
    return Entry(line.place, line.content or b"", line.end, event, line.content)


def holds_pages(path: Path) -> bool:
    """Whether a path is a folder, a page list, an HTML file or a web archive, which have pages and not lines."""
    return path.is_dir() or path.name in PAGE_LISTS or is_page(path) or is_archive(path)
