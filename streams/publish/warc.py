"""Reads pages from web archives: WARC files, WACZ packages, and lists of WARC files such as ``warc.paths``.

A page is a response with an HTML type and a status from 200 to 299. Other records are counted and passed over, because
an archive also has images, redirects and requests. FastWARC reads the responses, and unpacks a payload into bounded
memory.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError
from streams.publish.lines import read_lines
from streams.publish.warc_records import HEAD_END, DamageError, Record, read_records

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

_WARCS = (".warc", ".warc.gz")
_PACKAGES = (".wacz",)
_LISTS = (".paths", ".paths.gz")
_HTML = ("text/html", "application/xhtml+xml")
_KINDS = frozenset(("warcinfo", "request", "resource", "metadata", "revisit", "conversion", "continuation"))
_LARGEST_BLOCK = MAX_PAGE_BYTES + 64 * 1024
"""Bytes of a response with its headers, packed as it was received; a larger one is refused unread."""


def is_archive(path: Path) -> bool:
    """Whether the name is that of an archive or of a list of archives."""
    return path.name.lower().endswith((*_WARCS, *_PACKAGES, *_LISTS))


def archive_size(path: Path) -> int:
    """The bytes of an archive, or of all archives of a list. Raises OSError and SourceError."""
    return sum(file.stat().st_size for file in _files(path))


def read_archive(path: Path, passed: Counter[str]) -> Iterator[Entry]:
    """An entry for each response and each damaged place of an archive, in its order.

    Args:
        path: An archive, a package or a list.
        passed: Counts the records that are no pages, by kind; those of responses, when their entries are read.

    Raises:
        SourceError: A listed archive is missing, or the package is not a ZIP file.
        OSError: An archive cannot be read.
        ModuleNotFoundError: FastWARC is not installed.
    """
    behind = 0
    for file in _files(path):
        with file.open("rb") as source:
            if file.name.lower().endswith(_PACKAGES):
                yield from _package(file, source, passed)
            else:
                yield from _responses(str(file), source, source, behind, passed)
        behind += file.stat().st_size


def _files(path: Path) -> list[Path]:
    """The archives of a path. A list names them relative to its folder, or they are beside it."""
    if not path.name.lower().endswith(_LISTS):
        return [path]
    files, folder = [], path.parent.resolve()
    for line in read_lines(path):
        name = (line.content or b"").decode("utf-8", "replace").strip()
        # Nothing outside of the folder is read, whatever the list names, and wherever a link leads.
        named = Path(name)
        inside = (part for part in named.parts if part not in (named.anchor, ".."))
        choices = (path.parent.joinpath(*inside), path.parent / named.name)
        found = next((file for file in choices if file.is_file() and file.resolve().is_relative_to(folder)), None)
        if found is None:
            raise SourceError(f"{path} names {name}, which is neither below {path.parent} nor in it: download it there")
        files.append(found)
    return files


def _package(file: Path, source: IO[bytes], passed: Counter[str]) -> Iterator[Entry]:
    try:
        package = zipfile.ZipFile(source)
    except zipfile.BadZipFile as error:
        raise SourceError(f"{file}: {error}") from None
    with package:
        members = [name for name in package.namelist() if name.lower().endswith(_WARCS)]
        if not members:
            raise SourceError(f"{file}: no WARC file is in it")
        for name in sorted(members):
            try:
                with package.open(name) as member:
                    vars(member)["_expected_crc"] = None  # a damaged record is found by its own check sum
                    yield from _responses(f"{file}/{name}", member, source, 0, passed)
            except (*UNREADABLE, zipfile.BadZipFile, RuntimeError) as error:  # damaged, encrypted, of an unknown method
                yield Entry(f"{file}/{name}", b"", source.tell(), partial(_refuse, str(error)))


def _responses(name: str, stream: IO[bytes], on_disk: IO[bytes], behind: int, passed: Counter[str]) -> Iterator[Entry]:
    try:
        for record in read_records(stream, _LARGEST_BLOCK):
            kind = record.fields.get("warc-type", "").lower()
            trace = f"{record.fields.get('warc-record-id')} {record.length}".encode("utf-8", "replace")
            event: Callable[[], CrawledPage | None] = partial(_page, record, passed)
            if record.damage or not kind:
                event = partial(_refuse, record.damage or "the record has no WARC-Type")
            elif kind != "response":
                passed[kind if kind in _KINDS else "unknown"] += 1
                continue
            yield Entry(f"{name}:{record.place}", trace, behind + on_disk.tell(), event)
    except DamageError as error:
        yield Entry(name, b"", behind + on_disk.tell(), partial(_refuse, str(error)))


def _refuse(why: str) -> NoReturn:
    raise EntryError(why)


def _page(record: Record, passed: Counter[str]) -> CrawledPage | None:
    """The page of a response; None for a response that is no page, which is counted."""
    if record.length > _LARGEST_BLOCK:
        raise EntryError(f"the response has {record.length} bytes, more than {_LARGEST_BLOCK}")
    response = _parsed(record.content)
    status = getattr(response.http_headers, "status_code", None)
    if not isinstance(status, int):
        raise EntryError("the record is not an HTTP response")
    if not 200 <= status < 300:
        passed["response with another status"] += 1
        return None
    if (response.http_content_type or "").lower() not in _HTML:
        passed["response without HTML"] += 1
        return None
    fields: dict[str, Any] = {
        "url": record.fields.get("warc-target-uri", "").strip("<>"),
        "html_base64": response.reader.read(MAX_PAGE_BYTES + 1),
        "content_type": response.http_headers.get("Content-Type"),
        "fetched_at": record.fields.get("warc-date"),
        "status": status,
    }
    return CrawledPage.model_validate(fields)


def _parsed(block: bytes) -> WarcRecord:
    """The response, unpacked. Some crawlers store it unpacked and keep the header that says how it was packed."""
    from fastwarc.warc import WarcRecord

    if (end := HEAD_END.search(block)) is not None:
        # FastWARC finds no fields behind bare line feeds.
        block = b"\r\n".join([*block[: end.start()].splitlines(), b"", block[end.end() :]])
    for decode in ("all", "transfer", "none"):
        response = WarcRecord()
        response.is_http = True
        response.set_bytes_content(block)
        try:
            response.parse_http(auto_decode=decode)
        except OSError:
            continue
        return response
    return WarcRecord()
