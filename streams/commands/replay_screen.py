"""What somebody who waits for a replay sees: a bar on a terminal, else a plain line every few seconds."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from streams.commands.amounts import in_money, in_rate, in_time
from streams.replay.progress import Progress as Standing

_LINE_SECONDS = 5.0
_SPEED_SECONDS = 15.0
"""What is averaged over for the speed."""


class ReplayScreen:
    """Shows how far a replay has come, on standard error: ``with``."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Takes the clock for the speed."""
        self._speed = Speed(monotonic)
        self._monotonic = monotonic
        self._next_line = 0.0
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self.last: Standing | None = None
        """What was shown last."""

    def __enter__(self) -> Self:
        """Shows the bar, where there is a terminal."""
        if sys.stderr.isatty():
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[tail]}"),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("waiting for partitions", total=None, tail="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, standing: Standing) -> None:
        """Shows it; called about twice a second."""
        self.last = standing
        self._speed.saw((standing.handler, standing.stage), standing.remaining)
        done, tail = standing.total - standing.remaining, tail_of(standing, self._speed)
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, description=name_of(standing), total=standing.total or None, completed=done, tail=tail
            )
        elif self._monotonic() >= self._next_line:
            self._next_line = self._monotonic() + _LINE_SECONDS
            share = f" ({done / standing.total:.0%})" if standing.total else ""
            print(f"{name_of(standing)}: {done:,} of {standing.total:,}{share}, {tail}", file=sys.stderr, flush=True)


class Speed:
    """Records a second, over the last moments of a stage."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Takes the clock."""
        self._monotonic = monotonic
        self._stage: object = None
        self._seen: deque[tuple[float, int]] = deque()

    def saw(self, stage: object, remaining: int) -> None:
        """So many are left now."""
        if stage != self._stage:
            self._stage = stage
            self._seen.clear()
        now = self._monotonic()
        self._seen.append((now, remaining))
        while self._seen[0][0] < now - _SPEED_SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """Records a second; 0 before it is known."""
        if len(self._seen) < 2:
            return 0.0
        (began, before), (now, after) = self._seen[0], self._seen[-1]
        return max(0, before - after) / (now - began) if now > began else 0.0


def name_of(standing: Standing) -> str:
    """The handler, and which stage of how many it is."""
    return standing.handler if standing.stages == 1 else f"{standing.handler} {standing.stage + 1}/{standing.stages}"


def tail_of(standing: Standing, speed: Speed) -> str:
    """Speed, time left, cost, and what holds it up."""
    rate = speed.per_second
    parts = [f"{in_rate(rate)}/s"]
    if rate > 0 and standing.remaining:
        parts.append(f"{in_time(standing.remaining / rate)} left")
    if standing.spent_usd:
        parts.append(in_money(standing.spent_usd))
    if standing.dead:
        parts.append(f"{standing.dead:,} dead")
    if standing.members > 1:
        parts.append(f"{standing.members} processes")
    return ", ".join([*parts, *([standing.note] if standing.note else [])])
