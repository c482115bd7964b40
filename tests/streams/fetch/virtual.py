"""Time that passes only when somebody sleeps."""

import asyncio
from datetime import UTC, datetime, timedelta

from streams.fetch.clock import Clock


class VirtualTime:
    """``clock`` reads it; ``slept`` lists the pauses."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.clock = Clock(now=self.now, monotonic=lambda: self.seconds, sleep=self.sleep, chance=lambda: 0.5)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)
