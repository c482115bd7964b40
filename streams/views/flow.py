"""The figures of the flow: lag, rates, ages, dead letters and workers' metrics, for the commands and the console.

It only computes. ``streams.kafka.groups`` reads the cluster, and ``streams.cli.top`` asks the workers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams.kafka.groups import GroupLag

WINDOW_SECONDS = 30.0  # the time that rates and ages are taken over

Key = tuple[str, ...]  # what a value is of, such as a metric's name and a handler


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerFlow:
    """The figures of a handler; None if unknown."""

    handler: str
    rate_per_second: float | None  # processed inputs, over all workers, in the last half minute
    lag_records: int | None  # offsets behind on its topic and its retry topics
    lag_seconds: float | None  # the age of the oldest record that waits, beyond the delay of a retry topic
    members: int | None  # subscriptions in its group; 0 if no worker runs it
    age_p50_seconds: float | None = None  # from produced to processed, as exact as the histogram's buckets
    age_p99_seconds: float | None = None
    slo_seconds: float  # the upper bound for age_p99_seconds
    in_flight: float | None = None
    retries: float | None = None  # since the workers started, as ``cost_usd``
    dead: float | None  # Dead letters; in ``assay top`` since the workers started, in the console on the topic
    cost_usd: float | None = None
    breaker_open: bool = False  # intake is paused because a service is down


def lag_of(handler: str, lags: Iterable[GroupLag]) -> tuple[int | None, float | None, int | None]:
    """``lag_records``, ``lag_seconds`` and ``members`` of a handler."""
    own = [lag for lag in lags if lag.handler == handler]
    if not own:
        return None, None, None
    members = next((lag.members for lag in own if not lag.delay_seconds), None)
    return sum(lag.records for lag in own), max(lag.late_seconds for lag in own), members


class History:
    """Values at several moments of a monotonic clock, such as the metrics of a worker."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, Mapping[Key, float]]] = deque()

    def add(self, at: float, values: Mapping[Key, float]) -> None:
        """Adds the values of a moment, and drops those before the window except the last ones."""
        self._looks.append((at, values))
        while len(self._looks) > 2 and at - self._looks[1][0] >= WINDOW_SECONDS:
            self._looks.popleft()

    @property
    def looked_at(self) -> float:
        return self._looks[-1][0] if self._looks else -inf

    @property
    def seconds(self) -> float:
        """The time between the first and the last look."""
        return self.looked_at - self._looks[0][0] if self._looks else 0.0

    @property
    def values(self) -> Mapping[Key, float]:
        return self._looks[-1][1] if self._looks else {}

    def change(self, key: Key) -> float:
        """From the first look to the last one; a value that a look does not have is 0."""
        return self.values.get(key, 0.0) - self._looks[0][1].get(key, 0.0) if self._looks else 0.0

    def increase(self, key: Key) -> float:
        """Of a counter; that of a restarted worker starts at zero, so its value is its increase."""
        change = self.change(key)
        return change if change >= 0 else self.values.get(key, 0.0)


def total(workers: Iterable[History], *key: str) -> float | None:
    """The sum of a value over all workers; None if no worker has it."""
    values = [worker.values[key] for worker in workers if key in worker.values]
    return sum(values) if values else None


def rate(workers: Iterable[History], *key: str) -> float | None:
    """The rate of a counter per second over all workers; None before the second look."""
    rates = [worker.increase(key) / worker.seconds for worker in workers if worker.seconds > 0]
    return sum(rates) if rates else None


def quantiles(workers: Iterable[History], shares: Sequence[float], *key: str) -> list[float | None]:
    """Quantiles of a histogram over all workers: of the window, or since their start if nothing came in the window.

    The keys of its buckets are ``key`` and the upper bound.
    """
    recent: defaultdict[float, float] = defaultdict(float)
    ever: defaultdict[float, float] = defaultdict(float)
    for worker in workers:
        for bucket, value in worker.values.items():
            if bucket[:-1] == key:
                recent[float(bucket[-1])] += worker.increase(bucket)
                ever[float(bucket[-1])] += value
    buckets = recent if any(recent.values()) else ever
    return [quantile(buckets, share) if any(buckets.values()) else None for share in shares]


def quantile(buckets: Mapping[float, float], share: float) -> float:
    """A quantile of cumulative buckets, computed as Prometheus does: evenly within a bucket.

    >>> quantile({1.0: 50, 2.0: 100, inf: 100}, 0.75), quantile({1.0: 0, inf: 3}, 0.5)
    (1.5, 1.0)
    """
    bounds = sorted(buckets)
    wanted = share * buckets[bounds[-1]]
    lower, below = 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted and buckets[bound] > below:
            if bound == inf:
                return lower
            return lower + (bound - lower) * (wanted - below) / (buckets[bound] - below)
        if bound != inf:
            lower, below = bound, buckets[bound]
    return lower
