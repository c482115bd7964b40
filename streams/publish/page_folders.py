"""Reads pages from files: a folder with a list of its pages (``cases.jsonl``), or any folder of HTML files.

Nothing outside of the folder is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, Refused, SourceError, explain, opened, record_of
from streams.topology import Topic
from streams.topology.codec import OutputRecord, refusal

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


def read_folder(path: Path, topic: Topic, run: str | None) -> Iterator[Entry]:
    """An entry for each HTML file below a folder, or for one file; its address is its name.

    Raises:
        SourceError: The folder has no HTML files.
    """
    files = page_files(path)
    if not files:
        raise SourceError(f"{path}: no cases.jsonl and no .html files in it")
    folder, end = path.resolve(), 0
    for file in files:
        name = os.fsencode(file.name if file == path else file.relative_to(path).as_posix())
        size = _size(file)
        end += size
        url = "https://file.invalid/" + quote(name)
        trace = b"%s\0%d" % (name, size)
        read: Callable[[], OutputRecord | Refused] = partial(_page, file, url, str(file), {}, topic, run, None)
        if not Path(os.path.realpath(file)).is_relative_to(folder):
            read = partial(Refused, str(file), f"the file {file.name!r} is outside of the folder")
        yield Entry(str(file), trace, end, read)


def read_case(line: bytes | None, end: int, place: str, folder: Path, topic: Topic, run: str | None) -> Entry:
    """The entry of one line of the page list of a folder; the line is None if it was too long."""
    found = _case(line, place, folder)
    if isinstance(found, Refused):
        return Entry(place, line or b"", end, lambda: found)
    case, file, url = found
    trace = b"%s\0%d" % (line, _size(file))
    return Entry(place, trace, end, partial(_page, file, url, place, case, topic, run, line))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return -1


def _case(line: bytes | None, place: str, folder: Path) -> tuple[dict[str, Any], Path, str] | Refused:
    try:
        case = json.loads(line or b"")
        name = str(case["file"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        return Refused(place, f"no case with a file: {type(error).__name__}", line)
    try:
        file = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        return Refused(place, f"the file {name!r} can't be found: {error}", line)
    if not file.is_relative_to(folder):
        return Refused(place, f"the file {name!r} is outside of the folder", line)
    url = str(case.get("url") or f"https://case.invalid/{case.get('id') or quote(name, errors='replace')}")
    return case, file, url


def _page(
    file: Path, url: str, place: str, case: dict[str, Any], topic: Topic, run: str | None, line: bytes | None
) -> OutputRecord | Refused:
    try:
        if not file.is_file():
            return Refused(place, f"{file.name} is not a file", line)
        with opened(file) as page_file:
            body = page_file.read(MAX_PAGE_BYTES + 1)
    except UNREADABLE as error:
        return Refused(place, f"{file.name}: {explain(error)}", line)
    try:
        page = CrawledPage(
            url=url,
            html_base64=body,
            content_type="text/html",
            fetched_at=case.get("fetched_at"),
            site_name=case.get("site_name") if isinstance(case.get("site_name"), str) else None,
        )
    except ValidationError as error:
        return Refused(place, refusal(error).detail, line)
    return record_of(topic, page, place, run, line)
