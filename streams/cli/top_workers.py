"""Reads the ``/metrics`` of workers for ``assay top``, and computes rates, ages and sums over all workers.

A counter of a restarted worker starts at zero: its value is then its increase.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from streams.telemetry.metrics import MetricDef, Metrics

_SECONDS = 4.0
_WINDOW_SECONDS = 30.0
"""The time that rates and ages are taken over."""
_LARGEST_BYTES = 16 * 1024 * 1024
_LARGEST_VALUE = 1e18
_READ = {
    Metrics.handler_events_total.name: ("handler",),
    f"{Metrics.event_age_seconds.name}_bucket": ("handler", "le"),
    Metrics.handler_in_flight.name: ("handler",),
    Metrics.retries_total.name: ("handler",),
    Metrics.dead_events_total.name: ("handler",),
    Metrics.breaker_open.name: ("handler",),
    Metrics.llm_cost_usd_total.name: ("task",),
    Metrics.llm_breaker_open.name: ("model",),
    Metrics.llm_budget_left_usd.name: (),
}
"""The metrics that are read, and the labels they must have; a worker of another version may have more labels."""

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name with its sorted labels."""


class UnreadableMetricsError(Exception):
    """The metrics of a worker cannot be used; the message says why."""


class WorkerAddressError(Exception):
    """A text is not an address of a worker; the message has examples."""


@dataclass(frozen=True, slots=True)
class Look:
    """The metrics of a worker at a moment of a monotonic clock."""

    at: float
    samples: Mapping[Series, float]


@dataclass(slots=True)
class Worker:
    """A worker's address, its last metrics, and why the last request failed."""

    url: str
    looks: deque[Look] = field(default_factory=deque)
    problem: str = ""

    def add(self, look: Look) -> None:
        """Adds a look, and drops the looks before the window."""
        self.looks.append(look)
        while len(self.looks) > 2 and look.at - self.looks[1].at >= _WINDOW_SECONDS:
            self.looks.popleft()

    @property
    def seconds(self) -> float:
        """The time between the first and the last look."""
        return self.looks[-1].at - self.looks[0].at if self.looks else 0.0

    def now(self, name: str, **labels: str) -> Iterator[tuple[Mapping[str, str], float]]:
        """The series of a metric with these labels at the last look."""
        if self.looks:
            yield from _chosen(self.looks[-1].samples, name, labels)

    def increase(self, name: str, **labels: str) -> Iterator[tuple[Mapping[str, str], float]]:
        """The increase of the series of a counter with these labels from the first look to the last one."""
        if not self.looks:
            return
        before = self.looks[0].samples
        for its, value in _chosen(self.looks[-1].samples, name, labels):
            earlier = before.get((name, tuple(sorted(its.items()))), 0.0)
            yield its, value - earlier if value >= earlier else value


def worker_url(text: str) -> str:
    """The address of a worker's metrics.

    >>> worker_url("8080"), worker_url("worker-1:8080"), worker_url("https://w.example/assay/metrics")
    ('http://127.0.0.1:8080/metrics', 'http://worker-1:8080/metrics', 'https://w.example/assay/metrics')

    Raises:
        WorkerAddressError: The text is not an address.
    """
    whole = text if "://" in text else f"http://127.0.0.1:{text}" if text.isdecimal() else f"http://{text}"
    try:
        parts = urlsplit(whole)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise WorkerAddressError(
            f"{text!r} is not a worker's address, such as 8080, worker-1:8080, http://worker-1:8080"
        )
    return whole if parts.path.strip("/") else whole.rstrip("/") + "/metrics"


async def look_at(workers: Sequence[Worker], client: httpx2.AsyncClient) -> None:
    """Asks all workers at once; a worker that does not answer keeps its looks and gets a problem."""
    await asyncio.gather(*(_look_at(worker, client) for worker in workers))


async def _look_at(worker: Worker, client: httpx2.AsyncClient) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            status, text = await _get(worker.url, client)
        samples = _samples(text) if status == 200 else {}
    except TimeoutError:
        worker.problem = "no answer"
    except UnreadableMetricsError as error:
        worker.problem = str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        worker.problem = type(error).__name__
    else:
        worker.problem = f"it answers {status}" if status != 200 else "" if samples else "it is not a worker of Assay"
        if samples:
            worker.add(Look(asyncio.get_running_loop().time(), samples))


async def _get(url: str, client: httpx2.AsyncClient) -> tuple[int, str]:
    body = bytearray()
    async with client.stream("GET", url) as response:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _LARGEST_BYTES:
                break
    return response.status_code, body.decode("utf-8", "replace")


def _samples(text: str) -> dict[Series, float]:
    samples = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name.startswith("assay_"):
                    samples[sample.name, tuple(sorted(sample.labels.items()))] = float(sample.value)
    except (ValueError, LookupError, TypeError):
        raise UnreadableMetricsError("its answer is not in Prometheus's format") from None
    for (name, pairs), value in samples.items():
        if name in _READ:
            _check(name, dict(pairs), value)
    return samples


def _check(name: str, labels: Mapping[str, str], value: float) -> None:
    """Refuses series that would spoil the figures of all workers."""
    if missing := [label for label in _READ[name] if label not in labels]:
        raise UnreadableMetricsError(f"{name} has no label {missing[0]}; is it a worker of Assay?")
    if not -_LARGEST_VALUE <= value <= _LARGEST_VALUE:  # not a number is neither
        raise UnreadableMetricsError(f"{name} is {value}; is it a worker of Assay?")
    if "le" in _READ[name]:
        try:
            usable = float(labels["le"]) > 0
        except ValueError:
            usable = False
        if not usable:
            raise UnreadableMetricsError(f"{name} has a bucket without a bound; is it a worker of Assay?")


def total(workers: Sequence[Worker], metric: MetricDef, **labels: str) -> float | None:
    """The sum of a metric over all workers; None if no worker has it."""
    values = [value for worker in workers for _, value in worker.now(metric.name, **labels)]
    return sum(values) if values else None


def rate(workers: Sequence[Worker], metric: MetricDef, **labels: str) -> float | None:
    """The rate of a counter per second over all workers; None before the second look."""
    ready = [worker for worker in workers if worker.seconds > 0]
    if not ready:
        return None
    return sum(sum(value for _, value in worker.increase(metric.name, **labels)) / worker.seconds for worker in ready)


def quantiles(
    workers: Sequence[Worker], metric: MetricDef, shares: Sequence[float], **labels: str
) -> list[float | None]:
    """Quantiles of a histogram over all workers: of the window, or since their start if nothing came in the window."""
    name = f"{metric.name}_bucket"
    recent = [pair for worker in workers for pair in worker.increase(name, **labels)]
    ever = [pair for worker in workers for pair in worker.now(name, **labels)]
    for pairs in (recent, ever):
        buckets: dict[float, float] = {}
        for its, value in pairs:
            bound = float(its["le"])
            buckets[bound] = buckets.get(bound, 0.0) + value
        if buckets and max(buckets.values()) > 0:
            return [quantile(buckets, share) for share in shares]
    return [None] * len(shares)


def quantile(buckets: Mapping[float, float], share: float) -> float:
    """A quantile of cumulative buckets, computed as Prometheus does: evenly within a bucket.

    >>> quantile({1.0: 50, 2.0: 100, float("inf"): 100}, 0.75), quantile({1.0: 0, float("inf"): 3}, 0.5)
    (1.5, 1.0)
    """
    bounds = sorted(buckets)
    wanted = share * buckets[bounds[-1]]
    lower, below = 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted and buckets[bound] > below:
            if bound == float("inf"):
                return lower
            return lower + (bound - lower) * (wanted - below) / (buckets[bound] - below)
        if bound != float("inf"):
            lower, below = bound, buckets[bound]
    return lower


def _chosen(
    samples: Mapping[Series, float], name: str, labels: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, str], float]]:
    for (its_name, pairs), value in samples.items():
        if its_name == name:
            its = dict(pairs)
            if all(its.get(key) == wanted for key, wanted in labels.items()):
                yield its, value
