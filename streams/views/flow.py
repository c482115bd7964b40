"""The figures of the flow: lag, rates, ages, dead letters and workers' metrics, for the commands and the console.

It only computes. ``streams.kafka.lag`` reads the cluster, and ``streams.cli.top_workers`` asks the workers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, Protocol, TypeVar

WINDOW_SECONDS = 30.0
"""The time that rates and ages are taken over."""

Key = TypeVar("Key")
Series = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name with its sorted labels."""


class TopicLag(Protocol):
    """The lag of a group on a topic or a retry topic, as ``streams.kafka.lag`` reads it."""

    @property
    def handler(self) -> str: ...
    @property
    def records(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def delay_seconds(self) -> int: ...
    @property
    def members(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerFlow:
    """The figures of a handler; None if unknown.

    Attributes:
        rate_per_second: Processed inputs, over all workers, in the last half minute.
        lag_records: Offsets behind on its topic and its retry topics.
        lag_seconds: The age of the oldest record that waits, beyond the delay of a retry topic.
        members: Subscriptions in its group; 0 if no worker runs it.
        age_p50_seconds: From produced to processed, as exact as the histogram's buckets.
        slo_seconds: The upper bound for age_p99_seconds.
        retries: Since the workers started, as ``cost_usd``.
        dead: Dead letters, in ``assay top`` since the workers started, in the console on the topic.
        breaker_open: Intake is paused because a service is down.
    """

    handler: str
    rate_per_second: float | None
    lag_records: int | None
    lag_seconds: float | None
    members: int | None
    age_p50_seconds: float | None = None
    age_p99_seconds: float | None = None
    slo_seconds: float
    in_flight: float | None = None
    retries: float | None = None
    dead: float | None
    cost_usd: float | None = None
    breaker_open: bool = False


def late_seconds(lag: TopicLag) -> float:
    """The age of the oldest record that waits, beyond the delay of a retry topic."""
    return max(0.0, lag.seconds - lag.delay_seconds)


def lag_of(handler: str, lags: Iterable[TopicLag]) -> tuple[int | None, float | None, int | None]:
    """``lag_records``, ``lag_seconds`` and ``members`` of a handler."""
    own = [lag for lag in lags if lag.handler == handler]
    if not own:
        return None, None, None
    members = next((lag.members for lag in own if not lag.delay_seconds), None)
    return sum(lag.records for lag in own), max(map(late_seconds, own)), members


class History(Generic[Key]):
    """Values at several moments of a monotonic clock."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, Mapping[Key, float]]] = deque()

    def add(self, at: float, values: Mapping[Key, float]) -> None:
        """Adds the values of a moment, and drops those before the window except the last ones."""
        self._looks.append((at, values))
        while len(self._looks) > 2 and at - self._looks[1][0] >= WINDOW_SECONDS:
            self._looks.popleft()

    @property
    def seconds(self) -> float:
        """The time between the first and the last look."""
        return self._looks[-1][0] - self._looks[0][0] if self._looks else 0.0

    @property
    def looked_at(self) -> float:
        return self._looks[-1][0] if self._looks else -inf

    @property
    def values(self) -> Mapping[Key, float]:
        """The values of the last look."""
        return self._looks[-1][1] if self._looks else {}

    def change(self, key: Key) -> float:
        """From the first look to the last one; a value that a look does not have counts as 0."""
        return self.values.get(key, 0.0) - self._looks[0][1].get(key, 0.0) if self._looks else 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A series at the last look, and its increase since the first one."""

    labels: Mapping[str, str]
    value: float
    increase: float


class Worker(History[Series]):
    """The metrics of a worker, and why its last request failed: "" if it did not."""

    def __init__(self, url: str, problem: str = "") -> None:
        super().__init__()
        self.url = url
        self.problem = problem

    def samples(self, metric: str, **labels: str) -> Iterator[Sample]:
        """The series of a metric with these labels.

        A counter of a restarted worker starts at zero: its value is then its increase.
        """
        for series, value in self.values.items():
            name, pairs = series
            if name == metric and set(pairs) >= labels.items():
                change = self.change(series)
                yield Sample(dict(pairs), value, change if change >= 0 else value)


def total(workers: Iterable[Worker], metric: str, **labels: str) -> float | None:
    """The sum of a metric over all workers; None if no worker has it."""
    values = [sample.value for worker in workers for sample in worker.samples(metric, **labels)]
    return sum(values) if values else None


def rate(workers: Iterable[Worker], metric: str, **labels: str) -> float | None:
    """The rate of a counter per second over all workers; None before the second look."""
    rates = [
        sum(sample.increase for sample in worker.samples(metric, **labels)) / worker.seconds
        for worker in workers
        if worker.seconds > 0
    ]
    return sum(rates) if rates else None


def quantiles(workers: Iterable[Worker], metric: str, shares: Sequence[float], **labels: str) -> list[float | None]:
    """Quantiles of a histogram over all workers: of the window, or since their start if nothing came in the window."""
    recent: dict[float, float] = defaultdict(float)
    ever: dict[float, float] = defaultdict(float)
    for worker in workers:
        for sample in worker.samples(f"{metric}_bucket", **labels):
            bound = float(sample.labels["le"])
            recent[bound] += sample.increase
            ever[bound] += sample.value
    buckets = next((its for its in (recent, ever) if any(its.values())), None)
    return [None if buckets is None else quantile(buckets, share) for share in shares]


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
