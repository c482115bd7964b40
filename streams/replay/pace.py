"""Limits a replay: a rate over all its processes, and pauses while live traffic is late."""

from __future__ import annotations

from streams.kafka.lag import GroupLag, read_lags
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.topology import Handler

_LOOK_SECONDS = 0.25
"""The longest pause before the reason for it is checked again."""
_BURST_SECONDS = 0.1
"""The most that is caught up after a delay of the event loop; a longer pause must not cause a burst."""
LATE_SHARE = 0.5
"""Share of a handler's ``slo_seconds``. If live records are older, a replay of the handler waits."""


class ReplayRate:
    """Says when the next record may be started in this process."""

    def __init__(self, rate: float | None, clock: Clock) -> None:
        """Starts without partitions; ``rate`` is in records a second of all processes, None is unlimited."""
        self.waiting = False
        """Whether the replay waits because live traffic is late."""
        self.shut = False
        """Whether no more records may be started."""
        self._rate = rate
        self._clock = clock
        self._share = 0.0
        self._next = clock.monotonic()

    def assigned(self, held: int, of: int) -> None:
        """Sets this process's share of the rate: its partitions, of all partitions of the topic."""
        self._share = held / of if of > 0 else 0.0

    def seconds(self) -> float:
        """For how long no record may be started; 0 if one may be started now."""
        if self.waiting or self.shut:
            return _LOOK_SECONDS
        if self._rate is None:
            return 0.0
        if not self._share:
            return _LOOK_SECONDS
        return min(max(0.0, self._next - self._clock.monotonic()), _LOOK_SECONDS)

    def took(self) -> None:
        """Counts a record that was started."""
        if self._rate is not None and self._share:
            earliest = self._clock.monotonic() - _BURST_SECONDS
            self._next = max(self._next, earliest) + 1.0 / (self._rate * self._share)


async def is_live_late(settings: Settings, handler: Handler, clock: Clock) -> bool:
    """Whether live records of a handler are older than ``LATE_SHARE`` of its service level. Raises KafkaError.

    A group without members does not count: the replay would wait for ever.
    """
    return any(is_late(lag, handler.slo_seconds) for lag in await read_lags(settings.kafka, [handler], clock))


def is_late(lag: GroupLag, slo_seconds: float) -> bool:
    """Whether the records of a group are so old that a replay must wait."""
    return lag.members > 0 and not lag.delay_seconds and lag.seconds > LATE_SHARE * slo_seconds
