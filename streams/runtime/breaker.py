"""The circuit breaker: stops attempts while a service is down, and finds out when it is up again.

    closed     every attempt may start
    open       no attempt may start until the pause is over
    probing    one attempt is under way; its success closes the breaker, its failure doubles the pause

The breaker opens after failures of several *different* keys in a row: one bad input that fails again and again must not
stop the others. With a window, it also opens when too large a share of the last keys has failed: a service that fails
four of five requests is down too. The window outlasts a success: until enough attempts have succeeded, the next
failure opens the breaker again, for longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass

_MOST_OPENINGS = 30  # limits the exponent of the pause


@dataclass(eq=False)
class CircuitBreaker:
    """The state machine without waiting. Not thread-safe."""

    failures: int  # different keys in a row that open the breaker
    first_seconds: float  # pause before the first probe
    max_seconds: float  # longest pause before a probe
    monotonic: Callable[[], float]  # seconds on a clock that never goes back
    window: int = 0  # number of the last different keys whose share of failures is checked; 0 for none
    share: float = 1.0  # share of failures in a full window that opens the breaker

    def __post_init__(self) -> None:
        self._failed: set[Hashable] = set()
        self._recent: dict[Hashable, bool] = {}
        self._openings = 0
        self._until: float | None = None
        self._probe: Hashable | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def closed(self) -> bool:
        return self._until is None

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls ``listener`` whenever the breaker opens or closes; its errors are ignored."""
        self._listeners.append(listener)

    def pause(self) -> float | None:
        """Seconds after which a caller should try again, at least 1; None if an attempt may start now."""
        left = self._left()
        return None if self.closed or (left <= 0 and self._probe is None) else max(left, 1.0)

    def enter(self, key: Hashable) -> float | None:
        """As ``pause``. An attempt that may start while the breaker is open is the probe until ``leave``."""
        pause = self.pause()
        if pause is None and not self.closed:
            self._probe = key
        return pause

    def leave(self, key: Hashable) -> None:
        """An attempt is over, with any outcome."""
        if self._probe == key:
            self._probe = None

    def succeeded(self, key: Hashable | None = None) -> None:
        """An attempt succeeded: closes the breaker."""
        self._failed.clear()
        self._note(key, failed=False)
        if not self._fails_too_often():
            self._openings = 0
        self._close()

    def failed(self, key: Hashable, after_seconds: float | None = None, probe: bool = False) -> None:
        """An attempt failed for a reason that may pass.

        Args:
            key: Of the input; only different keys count.
            after_seconds: How long the service asked to wait; None if it did not.
            probe: Whether the attempt was a probe that has left already.
        """
        self._failed.add(key)
        if probe or (not self.closed and key == self._probe):
            self._open(after_seconds)
        elif self.closed:
            self._note(key, failed=True)
            if len(self._failed) >= self.failures or self._fails_too_often():
                self._open(after_seconds)

    def open(self, after_seconds: float | None = None) -> None:
        """The service is known to be unavailable: opens at once, or for longer."""
        self._open(after_seconds)

    def _open(self, after_seconds: float | None) -> None:
        was_closed = self.closed
        pause = min(self.max_seconds, self.first_seconds * 2**self._openings)
        self._openings = min(self._openings + 1, _MOST_OPENINGS)
        self._until = self.monotonic() + max(pause, min(after_seconds or 0.0, self.max_seconds))
        if was_closed:
            self._changed()

    def _close(self) -> None:
        was_open, self._until = not self.closed, None
        if was_open:
            self._changed()

    def _changed(self) -> None:
        for listener in self._listeners:
            with contextlib.suppress(Exception):
                listener()

    def _left(self) -> float:
        return 0.0 if self._until is None else self._until - self.monotonic()

    def _note(self, key: Hashable | None, *, failed: bool) -> None:
        """Remembers the last outcome of a key, for as many keys as the window has."""
        if not self.window:
            return
        self._recent.pop(key, None)
        self._recent[key] = failed
        if len(self._recent) > self.window:
            del self._recent[next(iter(self._recent))]

    def _fails_too_often(self) -> bool:
        failed = sum(self._recent.values())
        return 0 < self.window <= len(self._recent) and failed >= self.share * self.window
