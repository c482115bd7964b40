"""Reads sources one entry at a time: JSON lines, TSV, web archives, folders of pages, page lists, and standard input.

The entries of a path always have the same order. Nothing outside of the named paths is read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from handlers.html.links import is_public_suffix, registered_domain
from schemas.addresses import web_address
from schemas.event import Event
from schemas.outcome import Dead
from schemas.pages import GONE_STATUS, MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError, explain, opened
from streams.publish.lines import STANDARD_INPUT, STANDARD_INPUT_PATH, Line, read_lines, read_piped_lines, too_long
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
