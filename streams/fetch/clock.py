"""Time and chance, as arguments: the shell's own in production, made-up ones in tests."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """What the fetch worker needs to know of time.

    Attributes:
        now: The date and time, UTC.
        monotonic: Seconds that never go back.
        sleep: Waits for so many seconds.
        chance: A number in [0, 1), for jitter.
    """

    now: Callable[[], datetime] = _utc_now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
