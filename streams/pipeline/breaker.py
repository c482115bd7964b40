"""What pauses the intake of one handler: a service that it needs is down, or too many records become dead letters.

Attempts wait for the circuit breaker instead of failing, so retries are not consumed. They take turns as probes, so one
bad record can't keep the breaker open. If every waiting attempt leaves because its partition was revoked, the breaker
closes: no attempt would be left to probe.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from typing_extensions import override

from streams.runtime.breaker import CircuitBreaker
from streams.runtime.clock import Clock
from streams.settings.model import BreakerSettings, DlqSettings

_DEAD_SHARE_SECONDS = 60.0


class Breaker(CircuitBreaker):
    """Lets attempts through or holds them back, for all partitions of one handler in this process."""

    def __init__(self, settings: BreakerSettings, clock: Clock) -> None:
        super().__init__(settings.failures, settings.first_seconds, settings.max_seconds, clock.monotonic)
        self._clock = clock
        self._waiting: deque[object] = deque()
        self._turns_changed = asyncio.Event()
        self.closed_at = clock.monotonic()
        """When the breaker was last closed, or a service last asked an attempt to queue."""
        self._opened_at = self.closed_at
        self.cause = ""  # why the last attempt failed, in words

    @property
    def open_seconds(self) -> float:
        """Seconds since it opened; 0 if it is closed."""
        return 0.0 if self.closed else self._clock.monotonic() - self._opened_at

    async def turn(self) -> bool:
        """Waits until an attempt may be made. True is a probe: ``probed`` must be called after it."""
        if self._until is None:
            return False
        ticket = object()
        self._waiting.append(ticket)
        try:
            while not self.closed:
                if self._probe is not None or self._waiting[0] is not ticket:
                    await self._turns_changed.wait()
                elif (left := self._left()) > 0:
                    await self._clock.sleep(left)
                else:
                    self._probe = ticket
                    return True
            return False
        finally:
            self._waiting.remove(ticket)
            self._wake_waiting()

    def probed(self) -> None:
        """A probe is over, with any outcome."""
        self._probe = None
        self._wake_waiting()

    @override
    def failed(self, key: Hashable, after_seconds: float | None = None, probe: bool = False, cause: str = "") -> None:
        self.cause = cause
        super().failed(key, after_seconds, probe)

    def rate_limited(self) -> None:
        """The service is up but queues requests: not a failure, so the stall timer starts again."""
        self.closed_at = self._clock.monotonic()

    def on_revoked(self) -> None:
        """A partition was revoked. Without a waiting attempt or a probe, no attempt would ever close the breaker.

        Earlier failures still count: if the service is still down, the next failure opens the breaker again.
        """
        if not self._waiting and self._probe is None:
            self._close()

    @override
    def open(self, after_seconds: float | None = None, cause: str = "") -> None:
        """The service is known to be unavailable to every record; has no effect while the breaker is open."""
        if self.closed:
            self.cause = cause
            super().open(after_seconds)

    @override
    def _changed(self) -> None:
        if self.closed:
            self.closed_at = self._clock.monotonic()
        else:
            self._opened_at = self._clock.monotonic()
        self._wake_waiting()
        super()._changed()

    def _wake_waiting(self) -> None:
        self._turns_changed.set()
        self._turns_changed = asyncio.Event()


class ClosedBreaker(Breaker):
    """Never holds attempts back: a caller that waits for an answer gets the failure at once."""

    @override
    def failed(self, key: Hashable, after_seconds: float | None = None, probe: bool = False, cause: str = "") -> None:
        self.cause = cause

    @override
    def open(self, after_seconds: float | None = None, cause: str = "") -> None: ...


@dataclass(eq=False, repr=False)
class DeadShare:
    """Counts the outcomes of one handler in this process, minute by minute.

    It pauses the handler if too many of its records become dead letters, as after a bad deploy or from a broken
    producer, and calls ``on_pause`` with the cause. The records wait in Kafka. After the pause the handler gets enough
    of them to be judged again.
    """

    settings: DlqSettings
    clock: Clock
    on_pause: Callable[[str], None]

    def __post_init__(self) -> None:
        self._until = self.clock.monotonic()
        self._restart(self._until)

    def note(self, dead: bool) -> None:
        """A record is done; a dead letter may start a pause. Records that end during a pause do not count."""
        now = self.clock.monotonic()
        if now < self._until:
            return
        if now - self._since >= _DEAD_SHARE_SECONDS:
            self._restart(now)
        self._records += 1
        self._dead += dead
        share = self._dead / self._records
        if dead and self._records >= self.settings.least_records and share > self.settings.max_share:
            self.on_pause(f"{self._dead} of the last {self._records} records became dead letters")
            self._until = now + self.settings.pause_seconds
            self._restart(self._until)

    def pause(self) -> float:
        """Seconds until the next record may start; 0 if there is no pause."""
        return max(0.0, self._until - self.clock.monotonic())

    def _restart(self, since: float) -> None:
        self._since, self._records, self._dead = since, 0, 0
