"""Looks into a running event loop with a Kafka consumer: lateness, gaps between polls and heartbeats, fetches, garbage.

The probes wrap methods of aiokafka, so the bare loop and the pipeline are measured in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import statistics
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.conn import AIOKafkaConnection
from aiokafka.consumer.group_coordinator import GroupCoordinator

_MIB = 1 << 20
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
        # The client fetches before the first record is delivered.
        self._fetches = self._fetched_bytes = self._delivered = 0
        self._begin()

    def _begin(self) -> None:
        self._late: list[float] = []
        self._polls, self._heartbeats = Gaps(), Gaps()
        self._collections = 0
        self._collecting = self._collected = 0.0

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
            "fetches": self._fetches,
            "fetched_mb": round(self._fetched_bytes / _MIB, 2),
            "delivered": self._delivered,
            "collections": self._collections,
            "collecting_s": round(self._collected, 3),
        }

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Measures; one at a time in a process."""
        measuring = asyncio.create_task(self._measure_lateness())
        gc.callbacks.append(self._collects)
        with contextlib.ExitStack() as undo:
            undo.enter_context(_replaced(AIOKafkaConsumer, "getmany", self._getmany))
            undo.enter_context(_replaced(GroupCoordinator, "_do_heartbeat", self._do_heartbeat))
            undo.enter_context(_replaced(AIOKafkaConnection, "_handle_frame", self._handle_frame))
            try:
                yield
            finally:
                measuring.cancel()
                gc.callbacks.remove(self._collects)

    async def _measure_lateness(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(_SLEEP_SECONDS)
            self._late.append(time.monotonic() - before - _SLEEP_SECONDS)

    def _collects(self, phase: str, info: dict[str, int]) -> None:  # noqa: ARG002 - the interpreter's signature
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._collections += 1
            self._collected += time.thread_time() - self._collecting

    async def _getmany(self, real: Callable[..., Any], consumer: Any, *args: Any, **options: Any) -> Any:
        self._polls.note()
        polled = await real(consumer, *args, **options)
        count = sum(map(len, polled.values()))
        if count and not self._delivered:
            self._begin()
            self._on_first_record()
        self._delivered += count
        return polled

    async def _do_heartbeat(self, real: Callable[..., Any], coordinator: Any) -> Any:
        answered = await real(coordinator)
        self._heartbeats.note()
        return answered

    def _handle_frame(self, real: Callable[..., Any], connection: Any, frame: bytes) -> Any:
        if type(connection._requests[0][1]).__name__.startswith("Fetch"):
            self._fetches += 1
            self._fetched_bytes += len(frame)
        return real(connection, frame)


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
