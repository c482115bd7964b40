"""What ``assay publish`` was given: its entries as records, and what becomes of those that are none."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from streams.cli.output import tell
from streams.cli.publish_progress import publish_progress
from streams.codec import OutputRecord
from streams.publish.entries import Entry, Refused, SourceError
from streams.publish.sources import STANDARD_INPUT_PATH, Format
from streams.publish.walk import Position, Walk
from streams.topology import Topic

SHOWN_REFUSALS = 20
_REFUSAL = b'{"place": "'
"""How every line of a file of refused entries begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What is asked for.

    Attributes:
        topic: Where the records go.
        paths: What is read; ``-`` is standard input.
        run: Identity of the backfill; None for live traffic.
        stated: How lines are written; None: as a file's name says.
        refused: A file in which all that is refused is kept.
        rate: Records a second at most.
        config: The file that the settings were read from; None for the shipped ones.
    """

    topic: Topic
    paths: Sequence[Path]
    run: str | None = None
    stated: Format | None = None
    refused: Path | None = None
    rate: float | None = None
    config: Path | None = None


class Input:
    """The entries of a publication in order. What is refused is counted and kept, and the first of it told.

    Attributes:
        refused: Entries of this call that were refused.
        kept: Bytes of the file of refused entries.
    """

    def __init__(self, asked: Publication) -> None:
        """Opens nothing yet."""
        self.asked = asked
        self.refused = 0
        self.kept = 0
        self.walk = Walk(asked.paths, asked.topic, asked.run, asked.stated)
        self._entries = self.walk.entries()
        self._file: BinaryIO | None = None

    async def resume(self, position: Position) -> int:
        """Goes to where a run had been. Returns its entries up to there; raises as ``Walk.pass_over``."""
        with publish_progress("finding the place", self.walk) as advance:
            passed = await self.walk.pass_over(self._entries, position, advance)
        self.kept = position.kept
        return passed

    async def records(self) -> AsyncIterator[OutputRecord | None]:
        """The record of each entry; None for one that is none. What was refused is in its file by then.

        Raises:
            SourceError: With what to do.
        """
        self._open()
        try:
            async for entry in self._entries:
                await asyncio.sleep(0)  # lets Ctrl-C in, also where nothing else is waited for
                yield self._record(entry)
        finally:
            if self._file is not None:
                self._file.close()

    def tell_rest(self) -> None:
        """Says how many more were refused than were told."""
        if self.refused > SHOWN_REFUSALS:
            where = "" if self.asked.refused else "; --refused FILE keeps them all"
            tell("publish", f"and {self.refused - SHOWN_REFUSALS} more refused{where}")

    def _record(self, entry: Entry) -> OutputRecord | None:
        record = entry.read()
        if not isinstance(record, Refused):
            return record
        self.refused += 1
        if self.refused <= SHOWN_REFUSALS:
            tell("publish", f"{record.place}: {record.reason}")
        if self._file is not None:
            self.kept += self._file.write(_kept(record))
        return None

    def _open(self) -> None:
        """Opens the file of refused entries where the position knows it to end; what stands behind is written again."""
        if self.asked.refused is None:
            return
        descriptor = os.open(self.asked.refused, os.O_WRONLY | os.O_CREAT, 0o644)
        self.kept = min(self.kept, os.fstat(descriptor).st_size)
        os.ftruncate(descriptor, self.kept)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._file.seek(self.kept)


def refusals_problem(asked: Publication) -> str | None:
    """Why the file of refused entries can't be written: it would end what is to be published, or what somebody keeps.

    Raises:
        SourceError: It can't be looked at.
    """
    file = asked.refused
    if file is None:
        return None
    try:
        if any(_is_or_holds(path, file) for path in asked.paths if path != STANDARD_INPUT_PATH):
            return f"--refused {file} would write over what is to be published, or among it; name a file elsewhere"
        if file.is_dir():
            return f"--refused {file} is a folder; name a file in it"
        # By its contents: a hard link into a folder that is published has a name elsewhere.
        if file.is_file() and file.stat().st_size and not _has_refusals(file):
            return f"--refused {file} has something else in it than what was refused; name a new file"
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
        # A run that was killed may have left less than that.
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
