"""All the sources of a publication in order, standard input among them, and the way back to where a run had been."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

from streams.backfill.position import Position, Tracker
from streams.entries import Entry, SourceError
from streams.sources import LARGEST_LINE, STANDARD_INPUT_PATH, Format, format_of, read_entries, read_event, size_of
from streams.standard_input import STANDARD_INPUT, read_lines
from streams.topology import Topic

_BREATH = 64
"""Entries that are passed over before others get a turn."""


class ChangedError(Exception):
    """The sources are not what the run read before; the message says which."""


class Walk:
    """Goes through the sources once.

    Attributes:
        tracker: Where the walk is.
        total: Bytes of all sources; None where that can't be known, as of a pipe.
        done: Bytes of them that were gone through.
    """

    def __init__(self, paths: Sequence[Path], topic: Topic, run: str | None, stated: Format | None) -> None:
        """Takes what ``streams.sources.read_source`` takes, for every path; ``-`` is standard input."""
        self._paths = paths
        self._topic = topic
        self._run = run
        self._stated = stated
        self._behind = 0
        self.tracker = Tracker()
        self.done = 0
        self.total = None if STANDARD_INPUT_PATH in paths else sum(map(size_of, paths))

    async def entries(self) -> AsyncIterator[Entry]:
        """Every entry of every source; those of files are read one at a time.

        Raises:
            SourceError: With what to do.
        """
        for source, path in enumerate(self._paths):
            async for entry in self._of(path):
                self.tracker.passed(source, entry.trace)
                self.done = self._behind + entry.end
                yield entry
            self._behind = self.done if path == STANDARD_INPUT_PATH else self._behind + size_of(path)

    async def pass_over(self, entries: AsyncIterator[Entry], target: Position, advance: Callable[[], None]) -> int:
        """Reads the entries that a run has dealt with.

        Args:
            entries: Those of this walk, from the beginning.
            target: Where the run is.
            advance: Called for each.

        Returns:
            How many they were.

        Raises:
            ChangedError: They are others than the run had.
            SourceError: As ``entries``.
        """
        passed = 0
        while not self.tracker.reached(target):
            if await anext(entries, None) is None:
                raise ChangedError(f"{self._named(target.source)} has fewer records than were read of it before")
            passed += 1
            advance()
            if passed % _BREATH == 0:
                await asyncio.sleep(0)
        found = self.tracker.at(target)
        if found == target:
            return passed
        if found.before != target.before:
            first = self._named(0)
            which = first if target.source == 1 else f"one of {first} … {self._named(target.source - 1)}"
        else:
            which = self._named(target.source)
        raise ChangedError(f"{which} has changed since it was read")

    def _named(self, source: int) -> str:
        return str(self._paths[source]) if source < len(self._paths) else f"source {source + 1}, not named now,"

    async def _of(self, path: Path) -> AsyncIterator[Entry]:
        if path != STANDARD_INPUT_PATH:
            for entry in read_entries(path, self._topic, self._run, self._stated):
                yield entry
            return
        number = end = 0
        written = format_of(path, self._stated)
        try:
            async for line in read_lines(STANDARD_INPUT, LARGEST_LINE):
                number += 1
                end += len(line or b"") + 1
                place = f"standard input:{number}"
                yield Entry(place, line or b"", end, partial(read_event, line, place, self._topic, self._run, written))
        except OSError as error:
            raise SourceError(f"standard input: {error.strerror}") from None
