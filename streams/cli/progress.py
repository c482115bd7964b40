"""Progress of a command through offsets or a file: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from streams.cli.output import tell

_LINE_SECONDS = 5.0


@contextmanager
def offsets_progress(command: str, doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """Something to call with how many more records have been passed.

    Args:
        command: Whose lines they are, such as "replay".
        doing: What is done, such as "estimating".
        total: Offsets in all; records are a little fewer, for markers of transactions stand among them.
    """
    if not sys.stderr.isatty():
        yield _Lines(command, doing, total).advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=total or None)
        yield lambda count: progress.advance(task, count)


class _Lines:
    """A line on standard error every few seconds."""

    def __init__(self, command: str, doing: str, total: int) -> None:
        self._command = command
        self._doing = doing
        self._total = total
        self._done = 0
        self._next = time.monotonic() + _LINE_SECONDS

    def advance(self, count: int) -> None:
        self._done += count
        if (now := time.monotonic()) >= self._next:
            self._next = now + _LINE_SECONDS
            tell(self._command, f"{self._doing}: {self._done:,} of {self._total:,} records")


@contextmanager
def with_progress(source: BinaryIO, file: Path | None) -> Iterator[BinaryIO]:
    """The source, with a bar on standard error while it is read; none where that is no terminal or the end is unknown.

    Args:
        source: Open for reading.
        file: What it was opened from; None for standard input.
    """
    if file is None or not file.is_file() or not sys.stderr.isatty():
        yield source
        return
    from rich.console import Console
    from rich.progress import wrap_file

    total, console = file.stat().st_size, Console(stderr=True)
    with wrap_file(source, total, description=file.name, console=console, transient=True) as watched:
        yield watched
