"""Reads pages from web archives: WARC files, WACZ packages, and lists of WARC files such as ``warc.paths``.

A page is a response with an HTML type and a status from 200 to 299. Other records are counted and passed over, because
an archive also has images, redirects and requests. FastWARC reads the responses, and unpacks a payload into bounded
memory.

It ends at a damaged record, so records are found here: one counts when the check sum of its gzip member is right.
Behind a damaged member the reader goes on at the next member that begins with a record; behind anything else that is no
record, at the next ``WARC/1.x`` line.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

from schemas.pages import MAX_PAGE_BYTES, CrawledPage
from streams.publish.entries import UNREADABLE, Entry, EntryError, SourceError
from streams.publish.lines import read_lines

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord


HEAD_END = re.compile(rb"\r?\n\r?\n")
_VERSION = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n")
_VERSION_BYTES = 11
_RECORD_END = re.compile(rb"\r?\n\r?\n|[\r\n]{0,4}(?:\Z|WARC/[01]\.)")
_TEXT = re.compile(rb"[^\r\n]")
_GZIP = re.compile(rb"\x1f\x8b\x08")
_LARGEST_HEAD = 256 * 1024
_CHUNK = 64 * 1024
_OVERLAP = 4096  # bytes of a gzip member that show how its content begins


class Record(NamedTuple):
    """A record of an archive with its fields in lower case, or a damaged place; ``length`` is that of the content."""

    place: str  # the offset in the file; behind ``+`` the unpacked offset in the gzip member at that offset
    fields: dict[str, str]
    length: int = 0
    content: bytes = b""
    damage: str = ""  # why no record can be read here


class DamageError(Exception):
    """No record can be read; ``member`` is the offset of a gzip member that cannot be unpacked."""

    def __init__(self, why: str, member: int | None = None) -> None:
        super().__init__(why)
        self.member = member


def read_records(stream: IO[bytes], limit: int) -> Iterator[Record]:
    """The records of an archive that can seek, in its order, with one for each damaged place.

    Contents up to the limit in bytes are kept. Raises OSError, and DamageError if no record begins in the archive.
    """
    data = _Unpacked(stream)
    searching, lost = False, (0, 0)
    while True:
        start = None
        try:
            if not data.find(_VERSION if searching else _TEXT):
                return
            searching, start = False, data.place()
            yield _record(data, limit)._replace(place=data.named(start))
        except DamageError as error:
            if start is not None or not searching or error.member != lost[0]:
                lost = start or (error.member or 0, 0)
                yield Record(data.named(lost), {}, damage=str(error))
            # A record in the content of a damaged one is not read if records have members of their own.
            members = data.packed and (error.member == lost[0] or lost[1] == 0)
            searching = not (members and data.go_to_member(lost[0] + 1))
            if searching and error.member == lost[0]:
                return
            if searching:
                if members or error.member is not None or data.place() != lost:
                    data.go_to(lost)
                data.skip(1)


def _record(data: _Unpacked, limit: int) -> Record:
    while (head := HEAD_END.search(data.held)) is None and len(data.held) < _LARGEST_HEAD and data.fill():
        pass
    if _VERSION.match(data.held) is None:
        raise DamageError("no record begins here")
    if head is None:
        raise DamageError("the header of the record has no end")
    lines = data.held[: head.start()].decode("utf-8", "replace").split("\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = fields.get("content-length", "")
    if not size.isascii() or not size.isdecimal() or len(size) > 18:
        raise DamageError(f"the Content-Length of the record is {size[:40]!r}")
    length, end = int(size), head.end() + int(size)
    if length <= limit:
        data.load(end)
        content, missing = bytes(data.held[head.end() : end]), end - len(data.held)
    else:
        content, missing, end = b"", data.skip(end), 0
    if missing > 0:
        raise DamageError(f"the archive ends in the record: {length - missing} of {length} bytes are there")
    # To the end of the gzip member, so that its sum is checked.
    data.load(end + 4 + _VERSION_BYTES, beyond=False)
    if _RECORD_END.match(data.held, end) is None:
        raise DamageError(f"the record does not end after its Content-Length of {length} bytes")
    data.skip(end)
    return Record("", fields, length, content)


class _Unpacked:
    """The bytes of an archive from a place on; ``held`` are those that were read and not passed.

    A place is the offset of a gzip member and the number of its unpacked bytes before the place; in an archive that is
    not packed, 0 and the offset.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        head = stream.read(_CHUNK)
        sign, version = _GZIP.search(head), _VERSION.search(head)
        self.packed = version is None or (sign is not None and sign.start() < version.start())
        self.go_to((0, 0))
        if head and not (self.go_to_member(0) if self.packed else self.find(_VERSION)):
            raise DamageError("no WARC record begins in it")
        self.go_to((0, 0))

    def go_to(self, place: tuple[int, int]) -> None:
        member, inner = place
        self._stream.seek(member if self.packed else inner)
        self._passed = 0 if self.packed else inner
        self._members = deque([(0, member)])
        self._inflate: Any = None
        self._size = _CHUNK
        self._raw = b""
        self.held = bytearray()
        self.skip(inner if self.packed else 0)

    def go_to_member(self, offset: int) -> bool:
        """Goes to the next gzip member from an offset on that begins with a record; False without one."""
        while True:
            self._stream.seek(offset)
            window = self._stream.read(_CHUNK)
            for sign in _GZIP.finditer(window):
                if _begins_record(window[sign.start() : sign.start() + _OVERLAP]):
                    self.go_to((offset + sign.start(), 0))
                    return True
            if len(window) < _CHUNK:
                return False
            offset += _CHUNK - _OVERLAP

    def place(self) -> tuple[int, int]:
        while len(self._members) > 1 and self._members[1][0] <= self._passed:
            self._members.popleft()
        before, member = self._members[0]
        return member, self._passed - before

    def named(self, place: tuple[int, int]) -> str:
        member, inner = place
        return str(member + inner) if not self.packed or not inner else f"{member}+{inner}"

    def fill(self) -> bool:
        """Reads more bytes, perhaps none; False at the end. Raises DamageError."""
        if not self.packed:
            self.held += (block := self._stream.read(_CHUNK))
            return bool(block)
        if self._inflate is None:
            if len(self._raw) < _VERSION_BYTES:
                self._raw += self._stream.read(_CHUNK)
            if not self._raw:
                return False
            self._members.append((self._passed + len(self.held), self._stream.tell() - len(self._raw)))
            if _GZIP.match(self._raw) is None:
                raise DamageError("no gzip member begins here", self._members[-1][1])
            self._inflate, self._size = zlib.decompressobj(31), _CHUNK
        raw = self._raw or self._stream.read(_CHUNK)
        while True:
            inflate = self._inflate.copy()
            try:
                block = inflate.decompress(raw, self._size)
                break
            except zlib.error as error:
                # The bytes before the damage are read; it is reached when not one more can be.
                if self._size == 1:
                    raise DamageError(f"the gzip member is damaged: {error}", self._members[-1][1]) from None
                self._size //= 2
        if not raw and not block and not inflate.eof:
            raise DamageError("the archive ends in the gzip member", self._members[-1][1])
        self._raw = inflate.unconsumed_tail or inflate.unused_data
        self._inflate = None if inflate.eof else inflate
        self.held += block
        return True

    def load(self, count: int, *, beyond: bool = True) -> None:
        """Reads until so many bytes are held; only to the end of the gzip member unless ``beyond``."""
        while len(self.held) < count and (beyond or self._inflate or not self.packed) and self.fill():
            pass

    def skip(self, count: int) -> int:
        """Passes over bytes; returns how many were missing."""
        while count and (self.held or self.fill()):
            dropped = min(count, len(self.held))
            self._drop(dropped)
            count -= dropped
        return count

    def find(self, pattern: re.Pattern[bytes]) -> bool:
        """Goes to the next match of a pattern of a few bytes; False without one."""
        while (found := pattern.search(self.held)) is None:
            self._drop(max(0, len(self.held) - _VERSION_BYTES))
            if not self.fill():
                return False
        self._drop(found.start())
        return True

    def _drop(self, count: int) -> None:
        del self.held[:count]
        self._passed += count


def _begins_record(packed: bytes) -> bool:
    try:
        return zlib.decompressobj(31).decompress(packed, 5) == b"WARC/"
    except zlib.error:
        return False


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
