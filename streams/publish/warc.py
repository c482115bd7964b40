"""Reads pages from web archives: WARC files, WACZ packages, and lists of WARC files such as ``warc.paths``.

A page is a response with an HTML type and a status from 200 to 299. Other records are counted and passed over, because
an archive also has images, redirects and requests. FastWARC reads the responses, and unpacks a payload into bounded
memory.

It ends at a damaged record, so records are found here, in the mapped file: one counts when the check sum of its gzip
member is right. Behind a damaged member the reader goes on at the next member that begins with a record; behind
anything else that is no record, at the next ``WARC/1.x`` line.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError, read_lines

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord


HEAD_END = re.compile(rb"\r?\n\r?\n")
_VERSION = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n")
_RECORD_END = re.compile(rb"\r?\n\r?\n|[\r\n]{0,4}(?:\Z|WARC/[01]\.)")
_TEXT = re.compile(rb"[^\r\n]")
_GZIP = re.compile(rb"\x1f\x8b\x08")
_LARGEST_HEAD = 256 * 1024
_CHUNK = 64 * 1024
_BEGINNING = 4096  # bytes of a gzip member that show how its content begins
_IN_MEMORY = 32 * 1024 * 1024  # the largest content of a gzip member that is not unpacked to a temporary file

Content = bytes | bytearray | mmap


class Record(NamedTuple):
    """A record of an archive with its fields in lower case, or a damaged place; ``length`` is that of the content."""

    place: str  # the offset in the file; behind ``+`` the unpacked offset in the gzip member at that offset
    fields: dict[str, str]
    length: int = 0
    content: bytes = b""
    damage: str = ""  # why no record can be read here
    end: int = 0  # the offset in the file behind it


class DamageError(Exception):
    """No record can be read."""


def read_records(file: IO[bytes], limit: int) -> Iterator[Record]:
    """The records of an archive on the disk, in its order, with one for each damaged place.

    Contents up to the limit in bytes are kept. Raises OSError, and DamageError if no record begins in the archive.
    """
    if not os.fstat(file.fileno()).st_size:
        return
    data = mmap(file.fileno(), 0, access=ACCESS_READ)
    sign, version = _GZIP.search(data, 0, _CHUNK), _VERSION.search(data)
    is_packed = sign is not None and (version is None or sign.start() < version.start())
    if (_next_member(data, 0) if is_packed else version) is None:
        raise DamageError("no WARC record begins in it")
    if not is_packed:
        yield from (record._replace(end=int(record.place)) for record in _records(data, limit))
        return
    at: int | None = 0
    while at is not None and at < len(data):
        if _GZIP.match(data, at) is None:
            yield Record(str(at), {}, damage="no gzip member begins here", end=at)
            at = _next_member(data, at + 1)
            continue
        content, end, problem = _unpacked(data, at)
        for record in _records(content, limit, problem):
            yield record._replace(place=f"{at}+{record.place}" if record.place != "0" else str(at), end=end)
            if record.damage and record.place == "0":
                break  # a record in the content of a damaged one is not read
        at = _next_member(data, at + 1) if problem else end


def _records(data: Content, limit: int, problem: str = "") -> Iterator[Record]:
    """The records of a content, at their offsets in it; ``problem`` says why it ends too early."""
    at = 0
    while (text := _TEXT.search(data, at)) is not None:
        at = text.start()
        try:
            record, end = _record(data, at, limit)
        except DamageError as error:
            damage = str(error)
        else:
            # The check sum of a gzip member is that of its last record too.
            damage = problem if _VERSION.match(data, end) is None else ""
        if damage:
            yield Record(str(at), {}, damage=damage)
            end = found.start() if (found := _VERSION.search(data, at + 1)) else len(data)
        else:
            yield record
        at = end


def _record(data: Content, at: int, limit: int) -> tuple[Record, int]:
    """The record at an offset, and the offset behind its end. Raises DamageError."""
    if _VERSION.match(data, at) is None:
        raise DamageError("no record begins here")
    if (head := HEAD_END.search(data, at, at + _LARGEST_HEAD)) is None:
        raise DamageError("the header of the record has no end")
    lines = data[at : head.start()].decode("utf-8", "replace").split("\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = fields.get("content-length", "")
    if not size.isascii() or not size.isdecimal() or len(size) > 18:
        raise DamageError(f"the Content-Length of the record is {size[:40]!r}")
    length, end = int(size), head.end() + int(size)
    if end > len(data):
        raise DamageError(f"the archive ends in the record: {len(data) - head.end()} of {length} bytes are there")
    if (behind := _RECORD_END.match(data, end)) is None:
        raise DamageError(f"the record does not end after its Content-Length of {length} bytes")
    content = bytes(data[head.end() : end]) if length <= limit else b""
    return Record(str(at), fields, length, content), behind.end() if behind[0].isspace() else end


def _next_member(data: Content, at: int) -> int | None:
    """The offset of the next gzip member that begins with a record."""
    signs = (sign.start() for sign in _GZIP.finditer(data, at))
    return next((sign for sign in signs if _begins_record(data[sign : sign + _BEGINNING])), None)


def _begins_record(packed: bytes | bytearray) -> bool:
    try:
        return zlib.decompressobj(31).decompress(packed, 5) == b"WARC/"
    except zlib.error:
        return False


def _unpacked(data: Content, at: int) -> tuple[Content, int, str]:
    """The content of a gzip member, the offset behind it, and why it ends too early; "" if it does not."""
    inflate, held, file, problem = zlib.decompressobj(31), bytearray(), None, ""
    while not inflate.eof and not problem:
        if not (raw := data[at : at + _CHUNK]):
            problem = "the archive ends in the gzip member"
            break
        before = inflate.copy()
        try:
            held += inflate.decompress(raw)
        except zlib.error as error:
            problem = f"the gzip member is damaged: {error}"
            with suppress(zlib.error):  # what is before the damage counts
                for place in range(len(raw)):
                    held += before.decompress(raw[place : place + 1])
        at += len(raw) - len(inflate.unused_data)
        if len(held) > _IN_MEMORY:
            file = file or TemporaryFile()  # noqa: SIM115 - its mapping outlives this function
            file.write(held)
            held.clear()
    if file is None:
        return held, at, problem
    with file:
        file.write(held)
        file.flush()
        return mmap(file.fileno(), 0, access=ACCESS_READ), at, problem


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
                entries = _package(file, source, passed)
            else:
                entries = _responses(str(file), source, passed)
            for entry in entries:
                yield entry._replace(end=behind + entry.end)
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
                with package.open(name) as member, TemporaryFile() as copy:
                    vars(member)["_expected_crc"] = None  # a damaged record is found by its own check sum
                    shutil.copyfileobj(member, copy)
                    copy.flush()
                    end = source.tell()
                    yield from (entry._replace(end=end) for entry in _responses(f"{file}/{name}", copy, passed))
            except (*UNREADABLE, zipfile.BadZipFile, RuntimeError) as error:  # damaged, encrypted, of an unknown method
                yield Entry(f"{file}/{name}", b"", source.tell(), partial(_refuse, str(error)))


def _responses(name: str, file: IO[bytes], passed: Counter[str]) -> Iterator[Entry]:
    try:
        for record in read_records(file, _LARGEST_BLOCK):
            kind = record.fields.get("warc-type", "").lower()
            trace = f"{record.fields.get('warc-record-id')} {record.length}".encode("utf-8", "replace")
            event: Callable[[], CrawledPage | None] = partial(_page, record, passed)
            if record.damage or not kind:
                event = partial(_refuse, record.damage or "the record has no WARC-Type")
            elif kind != "response":
                passed[kind if kind in _KINDS else "unknown"] += 1
                continue
            yield Entry(f"{name}:{record.place}", trace, record.end, event)
    except DamageError as error:
        yield Entry(name, b"", 0, partial(_refuse, str(error)))


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
