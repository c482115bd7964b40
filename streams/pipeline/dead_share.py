"""Pauses a handler if too many of its records become dead letters, as after a bad deploy or from a broken producer.

The records wait in Kafka. After the pause the handler gets enough of them to be judged again.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.runtime.clock import Clock
from streams.settings.model import DlqSettings

_WINDOW_SECONDS = 60.0


class DeadShare:
    """Counts the outcomes of one handler in this process, minute by minute."""

    def __init__(self, settings: DlqSettings, clock: Clock, on_pause: Callable[[str], None]) -> None:
        """``on_pause`` is called with the cause at the start of a pause."""
        self._settings = settings
        self._clock = clock
        self._on_pause = on_pause
        self._since = clock.monotonic()
        self._until = self._since
        self._records = 0
        self._dead = 0

    def note(self, dead: bool) -> None:
        """A record is done; a dead letter may start a pause. Records that end during a pause do not count."""
        now = self._clock.monotonic()
        if now < self._until:
            return
        if now - self._since >= _WINDOW_SECONDS:
            self._restart(now)
        self._records += 1
        self._dead += dead
        if dead and self._records >= self._settings.least_records and self._share > self._settings.max_share:
            self._on_pause(f"{self._dead} of the last {self._records} records became dead letters")
            self._until = now + self._settings.pause_seconds
            self._restart(self._until)

    def pause(self) -> float:
        """Seconds until the next record may start; 0 if there is no pause."""
        return max(0.0, self._until - self._clock.monotonic())

    @property
    def _share(self) -> float:
        return self._dead / self._records

    def _restart(self, since: float) -> None:
        self._since, self._records, self._dead = since, 0, 0
