"""Deadlines of processes that owe an answer: a process that is stopped, or stuck in the kernel, does not end itself.

The time counts only while this process runs: a machine that slept, or a worker that was stopped, gives its processes
the rest of their time.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

_TICK_SECONDS = 0.25
_LONGEST_TICK_SECONDS = 1.0  # a longer tick counts as one of this length: this process itself did not run


class Process(Protocol):
    overdue: bool  # whether it was killed at its deadline

    def kill(self) -> None:
        """Ends the process and closes its connection, whatever its state."""


class Deadlines:
    def __init__(self) -> None:
        self._left: dict[Process, float] = {}  # seconds, by process

    def begin(self, process: Process, seconds: float) -> None:
        """Kills the process after this time, in place of an earlier deadline."""
        self._left[process] = seconds

    def end(self, process: Process) -> None:
        self._left.pop(process, None)

    async def watch(self) -> None:
        """Runs for as long as the deadlines are to hold."""
        time = asyncio.get_running_loop().time
        before = time()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time()
            passed, before = min(now - before, _LONGEST_TICK_SECONDS), now
            for process, left in [*self._left.items()]:
                self._left[process] = left - passed
                if left <= passed:
                    self.end(process)
                    process.overdue = True
                    process.kill()
