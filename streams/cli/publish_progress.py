"""How far ``assay publish`` is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streams.cli.output import in_time, tell
from streams.publish.walk import Walk

_LINE_SECONDS = 10.0
_DRAW_SECONDS = 0.1


@contextmanager
def publish_progress(doing: str, walk: Walk) -> Iterator[Callable[[], None]]:
    """Something to call for each record; people see records, rate, and the time left by the bytes still to read.

    Args:
        doing: What is done, such as "publishing to pages.crawled.v1".
        walk: Knows how many bytes there are and how far it is.
    """
    pace = PublishRate(walk.done, time.monotonic())
    if not sys.stderr.isatty():
        yield _Lines(doing, walk, pace).advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=walk.total or None, told="")
        drawn = 0.0

        def advance() -> None:
            nonlocal drawn
            pace.records += 1
            now = time.monotonic()
            if now - drawn >= _DRAW_SECONDS:
                drawn = now
                progress.update(task, completed=walk.done, told=pace.told(walk.done, walk.total, now))

        yield advance


class PublishRate:
    """Records and bytes since a moment."""

    def __init__(self, done: int, now: float) -> None:
        """Starts with the bytes that were gone through before, at a time in seconds."""
        self.records = 0
        self._done = done
        self._began = now

    def told(self, done: int, total: int | None, now: float) -> str:
        """Records, rate, share and remaining time in a few words.

        Args:
            done: Bytes gone through.
            total: Bytes in all; None or 0 where they are not known.
            now: A time in seconds, of the same clock as at the start.

        >>> pace = Pace(0, 100.0)
        >>> pace.records = 500
        >>> pace.told(250, 1000, 110.0)
        '500 records, 50/s, 25 %, 30 s left'
        """
        seconds = max(now - self._began, 1e-9)
        told = f"{self.records:,} records, {self.records / seconds:,.0f}/s"
        if not total:
            return told
        told += f", {min(100, 100 * done // total)} %"
        if done > self._done:
            told += f", {in_time(max(0, total - done) * seconds / (done - self._done))} left"
        return told


class _Lines:
    """A line on standard error every few seconds."""

    def __init__(self, doing: str, walk: Walk, pace: PublishRate) -> None:
        self._doing = doing
        self._walk = walk
        self._pace = pace
        self._next = time.monotonic() + _LINE_SECONDS

    def advance(self) -> None:
        self._pace.records += 1
        if (now := time.monotonic()) >= self._next:
            self._next = now + _LINE_SECONDS
            tell("publish", f"{self._doing}: {self._pace.told(self._walk.done, self._walk.total, now)}")
