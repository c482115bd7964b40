"""What can be published: JSON lines, TSV, folders of pages, page lists; read one record at a time, whatever their size.

A path goes in; records ready to be sent come out, or for what can't be sent the place it stands and why. Nothing
is read outside of the paths that were named.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import quote

from pydantic import ValidationError

from schemas.event import Envelope, Event, derive_id
from schemas.outcome import Dead
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.codec import OutputRecord, decode, encode, refusal
from streams.topology import TOPIC_BYTES, Topic
from streams.tsv import BadRow, read_row

Format = Literal["jsonl", "tsv"]
"""How a file of lines is written."""
LARGEST_LINE = TOPIC_BYTES
"""Bytes of a line that is read; no topic takes more."""
_LARGEST_RECORD = TOPIC_BYTES - 64 * 1024
"""Leaves room for what a batch adds and for what compression can add at worst, so that the topic takes it."""
STANDARD_INPUT_PATH = Path("-")
_PAGE_LISTS = ("cases.jsonl", "cases.jsonl.gz")
_TSV_SUFFIXES = (".tsv", ".tsv.gz")
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz")
_UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file, plain or gzipped, may raise."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that was not published: where it stands (``file:line`` or a file), and why."""

    place: str
    reason: str


class SourceError(Exception):
    """A path that can't be read at all, or does not go with the topic."""


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
    check_source(path, topic, stated)
    try:
        if _holds_pages(path):
            yield from _pages(path, topic, run)
        else:
            yield from _events(path, topic, run, format_of(path, stated))
    except _UNREADABLE as error:
        raise SourceError(f"{path}: {_explain(error)}") from None


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
            return Refused(place, page.reason)
        return None if page is None else _record(topic, page, place, run)
    if not line.strip():
        return None
    event = decode(topic, line, (), None)
    if isinstance(event, Dead):
        return Refused(place, f"{event.reason}: {event.detail}")
    return _record(topic, event, place, run)


def _events(path: Path, topic: Topic, run: str | None, written: Format) -> Iterator[OutputRecord | Refused]:
    with _opened(path) as file:
        for number, line in _lines(file):
            if (record := read_event(line, f"{path}:{number}", topic, run, written)) is not None:
                yield record


def _pages(path: Path, topic: Topic, run: str | None) -> Iterator[OutputRecord | Refused]:
    listing = path if path.is_file() else next((path / name for name in _PAGE_LISTS if (path / name).is_file()), None)
    if listing is not None:
        folder = listing.parent.resolve()
        with _opened(listing) as file:
            for number, line in _lines(file):
                if line is None or line.strip():
                    yield _case(line, f"{listing}:{number}", folder, topic, run)
        return
    files = sorted(file for file in path.rglob("*") if file.name.lower().endswith(_PAGE_SUFFIXES))
    if not files:
        raise SourceError(f"{path}: no cases.jsonl and no .html files in it")
    for file_path in files:
        url = "https://file.invalid/" + quote(os.fsencode(file_path.relative_to(path).as_posix()))
        yield _page(file_path, url, str(file_path), {}, topic, run)


def _case(line: bytes | None, place: str, folder: Path, topic: Topic, run: str | None) -> OutputRecord | Refused:
    try:
        case = json.loads(line or b"")
        name = str(case["file"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        return Refused(place, f"no case with a file: {type(error).__name__}")
    try:
        file = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        return Refused(place, f"the file {name!r} can't be found: {error}")
    if not file.is_relative_to(folder):
        return Refused(place, f"the file {name!r} is outside of the folder")
    url = str(case.get("url") or f"https://case.invalid/{case.get('id') or quote(name, errors='replace')}")
    return _page(file, url, place, case, topic, run)


def _page(
    file: Path, url: str, place: str, case: dict[str, Any], topic: Topic, run: str | None
) -> OutputRecord | Refused:
    try:
        if not file.is_file():
            return Refused(place, f"{file.name} is no file")
        with _opened(file) as opened:
            body = opened.read(MAX_PAGE_BYTES + 1)
    except _UNREADABLE as error:
        return Refused(place, f"{file.name}: {_explain(error)}")
    try:
        page = CrawledPage(
            url=url,
            html_base64=body,
            content_type="text/html",
            fetched_at=case.get("fetched_at"),
            site_name=case.get("site_name") if isinstance(case.get("site_name"), str) else None,
        )
    except ValidationError as error:
        return Refused(place, refusal(error).detail)
    return _record(topic, page, place, run)


def _record(topic: Topic, event: Event, place: str, run: str | None) -> OutputRecord | Refused:
    """The record of an event; the same event published twice has the same identity."""
    if isinstance(event, CrawledPage) and _page_bytes(event) > MAX_PAGE_BYTES:
        return Refused(place, f"the page is larger than {MAX_PAGE_BYTES} bytes")
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
        return Refused(place, f"the record is {record.size} bytes, {_LARGEST_RECORD} at most")
    return record


def _page_bytes(page: CrawledPage) -> int:
    body = page.body
    return len(body) if isinstance(body, bytes) else len(body.encode())


def _holds_pages(path: Path) -> bool:
    return path.is_dir() or path.name in _PAGE_LISTS


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; None for one that is too long, which is passed over without being held."""
    number = 0
    while line := file.readline(LARGEST_LINE + 1):
        number += 1
        if len(line) <= LARGEST_LINE or line.endswith(b"\n"):
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LARGEST_LINE)
        yield number, None


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _explain(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
