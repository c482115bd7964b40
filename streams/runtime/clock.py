"""Time as an argument: a wall clock, a monotonic clock and a pause. Tests use virtual time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The source of time."""

    def now(self) -> datetime:
        """The current instant, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back, from an arbitrary start."""

    async def sleep(self, seconds: float) -> None:
        """Pauses."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The current instant, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some point in the past."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Pauses."""
        await asyncio.sleep(seconds)
