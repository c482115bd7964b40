"""What can be published: JSON lines, folders of pages, page lists; read one record at a time, whatever their size.

A path goes in; records ready to be sent come out, or for what can't be sent the place it stands and why.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from schemas.event import Envelope, Event, derive_id
from schemas.outcome import Dead
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.codec import OutputRecord, decode, encode, refusal
from streams.topology import TOPIC_BYTES, Topic

STANDARD_INPUT = Path("-")
_PAGE_LISTS = ("cases.jsonl", "cases.jsonl.gz")
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz")


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that was not published: where it stands (``file:line`` or a file), and why."""

    place: str
    reason: str


class SourceError(Exception):
    """A path that can't be read at all, or does not go with the topic."""


def read_source(path: Path, topic: Topic, run: str | None) -> Iterator[OutputRecord | Refused]:
    """The records of a path.

    Args:
        path: JSON lines (also gzipped), ``-`` for standard input, a folder with ``cases.jsonl[.gz]`` or such a file, or
            a folder of HTML files.
        topic: Where they go; only ``CrawledPage`` can be made of pages.
        run: Identity of the backfill, which goes into a header and into the records' ids.

    Raises:
        SourceError: With what to do.
    """
    try:
        if path == STANDARD_INPUT:
            yield from _json_lines(sys.stdin.buffer, "standard input", topic, run)
        elif path.is_dir() or path.name in _PAGE_LISTS:
            if not topic.raw_pages:
                raise SourceError(f"{path} holds pages, and {topic.name} does not take pages")
            yield from _pages(path, topic, run)
        else:
            with _opened(path) as file:
                yield from _json_lines(file, str(path), topic, run)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"{path}: {reason}") from None


def _json_lines(file: IO[bytes], name: str, topic: Topic, run: str | None) -> Iterator[OutputRecord | Refused]:
    number = 0
    while line := file.readline(TOPIC_BYTES + 1):
        number += 1
        place = f"{name}:{number}"
        if len(line) > TOPIC_BYTES and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.readline(TOPIC_BYTES)
            yield Refused(place, f"the line is longer than {TOPIC_BYTES} bytes")
        elif line.strip():
            event = decode(topic, line, (), None)
            yield (
                Refused(place, f"{event.reason}: {event.detail}")
                if isinstance(event, Dead)
                else _record(topic, event, run)
            )


def _pages(path: Path, topic: Topic, run: str | None) -> Iterator[OutputRecord | Refused]:
    listing = path if path.is_file() else next((path / name for name in _PAGE_LISTS if (path / name).is_file()), None)
    if listing is not None:
        with _opened(listing) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _case(line, f"{listing}:{number}", listing.parent, topic, run)
        return
    files = sorted(file for file in path.rglob("*") if file.name.lower().endswith(_PAGE_SUFFIXES))
    if not files:
        raise SourceError(f"{path}: no cases.jsonl and no .html files in it")
    for file_path in files:
        name = file_path.relative_to(path).as_posix()
        yield _page(file_path, f"https://file.invalid/{name}", str(file_path), {}, topic, run)


def _case(line: bytes, place: str, folder: Path, topic: Topic, run: str | None) -> OutputRecord | Refused:
    try:
        case = json.loads(line)
        name = case["file"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return Refused(place, f"no case with a file: {type(error).__name__}")
    file = (folder / str(name)).resolve()
    if not file.is_relative_to(folder.resolve()):
        return Refused(place, f"the file {name!r} is outside of the folder")
    url = str(case.get("url") or f"https://case.invalid/{case.get('id') or name}")
    return _page(file, url, place, case, topic, run)


def _page(
    file: Path, url: str, place: str, case: dict[str, Any], topic: Topic, run: str | None
) -> OutputRecord | Refused:
    try:
        with _opened(file) as opened:
            body = opened.read(MAX_PAGE_BYTES + 1)
    except (OSError, EOFError) as error:
        return Refused(place, f"{file.name}: {getattr(error, 'strerror', None) or error}")
    if len(body) > MAX_PAGE_BYTES:
        return Refused(place, f"{file.name} is larger than {MAX_PAGE_BYTES} bytes")
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
    return _record(topic, page, run)


def _record(topic: Topic, event: Event, run: str | None) -> OutputRecord:
    """The record of an event; the same event published twice has the same identity."""
    identity = derive_id("publish", topic.name, run or "", event.to_json())
    envelope = Envelope(
        id=identity,
        type=topic.name,
        source="assay/publish",
        time=datetime.now(UTC),
        correlation_id=identity,
        run=run,
    )
    return encode(topic, event, envelope)


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
