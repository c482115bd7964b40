"""Reads all sources of a publication in order, finds the position of an earlier run in them, and keeps refused entries.

A position is a few hundred bytes of text that Kafka stores with the records up to it. A run finds it by reading the
same entries and comparing digests, so it depends neither on file names nor on the compression of files.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from streams.publish.entries import STANDARD_INPUT_PATH, Entry, Refused, SourceError
from streams.publish.sources import Format, read, read_standard_input, size_of
from streams.topology import Topic

_DIGEST_CHARACTERS = 32


class Position(BaseModel):
    """The position of a run: everything before it is published or refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: int = Field(default=0, ge=0)  # the number of the source, from 0
    entries: int = Field(default=0, ge=0)  # those of that source before the position
    digest: str = ""  # the digest of the traces of those entries
    before: str = ""  # the digest of the digests of the sources before it; "" for the first source
    published: int = Field(default=0, ge=0)
    refused: int = Field(default=0, ge=0)
    kept: int = Field(default=0, ge=0)  # bytes of the file of refused entries

    def to_text(self) -> str:
        """Under 300 of the 4,096 characters that Kafka stores with an offset."""
        return self.model_dump_json()


def position_of(text: str) -> Position | None:
    """The position of a text that Kafka stored; None if the text is something else."""
    try:
        return Position.model_validate_json(text)
    except ValidationError:
        return None


class Tracker:
    def __init__(self) -> None:
        self._source = self._entries = 0
        self._digest = sha256()
        self._before = ""

    def passed(self, source: int, trace: bytes) -> None:
        """Adds an entry; its source is never one before those that were passed."""
        while self._source < source:
            self._before = sha256(f"{self._before}{self._shown}".encode()).hexdigest()[:_DIGEST_CHARACTERS]
            self._source, self._entries, self._digest = self._source + 1, 0, sha256()
        self._entries += 1
        self._digest.update(b"%d:%s" % (len(trace), trace))

    def reached(self, target: Position) -> bool:
        """Whether as many entries were passed as before the target; ``at`` tells whether they were the same."""
        return (self._source, self._entries) >= (target.source, target.entries)

    def at(self, counted: Position) -> Position:
        """The position reached, with the counts of another one; equal to that one if all entries were the same."""
        digest = self._shown if self._entries else ""
        place = {"source": self._source, "entries": self._entries, "digest": digest, "before": self._before}
        return counted.model_copy(update=place)

    @property
    def _shown(self) -> str:
        return self._digest.hexdigest()[:_DIGEST_CHARACTERS]


_YIELD_EVERY = 64  # the entries that are skipped before other tasks get a turn


class ChangedError(Exception):
    """The sources have changed since the run read them; the message says which."""


class Walk:
    """Reads the sources once."""

    def __init__(self, paths: Sequence[Path], topic: Topic, stated: Format | None) -> None:
        self._paths = paths
        self._topic = topic
        self._stated = stated
        self.tracker = Tracker()
        self.done = 0  # the bytes that were read
        self.passed: Counter[str] = Counter()  # the records of archives that are no pages, by kind
        # The bytes of all sources; None if standard input is among them.
        self.total = None if STANDARD_INPUT_PATH in paths else sum(map(size_of, paths))

    async def entries(self) -> AsyncIterator[Entry]:
        """Every entry of every source. Raises SourceError if a source cannot be read."""
        for source, path in enumerate(self._paths):
            piped, behind = path == STANDARD_INPUT_PATH, self.done
            async for entry in read_standard_input(self._topic, self._stated) if piped else self._of(path):
                self.tracker.passed(source, entry.trace)
                self.done = behind + entry.end
                yield entry
            if not piped:
                self.done = behind + size_of(path)

    async def pass_over(self, entries: AsyncIterator[Entry], target: Position, advance: Callable[[], None]) -> None:
        """Skips the entries of this walk before a position.

        Raises:
            ChangedError: They are not the entries that the run read.
            SourceError: A source cannot be read.
        """
        passed = 0
        while not self.tracker.reached(target):
            if await anext(entries, None) is None:
                raise ChangedError(f"{self._named(target.source)} has fewer records than were read of it before")
            passed += 1
            advance()
            if passed % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
        self.passed.clear()
        found = self.tracker.at(target)
        if found == target:
            return
        if found.before != target.before:
            first = self._named(0)
            which = first if target.source == 1 else f"one of {first} … {self._named(target.source - 1)}"
        else:
            which = self._named(target.source)
        raise ChangedError(f"{which} has changed since it was read")

    async def _of(self, path: Path) -> AsyncIterator[Entry]:
        for entry in read(path, self._topic, self._stated, self.passed):
            yield entry

    def _named(self, source: int) -> str:
        return str(self._paths[source]) if source < len(self._paths) else f"source {source + 1}, not named now,"


_BEGINNING = b'{"place": "'  # the beginning of every line


class RefusedFile:
    """Keeps refused entries; without a path it keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self.kept = 0  # bytes of the file that belong to the run; a resumed run sets it before the file is opened
        self._path = path
        self._file: BinaryIO | None = None

    def check(self, sources: Sequence[Path]) -> None:
        """Raises SourceError if the file would overwrite a source or a file of the user, or can't be read."""
        file = self._path
        if file is None:
            return
        with self._named():
            if any(_is_or_holds(path, file) for path in sources if path != STANDARD_INPUT_PATH):
                raise SourceError(f"--refused {file} is one of the sources, or in one; name a file elsewhere")
            if file.is_dir():
                raise SourceError(f"--refused {file} is a folder; name a file in it")
            # Its name is no proof: the file may be a hard link to a source.
            if file.is_file() and file.stat().st_size and not _has_refusals(file):
                raise SourceError(f"--refused {file} contains something other than refused entries; name a new file")

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Opens the file, and cuts off what the run wrote to it after its position. Raises SourceError."""
        if self._path is None:
            yield
            return
        with self._named():
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
            self.kept = min(self.kept, os.fstat(descriptor).st_size)
            os.ftruncate(descriptor, self.kept)
        with os.fdopen(descriptor, "wb", buffering=0) as self._file:
            self._file.seek(self.kept)
            yield

    def add(self, refused: Refused) -> None:
        if self._file is not None:
            with self._named():
                self.kept += self._file.write(_line(refused))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Trouble with this file is not trouble with Kafka."""
        try:
            yield
        except OSError as error:
            raise SourceError(f"--refused {self._path}: {error.strerror}") from None


def _is_or_holds(path: Path, file: Path) -> bool:
    if path.is_dir():
        return file.resolve().is_relative_to(path.resolve())
    return file.exists() and path.exists() and path.samefile(file)


def _has_refusals(file: Path) -> bool:
    with file.open("rb") as lines:
        # A run that was killed may have written a part of a line.
        return _BEGINNING.startswith(lines.read(len(_BEGINNING)))


def _line(refused: Refused) -> bytes:
    fields: dict[str, str] = {"place": refused.place, "reason": refused.reason}
    if refused.line is not None:
        line = refused.line.removesuffix(b"\n")
        try:
            fields["line"] = line.decode()
        except UnicodeDecodeError:
            fields["line_base64"] = base64.b64encode(line).decode()
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
