"""Reads all sources of a publication in order, and finds the position of an earlier run in them.

A position is a few hundred bytes of text that Kafka stores with the records up to it. A run finds it by reading the
same entries and comparing digests, so it depends neither on file names nor on the compression of files.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from streams.publish.entries import Entry
from streams.publish.lines import STANDARD_INPUT_PATH
from streams.publish.sources import Format, read, read_standard_input, size_of
from streams.topology import Topic

_DIGEST_CHARACTERS = 32


class Position(BaseModel):
    """The position of a run: everything before it is published or refused.

    Attributes:
        source: The number of the source, from 0.
        entries: The entries of that source before the position.
        digest: The digest of the traces of those entries.
        before: The digest of the digests of the sources before it; "" for the first source.
        published: Records of the run on the topic.
        refused: Refused entries.
        kept: Bytes of the file of refused entries.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: int = Field(default=0, ge=0)
    entries: int = Field(default=0, ge=0)
    digest: str = ""
    before: str = ""
    published: int = Field(default=0, ge=0)
    refused: int = Field(default=0, ge=0)
    kept: int = Field(default=0, ge=0)

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
    """Counts and digests the entries of the sources."""

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


_YIELD_EVERY = 64
"""The entries that are skipped before other tasks get a turn."""


class ChangedError(Exception):
    """The sources have changed since the run read them; the message says which."""


class Walk:
    """Reads the sources once.

    Attributes:
        tracker: The position.
        total: The bytes of all sources; None if standard input is among them.
        done: The bytes that were read.
        passed: The records of archives that are no pages, by kind.
    """

    def __init__(self, paths: Sequence[Path], topic: Topic, stated: Format | None) -> None:
        self._paths = paths
        self._topic = topic
        self._stated = stated
        self.tracker = Tracker()
        self.done = 0
        self.passed: Counter[str] = Counter()
        self.total = None if STANDARD_INPUT_PATH in paths else sum(map(size_of, paths))

    async def entries(self) -> AsyncIterator[Entry]:
        """Every entry of every source.

        Raises:
            SourceError: A source cannot be read.
        """
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
