"""``assay lag --serve``: serves the lag of all groups to Prometheus at ``/metrics``, and ``/healthz``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from aiokafka.errors import KafkaError
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from streams.cli.errors import stop_on_signals
from streams.cli.output import tell
from streams.http.server import HttpServer, PortTakenError
from streams.kafka.lag import DeadLettersStanding, GroupLag, read_dead_letters, read_lags
from streams.kafka.trouble import explain_trouble
from streams.runtime.clock import Clock, SystemClock
from streams.settings.changes import changed
from streams.settings.model import Settings
from streams.telemetry.metrics import MetricDef, Metrics
from streams.topology import Handler

_FRESH_SECONDS = 5.0  # scrapes within so many seconds share a reading
_PATIENCE_SECONDS = 9.0  # prometheus waits 10 s for an answer
_OF_GROUPS: Sequence[tuple[MetricDef, Callable[[GroupLag], float | None]]] = (
    (Metrics.group_lag_records, lambda lag: lag.records),
    (Metrics.group_lag_seconds, lambda lag: lag.seconds),
    (Metrics.group_retention_left_seconds, lambda lag: lag.retention_left_seconds),
    (Metrics.group_lost_records, lambda lag: lag.lost),
    (Metrics.group_members, lambda lag: lag.members),
)


def address_of(text: str) -> tuple[str, int]:
    """Host and port of ``[HOST:]PORT``.

    >>> address_of("9101"), address_of("0.0.0.0:9101"), address_of("[::1]:9101")
    (('127.0.0.1', 9101), ('0.0.0.0', 9101), ('::1', 9101))

    Raises:
        ValueError: The text is not an address; the message says what is.
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ValueError(f"--serve takes PORT or HOST:PORT, such as 9101 or 0.0.0.0:9101, not {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


async def serve_lag(settings: Settings, handlers: Sequence[Handler], host: str, port: int) -> int:
    """Serves until a signal; 2 if the address can't be listened on."""
    stop = stop_on_signals()
    exporter = lag_exporter(settings, handlers, SystemClock())
    place = changed(settings, {"http": {"host": host, "port": port, "enabled": True}}).http
    try:
        async with HttpServer(exporter, place) as http:
            tell("lag", f"serves http://{http.address}/metrics; Ctrl-C stops it")
            await stop.wait()
    except PortTakenError:
        return tell("lag", f"cannot listen on {host}:{port}; name another place with --serve", 2)
    return 0


def lag_exporter(settings: Settings, handlers: Sequence[Handler], clock: Clock) -> Starlette:
    reading, read_at, answer = asyncio.Lock(), float("-inf"), Response()

    async def metrics(_: Request) -> Response:
        nonlocal read_at, answer
        async with reading:
            if clock.monotonic() - read_at >= _FRESH_SECONDS:
                answer = await _read(settings, handlers, clock)
                read_at = clock.monotonic()
        return answer

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    return Starlette(routes=[Route("/metrics", metrics), Route("/healthz", healthz)])


async def _read(settings: Settings, handlers: Sequence[Handler], clock: Clock) -> Response:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            lags = await read_lags(settings.kafka, handlers, clock)
            dead = await read_dead_letters(settings.kafka, handlers, clock)
    except TimeoutError:
        return PlainTextResponse(f"Kafka did not answer within {_PATIENCE_SECONDS:g} s\n", 503)
    except (KafkaError, OSError) as error:
        return PlainTextResponse(f"{await explain_trouble(error, settings.kafka)}\n", 503)
    return Response(generate_latest(LagCollector(lags, dead)), media_type=CONTENT_TYPE_LATEST)


@dataclass
class LagCollector(Collector):
    """The metrics of groups and of dead letter topics; missing topics have no series."""

    lags: Sequence[GroupLag]
    dead: Sequence[DeadLettersStanding]

    def collect(self) -> Iterator[Metric]:
        for definition, value in _OF_GROUPS:
            family = _family(definition)
            for lag in self.lags:
                if lag.exists and (figure := value(lag)) is not None:
                    family.add_metric((lag.handler, lag.topic), figure)
            yield family
        family = _family(Metrics.topic_dead_letters)
        for letters in self.dead:
            family.add_metric((letters.handler,), letters.records)
        yield family


def _family(definition: MetricDef) -> GaugeMetricFamily:
    return GaugeMetricFamily(definition.name, definition.meaning, labels=definition.labels)
