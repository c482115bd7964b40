"""Reads pages from web archives: WARC files, WACZ packages, and lists of WARC files such as ``warc.paths``.

A page is a response with an HTML type and a status from 200 to 299. Other records are passed over, because an archive
also has images, redirects and requests. FastWARC reads the records; a payload is unpacked into bounded memory.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import Entry, EntryError, SourceError, opened

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

_WARCS = (".warc", ".warc.gz")
_PACKAGES = (".wacz",)
_LISTS = (".paths", ".paths.gz")
_HTML = ("text/html", "application/xhtml+xml")
_LARGEST_BLOCK = MAX_PAGE_BYTES + 64 * 1024
"""Bytes of a response with its headers, packed as it was received; a larger one is refused unread."""


def is_archive(path: Path) -> bool:
    """Whether the name is that of an archive or of a list of archives."""
    return path.name.lower().endswith((*_WARCS, *_PACKAGES, *_LISTS))


def archive_size(path: Path) -> int:
    """The bytes of an archive, or of all archives of a list. Raises OSError and SourceError."""
    return sum(file.stat().st_size for file in _files(path))


def read_archive(path: Path) -> Iterator[Entry]:
    """An entry for each response of an archive, in its order.

    Raises:
        SourceError: A listed archive is missing, or the package is not a ZIP file.
        OSError: An archive cannot be read, or is damaged.
        ModuleNotFoundError: FastWARC is not installed.
    """
    behind = 0
    for file in _files(path):
        with file.open("rb") as source:
            if file.name.lower().endswith(_PACKAGES):
                yield from _package(file, source)
            else:
                yield from _responses(str(file), source, source, behind)
        behind += file.stat().st_size


def _files(path: Path) -> list[Path]:
    """The archives of a path. A list names them relative to its folder, or they are beside it."""
    if not path.name.lower().endswith(_LISTS):
        return [path]
    with opened(path) as listing:
        text = listing.read()
    files, folder = [], path.parent.resolve()
    for name in filter(None, map(str.strip, text.decode("utf-8", "replace").splitlines())):
        # Nothing outside of the folder is read, whatever the list names, and wherever a link leads.
        named = Path(name)
        inside = (part for part in named.parts if part not in (named.anchor, ".."))
        choices = (path.parent.joinpath(*inside), path.parent / named.name)
        found = next((file for file in choices if file.is_file() and file.resolve().is_relative_to(folder)), None)
        if found is None:
            raise SourceError(f"{path} names {name}, which is neither below {path.parent} nor in it: download it there")
        files.append(found)
    return files


def _package(file: Path, source: IO[bytes]) -> Iterator[Entry]:
    try:
        package = zipfile.ZipFile(source)
    except zipfile.BadZipFile as error:
        raise SourceError(f"{file}: {error}") from None
    with package:
        members = [name for name in package.namelist() if name.lower().endswith(_WARCS)]
        if not members:
            raise SourceError(f"{file}: no WARC file is in it")
        for name in sorted(members):
            with package.open(name) as member:
                yield from _responses(f"{file}/{name}", member, source, 0)


def _responses(place: str, stream: IO[bytes], on_disk: IO[bytes], behind: int) -> Iterator[Entry]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=False):
        where = f"{place}:{record.stream_pos}"
        trace = f"{record.record_id} {record.content_length}".encode()
        # A record can only be read before the next one.
        block = b"" if record.content_length > _LARGEST_BLOCK else record.reader.read()
        event = partial(_page, record.content_length, block, dict(record.headers))
        yield Entry(where, trace, behind + on_disk.tell(), event)


def _page(length: int, block: bytes, headers: dict[str, str]) -> CrawledPage | None:
    """The page of a response; None for a response that is no page."""
    if length > _LARGEST_BLOCK:
        raise EntryError(f"the response has {length} bytes, more than {_LARGEST_BLOCK}")
    if len(block) < length:
        raise EntryError(f"the archive ends in the record: {len(block)} of {length} bytes are there")
    response = _parsed(block)
    status = getattr(response.http_headers, "status_code", None)
    if not isinstance(status, int):
        raise EntryError("the record is not an HTTP response")
    if not 200 <= status < 300 or (response.http_content_type or "").lower() not in _HTML:
        return None
    fields: dict[str, Any] = {
        "url": headers.get("WARC-Target-URI", "").strip("<>"),
        "html_base64": response.reader.read(MAX_PAGE_BYTES + 1),
        "content_type": response.http_headers.get("Content-Type"),
        "fetched_at": headers.get("WARC-Date"),
        "status": status,
    }
    return CrawledPage.model_validate(fields)


def _parsed(block: bytes) -> WarcRecord:
    """The response, unpacked. Some crawlers store it unpacked and keep the header that says how it was packed."""
    from fastwarc.warc import WarcRecord

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
