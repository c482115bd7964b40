"""How long ``assay run`` takes until it is ready and until its first result can be read, and what that costs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.kafka.clients import make_reader, opened
from streams.local_kafka.broker import HOST, free_port
from tests.kafka.installation import process, until_killed
from tools.bench.feeds import Broker, Feed, feed_records
from tools.bench.pages import load_pages, page_records
from tools.bench.processes import children_cpu, own_cpu

_LOOK_SECONDS = 0.02
_LIMIT_SECONDS = 120.0


class StartFailedError(Exception):
    """The worker ended, or was not ready in time."""


@dataclass(frozen=True)
class Start:
    """Seconds from the start of the process.

    Attributes:
        ready: Until ``/readyz`` answers 200.
        first_result: Until the result of a record that waits can be read.
        cpu: CPU time of the worker and its children when it is ready.
        children_cpu: That of the children.
    """

    ready: float
    first_result: float
    cpu: float
    children_cpu: float


async def measure(kafka: Broker, workers: Mapping[str, Any], prefix: str) -> Start:
    """Starts a worker of ``score_page``, for which a page waits."""
    feed = await feed_records(kafka, prefix, page_records(load_pages()[:1], 1))
    port = free_port()
    variables: dict[str, Any] = {"http__enabled": True, "http__port": port, "logs__level": "error"}
    variables |= {f"workers__{name}": value for name, value in workers.items()}
    result = asyncio.create_task(_first_result(feed))
    try:
        began = time.monotonic()
        started = await process(feed.settings, "run", "score_page", stdout=DEVNULL, stderr=PIPE, **variables)
        async with until_killed(started):
            try:
                async with asyncio.timeout(_LIMIT_SECONDS):
                    while not await _is_ready(port):
                        await _check_alive(started)
                        await asyncio.sleep(_LOOK_SECONDS)
                    ready = time.monotonic()
                    own, below = own_cpu(started.pid), children_cpu(started.pid)
                    first_result = await result
            except TimeoutError:
                raise StartFailedError(f"not ready, or no result, within {_LIMIT_SECONDS:g} s") from None
    finally:
        result.cancel()
    return Start(*(round(figure, 3) for figure in (ready - began, first_result - began, own + below, below)))


async def _first_result(feed: Feed) -> float:
    """When the first result can be read."""
    async with opened(make_reader(feed.settings.kafka, feed.prefix + feed.target, fetch_wait_ms=20)) as reader:
        while not await reader.getmany(timeout_ms=100):
            pass
        return time.monotonic()


async def _is_ready(port: int) -> bool:
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()
            await writer.wait_closed()
    return False


async def _check_alive(started: Process) -> None:
    if started.returncode is not None:
        _, said = await started.communicate()
        raise StartFailedError(f"exit {started.returncode}\n{said.decode()[-2000:]}")
