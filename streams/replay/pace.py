"""Limits a replay: a rate over all its processes, and pauses while live traffic is late."""

from __future__ import annotations

from streams.clock import Clock
from streams.kafka.lag import GroupLag, read_lags
from streams.settings import Settings
from streams.topology import Handler

_LOOK_SECONDS = 0.25
"""How often it is looked whether what holds the replay up is over."""
_BURST_SECONDS = 0.1
"""What may be made up for where the event loop was late; no more, or a pause would be followed by a rush."""
LATE_SHARE = 0.5
"""Of the age that a handler's live traffic may have; above it a replay of the handler gives way."""


class ReplayRate:
    """When the next record may be started, in one process."""

    def __init__(self, rate: float | None, clock: Clock) -> None:
        """Starts with nothing held.

        Args:
            rate: Records a second at most, of all processes together; None for as fast as it goes.
            clock: Monotonic time.
        """
        self.waiting = False
        """Whether it gives way to live traffic now."""
        self.shut = False
        """Whether no record may be started any more."""
        self._rate = rate
        self._clock = clock
        self._share = 0.0
        self._next = clock.monotonic()

    def told(self, held: int, of: int) -> None:
        """This process holds so many of the topic's partitions now."""
        self._share = held / of if of > 0 else 0.0

    def seconds(self) -> float:
        """For how long no record may be started; 0 where one may."""
        if self.waiting or self.shut:
            return _LOOK_SECONDS
        if self._rate is None:
            return 0.0
        if not self._share:
            return _LOOK_SECONDS
        return min(max(0.0, self._next - self._clock.monotonic()), _LOOK_SECONDS)

    def took(self) -> None:
        """A record was started."""
        if self._rate is not None and self._share:
            earliest = self._clock.monotonic() - _BURST_SECONDS
            self._next = max(self._next, earliest) + 1.0 / (self._rate * self._share)


async def is_live_late(settings: Settings, handler: Handler, clock: Clock) -> bool:
    """Whether live records of a handler wait for longer than half of the age that they may have.

    A group that nobody is in is no reason to wait: a replay would do so for ever.

    Raises:
        KafkaError: The cluster can't be asked.
    """
    return any(is_late(lag, handler.slo_seconds) for lag in await read_lags(settings.kafka, [handler], clock))


def is_late(lag: GroupLag, slo_seconds: float) -> bool:
    """Whether the records of a group wait for so long that a replay should give way."""
    return lag.members > 0 and not lag.delay_seconds and lag.seconds > LATE_SHARE * slo_seconds
