"""Reads the records of WARC files, packed or not, and goes on behind damaged ones.

FastWARC ends at the first damaged record. Here a record counts when the check sum of its gzip member is right. Behind a
damaged member the reader goes on at the next member that begins with a record; behind a wrong header or length, and
behind anything between records, at the next ``WARC/1.x`` line.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

_VERSION = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n")
_VERSION_BYTES = 11
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_BLANK = re.compile(rb"[\r\n]*")
_GZIP = re.compile(rb"\x1f\x8b\x08")
_LARGEST_HEAD = 256 * 1024
_CHUNK = 64 * 1024
_WINDOW = 1024 * 1024
_OVERLAP = 4096
"""Bytes of a gzip member that show how its content begins."""


class Record(NamedTuple):
    """A record of an archive, or a damaged place.

    Attributes:
        place: Its offset in the file; behind ``+`` its unpacked offset in the gzip member at that offset.
        fields: The fields of the header; their names are in lower case.
        length: The bytes of the content.
        content: The content; empty if it is larger than the limit.
        damage: Why no record can be read here; "" for a record.
    """

    place: str
    fields: dict[str, str]
    length: int
    content: bytes
    damage: str = ""


class DamageError(Exception):
    """No record can be read; the message says why.

    Attributes:
        member: The offset of the damaged gzip member; None if the bytes could be unpacked.
    """

    def __init__(self, why: str, member: int | None = None) -> None:
        super().__init__(why)
        self.member = member


def read_records(stream: IO[bytes], limit: int) -> Iterator[Record]:
    """The records of an archive in its order, with one for each damaged place.

    Args:
        stream: The archive; it can seek.
        limit: The bytes of the largest content that is kept.

    Raises:
        DamageError: The archive is not empty, and no record begins in it.
        OSError: The archive cannot be read.
    """
    data = _Unpacked(stream)
    searching, lost = False, (0, 0)
    while True:
        start = None
        try:
            if not (data.find_version() if searching else data.pass_blank_lines()):
                return
            searching, start = False, data.place()
            yield _record(data, data.named(*start), limit)
        except DamageError as error:
            if start is not None or not searching or error.member != lost[0]:
                lost = start or (error.member or 0, 0)
                yield Record(data.named(*lost), {}, 0, b"", str(error))
            if error.member == lost[0]:
                searching = False
                if not data.go_to_member(lost[0] + 1):
                    return
            else:
                # What seemed to be in the record may be the next one.
                searching = True
                data.go_back(lost, in_memory=error.member is None)
                data.skip(1)


def _record(data: _Unpacked, place: str, limit: int) -> Record:
    while (end := _HEAD_END.search(data.held)) is None and len(data.held) < _LARGEST_HEAD and data.fill():
        pass
    if _VERSION.match(data.held) is None:
        raise DamageError("no record begins here")
    if end is None:
        raise DamageError("the header of the record has no end")
    fields = _fields(data.take(end.end()).decode("utf-8", "replace").rstrip())
    size = fields.get("content-length", "")
    if not size.isascii() or not size.isdecimal() or len(size) > 18:
        raise DamageError(f"the Content-Length of the record is {size[:40]!r}")
    length = int(size)
    content = data.take(length) if length <= limit else b""
    if missing := data.skip(length - len(content)):
        raise DamageError(f"the archive ends in the record: {length - missing} of {length} bytes are there")
    ends = data.take_blank_lines(4).count(b"\n")
    # This also checks the sum of the gzip member.
    data.load(_VERSION_BYTES)
    if data.held and ends < 2 and _VERSION.match(data.held) is None:
        raise DamageError(f"the record does not end after its Content-Length of {length} bytes")
    return Record(place, fields, length, content)


def _fields(head: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in head.split("\n")[1:]:
        name, _, value = line.partition(":")
        if line.startswith((" ", "\t")):
            fields[last] = f"{fields.get(last, '')} {line.strip()}"
        else:
            last = name.strip().lower()
            fields[last] = value.strip()
    return fields


class _Unpacked:
    """The bytes of an archive from a place on.

    A place is the offset of a gzip member and the number of its unpacked bytes before the place; in an archive that is
    not packed, 0 and the offset.

    Attributes:
        packed: Whether the archive consists of gzip members.
        held: The bytes that were read and not taken.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        head = stream.read(_WINDOW)
        sign, version = _GZIP.search(head), _VERSION.search(head)
        self.packed = sign is not None and (version is None or sign.start() < version.start())
        self.go_to(0, 0)
        if head and not (self.go_to_member(0) if self.packed else self.find_version()):
            raise DamageError("no WARC record begins in it")
        self.go_to(0, 0)

    def go_to(self, member: int, inner: int) -> None:
        """Goes to a place."""
        self._stream.seek(member if self.packed else inner)
        self._passed = 0 if self.packed else inner
        self._members = deque([(0, member)])
        self._inflate: Any = None
        self._size = _CHUNK
        self._raw = b""
        self._kept: list[bytes] | None = None
        self.held = bytearray()
        self.skip(inner if self.packed else 0)

    def go_back(self, place: tuple[int, int], *, in_memory: bool) -> None:
        """Goes to the place that ``place`` returned last, if possible without unpacking its member again."""
        if self._kept is None or not in_memory:
            self.go_to(*place)
        else:
            kept = b"".join(self._kept)
            self.held[:0] = kept
            self._passed -= len(kept)

    def go_to_member(self, offset: int) -> bool:
        """Goes to the next gzip member from an offset on that begins with a record; False if there is none."""
        while True:
            self._stream.seek(offset)
            window = self._stream.read(_WINDOW)
            for sign in _GZIP.finditer(window):
                if _begins_record(window[sign.start() : sign.start() + _OVERLAP]):
                    self.go_to(offset + sign.start(), 0)
                    return True
            if len(window) < _WINDOW:
                return False
            offset += _WINDOW - _OVERLAP

    def place(self) -> tuple[int, int]:
        """This place; what is taken from here on is kept."""
        self._kept = []
        while len(self._members) > 1 and self._members[1][0] <= self._passed:
            self._members.popleft()
        begun, member = self._members[0]
        return member, self._passed - begun

    def named(self, member: int, inner: int) -> str:
        return str(inner) if not self.packed else f"{member}+{inner}" if inner else str(member)

    def fill(self) -> bool:
        """Reads more bytes, perhaps none; False at the end. Raises DamageError."""
        if not self.packed:
            self.held += (block := self._stream.read(_CHUNK))
            return bool(block)
        if self._inflate is None:
            # Some writers fill up with zeros behind a member.
            while not (raw := self._raw.lstrip(b"\0")):
                if not (raw := self._stream.read(_CHUNK)):
                    return False
                self._raw = raw
            self._raw = raw if len(raw) >= _VERSION_BYTES else raw + self._stream.read(_CHUNK)
            self._members.append((self._passed + len(self.held), self._stream.tell() - len(self._raw)))
            if _GZIP.match(self._raw) is None:
                raise DamageError("no gzip member begins here", self._members[-1][1])
            self._inflate, self._size = zlib.decompressobj(31), _CHUNK
        raw, size, damage = self._raw or self._stream.read(_CHUNK), self._size, ""
        while True:
            trial = self._inflate.copy()
            try:
                block = trial.decompress(raw, size)
                break
            except zlib.error as error:
                damage = str(error)
            # The bytes before the damage are read; it is reached when no more of them can be.
            if not (size := size // 2):
                raise DamageError(f"the gzip member is damaged: {damage}", self._members[-1][1])
        if not raw and not block and not trial.eof:
            raise DamageError("the archive ends in the gzip member", self._members[-1][1])
        self._raw = trial.unconsumed_tail or trial.unused_data
        self._size = size
        self._inflate = None if trial.eof else trial
        self.held += block
        return True

    def load(self, count: int) -> None:
        """Reads until so many bytes are held, or to the end of the gzip member."""
        while len(self.held) < count and not (self.packed and self._inflate is None) and self.fill():
            pass

    def take(self, count: int) -> bytes:
        """The next bytes; fewer at the end."""
        while len(self.held) < count and self.fill():
            pass
        taken = bytes(self.held[:count])
        self._drop(len(taken))
        if self._kept is not None:
            self._kept.append(taken)
        return taken

    def skip(self, count: int) -> int:
        """Passes over bytes; returns how many were missing."""
        while count and (self.held or self.fill()):
            self._kept = None
            dropped = min(count, len(self.held))
            self._drop(dropped)
            count -= dropped
        return count

    def take_blank_lines(self, most: int) -> bytes:
        self.load(most)
        found = _BLANK.match(self.held, 0, most)
        return self.take(found.end() if found else 0)

    def pass_blank_lines(self) -> bool:
        """Passes over the blank lines of this place; False at the end."""
        while True:
            found = _BLANK.match(self.held)
            self._drop(found.end() if found else 0)
            if self.held or not self.fill():
                return bool(self.held)

    def find_version(self) -> bool:
        """Goes to the next line that begins a record; False if there is none."""
        while (found := _VERSION.search(self.held)) is None:
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
