"""Reads sources one entry at a time: JSON lines, TSV, web archives, folders of pages, page lists, and standard input.

The entries of a path always have the same order. Nothing outside of the named paths is read. Events are also read from
lines of ``assay tail --json`` and ``assay try``; a line that is longer than any topic takes is never held.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from handlers.html.links import is_public_suffix, registered_domain
from schemas.addresses import web_address
from schemas.event import Event
from schemas.outcome import Dead, DeadReason, Drop, DropReason
from schemas.pages import GONE_STATUS, MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import (
    STANDARD_INPUT,
    STANDARD_INPUT_PATH,
    UNREADABLE,
    Entry,
    EntryError,
    Line,
    Refused,
    SourceError,
    explain,
    opened,
    read_lines,
    read_piped_lines,
    too_long,
)
from streams.publish.tsv import read_row
from streams.publish.warc import archive_size, is_archive, read_archive
from streams.topology import Topic
from streams.topology.codec import decode, without_half_pairs

UNKNOWN = "https://file.invalid/"  # begins the address of a file whose own address is not known
PAGE_LISTS = ("cases.jsonl", "cases.jsonl.gz")
"""The names of a list of pages: each line is a JSON object with the page's ``file``."""
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz")


def page_list(path: Path) -> Path | None:
    """The list of a folder's pages, or the path itself if it is a file; None for a folder without a list."""
    if path.is_file():
        return path
    return next((path / name for name in PAGE_LISTS if (path / name).is_file()), None)


def is_page(path: Path) -> bool:
    """Whether a path is named as an HTML file.

    >>> is_page(Path("a/Page.HTML")), is_page(Path("pages.jsonl"))
    (True, False)
    """
    return path.name.lower().endswith(_PAGE_SUFFIXES)


def page_files(path: Path) -> list[Path]:
    """The HTML files below a folder, sorted; an HTML file itself."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if is_page(file))


def read_folder(path: Path) -> Iterator[Entry]:
    """An entry for each HTML file below a folder, or for one file.

    Its address is its name; below a folder that is named as a host, as mirrors are, the address at that host.
    Raises SourceError if the folder has no HTML files.
    """
    files = page_files(path)
    if not files:
        raise SourceError(f"{path}: no cases.jsonl and no .html files in it")
    folder, end = path.resolve(), 0
    for file in files:
        name = os.fsencode(file.name if file == path else file.relative_to(path).as_posix())
        size = _size(file)
        end += size
        host, _, path_below = os.fsdecode(name).partition("/")
        is_host = bool(path_below) and is_public_suffix(host.rpartition(".")[2]) and bool(registered_domain(host))
        url = ("https://" if is_host else UNKNOWN) + quote(name)
        yield Entry(str(file), b"%s\0%d" % (name, size), end, partial(_page, file, folder, file.name, url))


def read_case(line: Line, folder: Path) -> Entry:
    trace = line.content or b""
    with contextlib.suppress(EntryError):
        file, _ = _case(line.content, folder)
        trace += b"\0%d" % _size(file)
    return Entry(line.place, trace, line.end, partial(_page_of_case, line.content, folder), line.content)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return -1


def _case(line: bytes | None, folder: Path) -> tuple[Path, dict[str, Any]]:
    try:
        case = json.loads(without_half_pairs(line or b""))
        name = str(case["file"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise EntryError(f"no case with a file: {type(error).__name__}") from None
    try:
        return (folder / name).resolve(), case
    except (OSError, ValueError, RuntimeError) as error:
        raise EntryError(f"the file {name!r} can't be found: {error}") from None


def _page_of_case(line: bytes | None, folder: Path) -> CrawledPage:
    file, case = _case(line, folder)
    name, site = str(case["file"]), case.get("site_name")
    url = str(case.get("url") or f"https://case.invalid/{case.get('id') or quote(name, errors='replace')}")
    return _page(
        file, folder, name, url, fetched_at=case.get("fetched_at"), site_name=site if isinstance(site, str) else None
    )


def _page(file: Path, folder: Path, name: str, url: str, **fields: Any) -> CrawledPage:
    if not Path(os.path.realpath(file)).is_relative_to(folder):
        raise EntryError(f"the file {name!r} is outside of the folder")
    try:
        if not file.is_file():
            raise EntryError(f"{file.name} is not a file")
        with opened(file) as page_file:
            body = page_file.read(MAX_PAGE_BYTES + 1)
    except UNREADABLE as error:
        raise EntryError(f"{file.name}: {explain(error)}") from None
    return CrawledPage(url=url, html_base64=body, content_type="text/html", **fields)


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
    """Checks that a path exists and suits the topic; ``-`` always does. Raises SourceError: with what to do."""
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

    Raises EntryError, ValidationError: the line has no event of the topic.
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


_OF_TRY = b'{"outcome":'
_OF_TAIL = b'{"topic":'  # The beginnings of the lines that these commands write. Other lines are not parsed here.


class LineEvent(NamedTuple):
    """An event of a line."""

    place: str
    # The event; Dead with the reason if it cannot be read; Drop for a line of ``assay try`` without an event of the
    # topic.
    event: Event | Dead | Drop
    value: bytes = b""  # the JSON that was read; the line for Drop
    identity: str = ""  # the event's id, or its place on the topic; "" if the line has neither

    @property
    def content_identity(self) -> str:
        """The identity, or a digest of the value, which does not depend on the order of its keys."""
        if self.identity:
            return self.identity
        document = json.loads(self.value)
        return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    @property
    def problem(self) -> str:
        """Why the line has no event of the topic; "" if it has one."""
        if isinstance(self.event, Dead):
            return f"{self.event.reason}: {self.event.detail}"
        return "the line of `assay try` has no event of this topic" if isinstance(self.event, Drop) else ""


def events_of(line: Line, topic: Topic) -> Iterator[LineEvent]:
    if line.content is None:
        yield LineEvent(line.place, too_long())
        return
    content = line.content.rstrip(b"\r\n")
    values = values_in(content, topic)
    for value, identity in values:
        yield LineEvent(line.place, decode(topic, value, (), None), value, identity)
    if not values:
        yield LineEvent(line.place, Drop(DropReason.NOTHING_TO_DO), content)


def read_pages(path: Path, topic: Topic, passed: Counter[str] | None = None) -> Iterator[LineEvent]:
    """The events of whatever ``assay publish`` takes for a topic; see ``read``. Raises SourceError."""
    for entry in read(path, topic, passed=passed):
        record = entry.record(topic)
        if isinstance(record, Refused):
            yield LineEvent(entry.place, Dead(DeadReason.INVALID, record.reason))
        elif record is not None:
            yield LineEvent(entry.place, decode(topic, record.value, record.headers, None))


def values_in(line: bytes, topic: Topic | None = None) -> list[tuple[bytes, str]]:
    """The JSON of the events in a line, each with its id or its place on a topic, or "".

    The line itself is the event unless ``assay tail --json`` or ``assay try`` has written it. Events of ``assay try``
    on other topics are left out, unless the topic is None.
    """
    if line.startswith((_OF_TRY, _OF_TAIL)):
        try:
            document = json.loads(line)
            if {"outcome", "reason", "events"} <= document.keys() <= {"outcome", "reason", "detail", "events"}:
                wanted = [event for event in document["events"] if topic is None or event["topic"] == topic.name]
                return [(json.dumps(event["value"]).encode(), "") for event in wanted]
            if {"topic", "offset", "value"} <= document.keys():
                place = f"{document['topic']}/{document.get('partition')}/{document['offset']}"
                identity = (document.get("headers") or {}).get("ce_id")
                return [(json.dumps(document["value"]).encode(), str(identity or place))]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
    return [(line, "")]
