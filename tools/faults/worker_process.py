"""A worker process from outside: its output, whether it is alive, and the signals that it got."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

SICK_LOOKS = 30
"""Looks in a row, ten a second, at a worker that is not well before it is complained of."""


class Worker:
    def __init__(self, number: int, process: asyncio.subprocess.Process, log: Path, armed: bool) -> None:
        self.number = number
        self.armed = armed
        """Whether it has a fail point, reached or not."""
        self.leaving = False
        """Whether it was asked to end. A second request ends it at once, with unfinished work."""
        self.process = process
        self.lines: list[str] = []
        self.log = log
        self._listening = asyncio.ensure_future(self._listen())

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    @property
    def ailment(self) -> str:
        """What it said when it was not well for too many looks; empty where it never was."""
        for sick, looks in groupby(self.lines, lambda line: line.startswith("sick")):
            if sick and len(said := list(looks)) >= SICK_LOOKS:
                return said[0]
        return ""

    def send(self, number: signal.Signals) -> None:
        self.leaving = self.leaving or number is signal.SIGTERM
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def says(self, words: str, seconds: float) -> bool:
        """Waits until it says something that begins so; False where it ends or the time is up first."""
        await hold(lambda: self._listening.done() or self._has_said(words), seconds)
        return self._has_said(words)

    async def ends(self, seconds: float) -> int | None:
        """Waits for its end; the exit status, None where it lives on."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self.process.wait(), seconds)
        return None

    def _has_said(self, words: str) -> bool:
        return any(line.startswith(words) for line in self.lines)

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(line.decode("utf-8", "replace").strip())


async def hold(condition: Callable[[], bool], seconds: float) -> bool:
    """Waits until a condition holds; whether it does."""
    end = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < end:  # noqa: ASYNC110 - it looks at other processes
        await asyncio.sleep(0.05)
    return holds
