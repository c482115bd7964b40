"""Reads the sources of ``assay publish``: makes their entries records, and reports and keeps refused entries."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from streams.cli.output import Refusals
from streams.cli.progress import ProgressLine
from streams.publish.entries import Entry, Refused, SourceError
from streams.publish.sources import STANDARD_INPUT_PATH, Format
from streams.publish.walk import Position, Walk
from streams.topology import Topic
from streams.topology.codec import OutputRecord

_REFUSAL = b'{"place": "'
"""The beginning of every line of a file of refused entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What is published, and how.

    Attributes:
        paths: Files and folders; ``-`` is standard input.
        run: The id of the backfill; None for live traffic.
        resume: The run must exist.
        stated: The format of lines; None derives it from the file's name.
        refused: A file for the refused entries, one JSON object a line.
        rate: Maximum records a second.
        config: The file of ``--config``, for the command that resumes the run.
        mode: "check" only validates; "estimate" also estimates the work of the handlers.
    """

    topic: Topic
    paths: Sequence[Path]
    run: str | None = None
    stated: Format | None = None
    refused: Path | None = None
    rate: float | None = None
    config: Path | None = None
    resume: bool = False
    mode: Literal["send", "check", "estimate"] = "send"
    as_json: bool = False


class Input:
    """The entries of a publication in order; counts and keeps the refused ones, and reports the first of them.

    Attributes:
        refusals: Entries of this call that were refused.
        kept: Bytes of the file of refused entries.
    """

    def __init__(self, asked: Publication) -> None:
        """Opens nothing yet."""
        self.asked = asked
        self.refusals = Refusals("publish")
        self.kept = 0
        self.walk = Walk(asked.paths, asked.topic, asked.run, asked.stated)
        self._entries = self.walk.entries()
        self._file: BinaryIO | None = None

    def progress(self, doing: str) -> ProgressLine:
        """Counts records, and takes the share and the time left from the bytes that were read."""
        return ProgressLine("publish", doing, self.walk.total, at=lambda: self.walk.done)

    async def resume(self, position: Position) -> int:
        """Skips to the position of a run; returns its entries up to there. Raises as ``Walk.pass_over``."""
        with self.progress("finding the place") as advance:
            passed = await self.walk.pass_over(self._entries, position, advance)
        self.kept = position.kept
        return passed

    async def records(self) -> AsyncIterator[OutputRecord | None]:
        """The record of each entry; None for a refused entry, which is in the file of refused entries by then.

        Raises:
            SourceError: With what to do.
        """
        self._open()
        try:
            async for entry in self._entries:
                await asyncio.sleep(0)  # lets Ctrl-C in, also if nothing else is awaited
                yield self._record(entry)
        finally:
            if self._file is not None:
                self._file.close()

    def tell_rest(self) -> None:
        """Reports how many more entries were refused than were reported one by one."""
        self.refusals.tell_rest("refused" if self.asked.refused else "refused; --refused FILE keeps them all")

    def _record(self, entry: Entry) -> OutputRecord | None:
        record = entry.read()
        if not isinstance(record, Refused):
            return record
        self.refusals.add(f"{record.place}: {record.reason}")
        if self._file is not None:
            with self._naming_the_file():
                self.kept += self._file.write(_kept(record))
        return None

    def _open(self) -> None:
        """Opens the file of refused entries, and cuts off what the run wrote to it after the position."""
        if self.asked.refused is None:
            return
        with self._naming_the_file():
            descriptor = os.open(self.asked.refused, os.O_WRONLY | os.O_CREAT, 0o644)
            self.kept = min(self.kept, os.fstat(descriptor).st_size)
            os.ftruncate(descriptor, self.kept)
            self._file = os.fdopen(descriptor, "wb", buffering=0)
            self._file.seek(self.kept)

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """Trouble with the file of refused entries is not trouble with Kafka."""
        try:
            yield
        except OSError as error:
            raise SourceError(f"--refused {self.asked.refused}: {error.strerror}") from None


def refusals_problem(asked: Publication) -> str | None:
    """Why the file of refused entries cannot be used: it would overwrite a source, or a file of the user.

    Raises:
        SourceError: The file cannot be read.
    """
    file = asked.refused
    if file is None:
        return None
    try:
        if any(_is_or_holds(path, file) for path in asked.paths if path != STANDARD_INPUT_PATH):
            return f"--refused {file} is one of the sources, or in one; name a file elsewhere"
        if file.is_dir():
            return f"--refused {file} is a folder; name a file in it"
        # Its name is no proof: the file may be a hard link to a source.
        if file.is_file() and file.stat().st_size and not _has_refusals(file):
            return f"--refused {file} contains something other than refused entries; name a new file"
    except OSError as error:
        raise SourceError(f"--refused {file}: {error.strerror}") from None
    return None


def _is_or_holds(path: Path, file: Path) -> bool:
    if path.is_dir():
        return file.resolve().is_relative_to(path.resolve())
    if file.exists() and path.exists():
        return path.samefile(file)
    return path.resolve() == file.resolve()


def _has_refusals(file: Path) -> bool:
    with file.open("rb") as lines:
        # A run that was killed may have written a part of a line.
        return _REFUSAL.startswith(lines.read(len(_REFUSAL)))


def _kept(refused: Refused) -> bytes:
    """A line of the file of refused entries."""
    told: dict[str, str] = {"place": refused.place, "reason": refused.reason}
    if refused.line is not None:
        line = refused.line.removesuffix(b"\n")
        try:
            told["line"] = line.decode()
        except UnicodeDecodeError:
            told["line_base64"] = base64.b64encode(line).decode()
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
