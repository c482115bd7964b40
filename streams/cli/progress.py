"""The progress of a command: a bar on a terminal, else a line on standard error every few seconds."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from streams.cli.command import CommandError
from streams.cli.output import tell
from streams.publish.entries import STANDARD_INPUT_PATH, read_lines
from streams.publish.sources import LineEvent, events_of
from streams.runtime.amounts import in_rate, in_time
from streams.topology import Topic

if TYPE_CHECKING:
    from rich.progress import Progress
_LINE_SECONDS = 5.0
_DRAW_SECONDS = 0.1
_SPEED_SECONDS = 15.0  # the rate and the time left follow from the last so many seconds


@dataclass
class ProgressLine:
    """Shows how far a command is while the block runs: ``with ProgressLine(…) as advance: … advance()``."""

    command: str
    doing: str
    total: int | None = None
    _: KW_ONLY
    unit: str = "records"
    at: Callable[[], int] | None = None
    quiet: bool = False
    monotonic: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._count = 0
        self._notes: Sequence[str] = ()
        self._bar: Progress | None = None
        now = self.monotonic()
        self._seen = deque([(now, 0, self.at() if self.at else 0)])
        self._next = now + _LINE_SECONDS

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TextColumn

            from streams.views.screen import Screen

            shown = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[words]"))
            self._bar = Progress(next(shown), BarColumn(), next(shown), console=Screen(stderr=True), transient=True)
            self._bar.add_task(self.doing, total=self.total or None, words="")
            self._bar.start()
            self._next = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, count: int = 1) -> None:
        self._count += count
        self._show()

    def set(self, doing: str, count: int, total: int, notes: Sequence[str] = ()) -> None:
        """Replaces everything that is shown; the rate starts anew if the command does something else than before."""
        if doing != self.doing:
            self.doing = doing
            self._seen = deque([(self.monotonic(), count, count)])
        self._count, self.total, self._notes = count, total, notes
        self._show()

    def _show(self) -> None:
        now = self.monotonic()
        if self.quiet or now < self._next:
            return
        at = self.at() if self.at else self._count
        self._seen.append((now, self._count, at))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _SPEED_SECONDS:
            self._seen.popleft()
        if self._bar is None:
            self._next = now + _LINE_SECONDS
            tell(self.command, f"{self.doing}: {self._in_words(at)}")
        else:
            self._next = now + _DRAW_SECONDS
            words, total = self._in_words(at), self.total or None
            self._bar.update(self._bar.task_ids[0], description=self.doing, total=total, completed=at, words=words)

    def _in_words(self, at: int) -> str:
        (began, count_before, at_before), (now, *_) = self._seen[0], self._seen[-1]
        seconds = max(now - began, 1e-9)
        of_total = f" of {self.total:,}" if self.total and self.at is None else ""
        parts = [f"{self._count:,}{of_total} {self.unit}", f"{in_rate((self._count - count_before) / seconds)}/s"]
        if self.total:
            parts.append(f"{min(100, 100 * at // self.total)} %")
            if at > at_before:
                parts.append(f"{in_time(max(0, self.total - at) * seconds / (at - at_before))} left")
        return ", ".join([*parts, *self._notes])


def read_events(command: str, path: Path, topic: Topic, *, quiet: bool = False) -> Iterator[LineEvent]:
    """The events of a topic in a file or in standard input, with the command's progress unless ``quiet``.

    Raises CommandError if it can't be read.
    """
    done, size = 0, path.stat().st_size if path.is_file() else 0
    at = (lambda: done) if size else None
    quiet = quiet or path == STANDARD_INPUT_PATH
    with ProgressLine(command, f"reading {path.name}", size, unit="lines", at=at, quiet=quiet) as advance:
        try:
            for line in read_lines(path):
                done = line.end
                yield from events_of(line, topic)
                advance()
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None
