"""Time as an argument: a wall clock, a monotonic clock and a pause. Tests pass their own."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

from typing_extensions import override


class Clock(Protocol):
    """The source of time of the shell."""

    def now(self) -> datetime:
        """The current instant, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, from an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Pauses."""
        ...


class SystemClock(Clock):
    """The machine's own clocks."""

    @override
    def now(self) -> datetime:
        return datetime.now(UTC)

    @override
    def monotonic(self) -> float:
        return time.monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
