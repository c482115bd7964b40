"""Time as an argument: a wall clock, a monotonic clock and a pause, and the instants that an operator names."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from datetime import UTC, datetime, timedelta
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
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


_FIRST = datetime(1970, 1, 1, tzinfo=UTC)  # the earliest time of Kafka
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def instant_of(text: str, now: datetime) -> datetime | None:
    """The instant of ``2026-11-21T08:00``, or of a time ago such as ``90m`` or ``7d``; None for anything else."""
    if (ago := re.fullmatch(r"(\d{1,6})([smhdw])", text)) is not None:
        with contextlib.suppress(OverflowError):
            return max(_FIRST, now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
        return _FIRST
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(_FIRST, instant if instant.tzinfo else instant.replace(tzinfo=UTC))
