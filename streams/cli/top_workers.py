"""Asks workers for their ``/metrics`` for ``assay top``, and refuses what would spoil the figures of all workers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from schemas.addresses import web_address, without_user
from streams.telemetry.metrics import Metrics
from streams.views.flow import History, Key

_SECONDS = 4.0
_LARGEST_BYTES = 16 * 1024 * 1024
_LARGEST_VALUE = 1e18
AGE_BUCKETS = f"{Metrics.event_age_seconds.name}_bucket"
_READ = {
    Metrics.handler_events_total.name: ("handler",),
    AGE_BUCKETS: ("handler", "le"),
    Metrics.handler_in_flight.name: ("handler",),
    Metrics.retries_total.name: ("handler",),
    Metrics.dead_events_total.name: ("handler",),
    Metrics.breaker_open.name: ("handler",),
    Metrics.llm_cost_usd_total.name: ("task",),
    Metrics.llm_breaker_open.name: ("model",),
    Metrics.llm_budget_left_usd.name: (),
}
"""The metrics that are read, and the labels that they are read by; the values of other labels are added."""


class WorkerError(Exception):
    """A text is not a worker's address, or its metrics cannot be used; the message says why."""


class Worker(History):
    """The metrics of a worker by name and labels, and why its last request failed: "" if it did not."""

    def __init__(self, url: str, problem: str = "") -> None:
        super().__init__()
        self.url = url
        self.problem = problem


def worker_url(text: str) -> str:
    """The address of a worker's metrics.

    >>> worker_url("8080"), worker_url("worker-1:8080"), worker_url("https://w.example/assay/metrics")
    ('http://127.0.0.1:8080/metrics', 'http://worker-1:8080/metrics', 'https://w.example/assay/metrics')

    Raises:
        WorkerError: The text is not an address.
    """
    whole = text if "://" in text else f"http://127.0.0.1:{text}" if text.isdecimal() else f"http://{text}"
    if without_user(whole) != whole:
        raise WorkerError("a worker's address has no user and no password")
    address = web_address(whole)
    if address and address.port != 0:
        return whole if address.path.strip("/") else whole.rstrip("/") + "/metrics"
    raise WorkerError(f"{text!r} is not a worker's address, such as 8080, worker-1:8080, http://worker-1:8080")


async def look_at(workers: Sequence[Worker], client: httpx2.AsyncClient) -> None:
    """Asks all workers at once; a worker that does not answer keeps its values and gets a problem."""
    await asyncio.gather(*(_look_at(worker, client) for worker in workers))


async def _look_at(worker: Worker, client: httpx2.AsyncClient) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            text = await _get(worker.url, client)
        worker.add(asyncio.get_running_loop().time(), read_metrics(text))
        worker.problem = ""
    except TimeoutError:
        worker.problem = "no answer"
    except WorkerError as error:
        worker.problem = str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        worker.problem = type(error).__name__


async def _get(url: str, client: httpx2.AsyncClient) -> str:
    body = bytearray()
    async with client.stream("GET", url) as response:
        if response.status_code != 200:
            raise WorkerError(f"it answers {response.status_code}")
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _LARGEST_BYTES:
                break
    return body.decode("utf-8", "replace")


def read_metrics(text: str) -> dict[Key, float]:
    """The values of the metrics of ``_READ`` in an exposition. Raises WorkerError."""
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except (ValueError, LookupError, TypeError):
        raise WorkerError("its answer is not in Prometheus's format") from None
    if not any(sample.name.startswith("assay_") for sample in samples):
        raise WorkerError("it is not a worker of Assay")
    values: defaultdict[Key, float] = defaultdict(float)
    for name, labels, value, *_ in samples:
        if (needed := _READ.get(name)) is not None:
            if problem := _problem(needed, labels, value):
                raise WorkerError(f"{name} {problem}; is it a worker of Assay?")
            values[name, *(labels[label] for label in needed)] += value
    return values


def _problem(needed: Sequence[str], labels: Mapping[str, str], value: float) -> str:
    """Why a sample would spoil the figures of all workers; "" if it would not."""
    if missing := [label for label in needed if label not in labels]:
        return f"has no label {missing[0]}"
    if not -_LARGEST_VALUE <= value <= _LARGEST_VALUE:  # not a number is neither
        return f"is {value}"
    with suppress(ValueError):
        if "le" not in needed or float(labels["le"]) > 0:
            return ""
    return "has a bucket without a bound"
