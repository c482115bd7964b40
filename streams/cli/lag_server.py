"""``assay lag --serve``: serves the lag of all groups to Prometheus at ``/metrics``, and ``/healthz``.

A scrape reads the cluster. If the cluster cannot be read, ``/metrics`` answers 503, so that the target is down instead
of reporting old figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from streams.cli.errors import explain_trouble
from streams.cli.output import tell
from streams.cli.run import stop_on_signals
from streams.http.server import HttpServer, PortTakenError
from streams.kafka.lag import DeadLettersStanding, GroupLag, read_dead_letters, read_lags
from streams.runtime.clock import Clock, SystemClock
from streams.settings.model import HttpSettings, Settings
from streams.telemetry.metrics import Metrics
from streams.topology import Handler

_FRESH_SECONDS = 5.0
"""Scrapes within so many seconds share a reading."""
_PATIENCE_SECONDS = 9.0
"""Prometheus waits 10 s for an answer."""
_HOST = "127.0.0.1"

Send = Callable[[dict[str, Any]], Awaitable[None]]


class ServerAddressError(Exception):
    """An address is wrong or cannot be listened on; the message says what to do."""


def address_of(text: str) -> tuple[str, int]:
    """Host and port of ``[HOST:]PORT``.

    >>> address_of("9101"), address_of("0.0.0.0:9101"), address_of("[::1]:9101")
    (('127.0.0.1', 9101), ('0.0.0.0', 9101), ('::1', 9101))

    Raises:
        ServerAddressError: The text is not an address.
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ServerAddressError(f"--serve takes PORT or HOST:PORT, such as 9101 or 0.0.0.0:9101, not {text!r}")
    return host.strip("[]") or _HOST, int(port)


async def serve_lag(settings: Settings, handlers: Sequence[Handler], host: str, port: int) -> int:
    """Serves until a signal.

    Raises:
        ServerAddressError: The address can't be listened on.
    """
    stop = stop_on_signals()
    try:
        async with HttpServer(
            LagExporter(settings, handlers, SystemClock()), HttpSettings(host=host, port=port)
        ) as http:
            tell("lag", f"serves http://{http.address}/metrics; Ctrl-C stops it")
            await stop.wait()
    except PortTakenError:
        raise ServerAddressError(f"cannot listen on {host}:{port}; name another place with --serve") from None
    return 0


class LagExporter:
    """An ASGI application: ``/metrics`` and ``/healthz``."""

    def __init__(self, settings: Settings, handlers: Sequence[Handler], clock: Clock) -> None:
        """Takes the handlers whose lag is served."""
        self._settings = settings
        self._handlers = handlers
        self._clock = clock
        self._reading = asyncio.Lock()
        self._read_at = float("-inf")
        self._answer = (503, b"")

    async def __call__(self, scope: dict[str, Any], receive: object, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Answers one request."""
        if scope["type"] != "http":
            return
        if scope["path"] == "/metrics":
            async with self._reading:
                if self._clock.monotonic() - self._read_at >= _FRESH_SECONDS:
                    self._answer = await self._read()
                    self._read_at = self._clock.monotonic()
            status, body = self._answer
        else:
            status, body = (200, b"ok\n") if scope["path"] == "/healthz" else (404, b"see /metrics\n")
        kind = CONTENT_TYPE_LATEST if scope["path"] == "/metrics" and status == 200 else "text/plain; charset=utf-8"
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _read(self) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                lags = await read_lags(self._settings.kafka, self._handlers, self._clock)
                dead = await read_dead_letters(self._settings.kafka, self._handlers, self._clock)
        except TimeoutError:
            return 503, f"Kafka did not answer within {_PATIENCE_SECONDS:g} s\n".encode()
        except (KafkaError, OSError) as error:
            return 503, f"{await explain_trouble(error, self._settings)}\n".encode()
        return 200, as_metrics(lags, dead)


def as_metrics(lags: Sequence[GroupLag], dead: Sequence[DeadLettersStanding]) -> bytes:
    """The exposition of the metrics of groups only; missing topics have no series."""
    metrics = Metrics(CollectorRegistry())
    told = (
        metrics.group_lag_records,
        metrics.group_lag_seconds,
        metrics.group_retention_left_seconds,
        metrics.group_lost_records,
        metrics.group_members,
        metrics.topic_dead_letters,
    )
    for lag in lags:
        if not lag.exists:
            continue
        place = (lag.handler, lag.topic)
        metrics.group_lag_records.labels(*place).set(lag.records)
        metrics.group_lag_seconds.labels(*place).set(lag.seconds)
        metrics.group_lost_records.labels(*place).set(lag.lost)
        metrics.group_members.labels(*place).set(lag.members)
        if lag.retention_left_seconds is not None:
            metrics.group_retention_left_seconds.labels(*place).set(lag.retention_left_seconds)
    for standing in dead:
        metrics.topic_dead_letters.labels(standing.handler).set(standing.records)
    registry = CollectorRegistry()
    for metric in told:
        registry.register(metric)
    return generate_latest(registry)
