"""A thread that ends the process when its event loop stands still for good.

A handler that never returns holds the event loop, and with it the health checks that would tell of it; heartbeats stop,
the group gives the partitions to somebody else, and this process would live on and do nothing. Only a thread can see
that. It counts its own ticks and no clock, so a process that was suspended and wakes is not blamed for the time
between.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_TICK_SECONDS = 1.0


class Watchdog:
    """Watches the event loop it is entered on."""

    def __init__(self, patience_seconds: float, give_up: Callable[[], None] | None = None) -> None:
        """Prepares the thread.

        Args:
            patience_seconds: How long the loop may stand still.
            give_up: What to do then; by default the stacks are written to standard error and the process exits 1.
        """
        self._patience = max(1, round(patience_seconds / _TICK_SECONDS))
        self._give_up = give_up or _exit
        self._turned = True
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    async def __aenter__(self) -> Self:
        """Starts watching."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops watching."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        missed = 0
        while not self._stop.wait(_TICK_SECONDS):
            if self._turned:
                missed, self._turned = 0, False
                self._loop.call_soon_threadsafe(self._note_turn)
            elif (missed := missed + 1) >= self._patience:
                self._give_up()
                return

    def _note_turn(self) -> None:
        self._turned = True


def _exit() -> None:
    print("assay: the event loop stands still; a restart may help. What it is doing:", file=sys.stderr, flush=True)
    faulthandler.dump_traceback(file=sys.stderr)
    os._exit(1)
