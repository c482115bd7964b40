"""Rows of an export on their way out: every one as it comes, or of each address the newest when all have come.

A file is there as a whole or not at all: it is written beside its place and moved there at the end.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from schemas.pages import ScoredPage
from streams.tsv import row_of


class FileError(Exception):
    """A file can't be read or written; the text says which and why."""


@contextlib.contextmanager
def written(output: Path | None) -> Iterator[BinaryIO]:
    """Something to write rows to. What was begun is taken away where the block is left by an exception.

    Args:
        output: A file, or a device or pipe that is there already; standard output where None.

    Raises:
        FileError: It can't be written.
        BrokenPipeError: Nobody reads standard output any more.
    """
    try:
        if output is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif output.exists() and not output.is_file():
            with output.open("wb") as target:
                yield target
        else:
            yield from _replaced(output.resolve())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{output or 'standard output'}: {error.strerror or error}") from None


def _replaced(output: Path) -> Iterator[BinaryIO]:
    part = output.with_name(f".{output.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)


class EveryRow:
    """A row for each page."""

    def __init__(self, target: BinaryIO) -> None:
        """Takes where rows go."""
        self._target = target
        self.count = 0

    def add(self, page: ScoredPage) -> None:
        """Writes the page's row."""
        self._target.write(row_of(page))
        self.count += 1

    def finish(self) -> None:
        """Nothing is held back."""


class NewestRows:
    """A row for each address: of the page that was fetched last, as in the index; of the later record among equals.

    Rows wait on the disk; in memory there are about 250 bytes for each address.
    """

    def __init__(self, target: BinaryIO) -> None:
        """Takes where rows go."""
        self._target = target
        self._waiting = TemporaryFile()  # noqa: SIM115 - it lives until finish
        self._newest: dict[bytes, tuple[float, int]] = {}
        self.count = 0

    def add(self, page: ScoredPage) -> None:
        """Keeps the page's row, unless a newer one of its address is known."""
        address = blake2b(page.url.encode("utf-8", "replace"), digest_size=16).digest()
        fetched = _seconds(page.fetched_at)
        known = self._newest.get(address)
        if known is None or fetched >= known[0]:
            self._newest[address] = fetched, self._waiting.tell()
            self._waiting.write(row_of(page))

    def finish(self) -> None:
        """Writes what is the newest, in the order in which it came."""
        with self._waiting as rows:
            for place in sorted(place for _, place in self._newest.values()):
                rows.seek(place)
                self._target.write(rows.readline())
        self.count = len(self._newest)


def _seconds(fetched_at: datetime | None) -> float:
    if fetched_at is None:
        return float("-inf")
    return (fetched_at if fetched_at.tzinfo else fetched_at.replace(tzinfo=UTC)).timestamp()
