"""A circuit breaker for one handler: while what it needs is down, attempts are not burnt and intake is paused.

    closed     every attempt goes through
    open       nobody tries until the pause is over
    probing    one attempt is let through; its success closes the breaker, its failure opens it for longer

It opens when several *different* records have failed one after another: one bad record that fails again and again must
come to its end, and must not hold up the others. Those that wait take turns as probes, so one bad record can't keep the
breaker open either. Where it is known that nobody can be served, it is opened at once. When the last of those that wait
leaves with its partition, it closes: nobody would be left to find out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Hashable

from streams.clock import Clock
from streams.settings import BreakerSettings


class Breaker:
    """Lets attempts through, or holds them back, for all partitions of one handler in this process."""

    def __init__(self, settings: BreakerSettings, clock: Clock) -> None:
        """Starts closed.

        Args:
            settings: From how many failures on it opens, and for how long.
            clock: Time.
        """
        self._settings = settings
        self._clock = clock
        self._failed: set[Hashable] = set()
        self._openings = 0
        self._until: float | None = None
        self._probing = False
        self._waiting: deque[object] = deque()
        self._changed = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self.closed_at = clock.monotonic()
        """When it was closed last, or somebody was last told to wait for a turn."""
        self._opened_at = self.closed_at
        self.cause = ""
        """What the last attempt in vain has met."""

    @property
    def closed(self) -> bool:
        """Whether attempts go through freely."""
        return self._until is None

    @property
    def open_seconds(self) -> float:
        """For how long it has been open; 0 where it is closed."""
        return 0.0 if self.closed else self._clock.monotonic() - self._opened_at

    def listen(self, listener: Callable[[], None]) -> None:
        """Has ``listener`` called whenever the breaker opens or closes."""
        self._listeners.append(listener)

    async def turn(self) -> bool:
        """Waits until an attempt may be made. True is a probe: ``probed`` must be called after it."""
        if self._until is None:
            return False
        ticket = object()
        self._waiting.append(ticket)
        try:
            while not self.closed:
                if self._probing or self._waiting[0] is not ticket:
                    await self._changed.wait()
                elif (pause := self._pause()) > 0:
                    await self._clock.sleep(pause)
                else:
                    self._probing = True
                    return True
            return False
        finally:
            self._waiting.remove(ticket)
            self._tell_waiting()

    def probed(self) -> None:
        """A probe is over, whatever came of it."""
        self._probing = False
        self._tell_waiting()

    def succeeded(self) -> None:
        """An attempt worked, so what the handler needs is there."""
        self._failed.clear()
        if self._until is not None:
            self._openings = 0
            self._close()

    def failed(self, record: Hashable, after_seconds: float | None, probe: bool = False, cause: str = "") -> None:
        """An attempt failed in a way that may pass.

        Args:
            record: Which record it was for; only different ones count.
            after_seconds: How long the provider wants to be left alone, if it said so.
            probe: Whether the attempt was a probe.
            cause: What it has met, in words.
        """
        self.cause = cause
        self._failed.add(record)
        if not probe and (not self.closed or len(self._failed) < self._settings.failures):
            return
        self._rest(after_seconds)

    def rate_limited(self) -> None:
        """What the handler needs is there and has a line before it: no failure, and nobody is to be hurried."""
        self.closed_at = self._clock.monotonic()

    def left(self) -> None:
        """Work has moved to another process: where nobody is left to probe, nothing would ever close the breaker.

        What has failed still counts, so where nothing has changed the next failure opens it again, for as long.
        """
        if self._until is not None and not self._waiting and not self._probing:
            self._close()

    def open(self, after_seconds: float | None, cause: str = "") -> None:
        """What the handler needs is known to be unavailable to every record: nobody has to find out by failing."""
        if self.closed:
            self.cause = cause
            self._rest(after_seconds)

    def _close(self) -> None:
        self._until = None
        self.closed_at = self._clock.monotonic()
        self._tell()

    def _rest(self, after_seconds: float | None) -> None:
        was_closed = self.closed
        pause = min(self._settings.max_seconds, self._settings.first_seconds * 2**self._openings)
        self._openings = min(self._openings + 1, 30)
        self._until = self._clock.monotonic() + max(pause, min(after_seconds or 0.0, self._settings.max_seconds))
        if was_closed:
            self._opened_at = self._clock.monotonic()
            self._tell()

    def _pause(self) -> float:
        return 0.0 if self._until is None else self._until - self._clock.monotonic()

    def _tell(self) -> None:
        self._tell_waiting()
        for listener in self._listeners:
            with contextlib.suppress(Exception):
                listener()

    def _tell_waiting(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class ClosedBreaker(Breaker):
    """Never holds attempts back: whoever waits for an answer is told at once that what it needs is down."""

    def failed(self, record: Hashable, after_seconds: float | None, probe: bool = False, cause: str = "") -> None:  # noqa: ARG002
        """Stays closed."""
        self.cause = cause

    def open(self, after_seconds: float | None, cause: str = "") -> None:
        """Stays closed."""
