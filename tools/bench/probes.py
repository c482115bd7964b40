"""Looks into a running event loop with a Kafka consumer: lateness, and gaps between polls and heartbeats.

The probes wrap methods of aiokafka, so the bare loop and the pipeline are measured in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import statistics
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.group_coordinator import GroupCoordinator

_SLEEP_SECONDS = 0.01


class Gaps:
    """The longest time between two moments."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = time.monotonic()

    def note(self) -> None:
        """A moment."""
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now


class Probes:
    """What is measured while the block of ``watching`` runs, from the first record on."""

    def __init__(self, on_first_record: Callable[[], None] = lambda: None) -> None:
        self._on_first_record = on_first_record
        self._has_begun = False
        self._begin()

    def _begin(self) -> None:
        self._late: list[float] = []
        self._polls, self._heartbeats = Gaps(), Gaps()

    def figures(self) -> dict[str, float]:
        """What was seen so far. The last gap counts too, although it has not ended."""
        self._polls.note()
        self._heartbeats.note()
        late = sorted(self._late) or [0.0]
        cuts = statistics.quantiles(late, n=100) if len(late) > 1 else late * 99
        return {
            "lag_p50_ms": round(1000 * cuts[49], 2),
            "lag_p99_ms": round(1000 * cuts[98], 2),
            "lag_max_ms": round(1000 * late[-1], 1),
            "poll_gap_s": round(self._polls.longest, 3),
            "heartbeat_gap_s": round(self._heartbeats.longest, 3),
        }

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Measures; one at a time in a process."""
        measuring = asyncio.create_task(self._measure_lateness())
        with contextlib.ExitStack() as undo:
            undo.enter_context(_replaced(AIOKafkaConsumer, "getmany", self._getmany))
            undo.enter_context(_replaced(GroupCoordinator, "_do_heartbeat", self._do_heartbeat))
            try:
                yield
            finally:
                measuring.cancel()

    async def _measure_lateness(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(_SLEEP_SECONDS)
            self._late.append(time.monotonic() - before - _SLEEP_SECONDS)

    async def _getmany(self, real: Callable[..., Any], consumer: Any, *args: Any, **options: Any) -> Any:
        self._polls.note()
        polled = await real(consumer, *args, **options)
        if not self._has_begun and any(polled.values()):
            self._has_begun = True
            self._begin()
            self._on_first_record()
        return polled

    async def _do_heartbeat(self, real: Callable[..., Any], coordinator: Any) -> Any:
        answered = await real(coordinator)
        self._heartbeats.note()
        return answered


@contextlib.contextmanager
def _replaced(owner: type, name: str, by: Callable[..., Any]) -> Any:
    """Puts a function in place of a method; it gets the method as its first argument."""
    real = getattr(owner, name)

    @functools.wraps(real)
    def replacement(self: Any, *args: Any, **options: Any) -> Any:
        return by(real, self, *args, **options)

    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, real)
