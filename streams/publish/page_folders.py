"""Reads pages from files: a folder with a list of its pages (``cases.jsonl``), or any folder of HTML files.

Nothing outside of the folder is read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from handlers.html.links import is_public_suffix, registered_domain
from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError, explain, opened
from streams.publish.lines import Line
from streams.topology.codec import without_half_pairs

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
