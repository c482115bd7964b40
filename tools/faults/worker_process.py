"""A worker process from outside: its output, whether it is alive, and the signals that it got."""

import asyncio
import contextlib
import signal
from itertools import groupby
from pathlib import Path

SICK_LOOKS = 30
"""Looks in a row, ten a second, at a worker that is not well before it is complained of."""


class Worker:
    """A worker process, and what it says."""

    def __init__(self, number: int, process: asyncio.subprocess.Process, log: Path, armed: bool) -> None:
        """Starts listening to what it says."""
        self.number = number
        self.armed = armed
        """Whether it has a fail point, reached or not."""
        self.leaving = False
        """Whether it was asked to end. A second request ends it at once, with unfinished work."""
        self.process = process
        self.lines: list[str] = []
        self.log = log
        self._spoke = asyncio.Event()
        self._listening = asyncio.ensure_future(self._listen())

    @property
    def alive(self) -> bool:
        """Whether it runs or is frozen."""
        return self.process.returncode is None

    @property
    def ailment(self) -> str:
        """What it said when it was not well for too many looks; empty where it never was."""
        for sick, looks in groupby(self.lines, lambda line: line.startswith("sick")):
            if sick and len(said := list(looks)) >= SICK_LOOKS:
                return said[0]
        return ""

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to it."""
        self.leaving = self.leaving or number is signal.SIGTERM
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def says(self, words: str, seconds: float) -> bool:
        """Waits until it says something that begins so; False where it ends or the time is up first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not any(line.startswith(words) for line in self.lines):
                    if self._listening.done():
                        return False
                    self._spoke.clear()
                    await self._spoke.wait()
                return True
        return False

    async def ends(self, seconds: float) -> int | None:
        """Waits for its end; the exit status, None where it lives on."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.process.wait()
        return None

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(line.decode("utf-8", "replace").strip())
            self._spoke.set()
        self._spoke.set()
