"""``assay lag``: prints how far the consumer groups are behind, checks limits, or serves the lag to Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rich.text import Text
from typer import Argument, Option

from streams.cli.command import (
    AsJson,
    CommandError,
    Config,
    answered,
    find_handlers,
    load_settings,
    run_with_kafka,
    stop_on_signals,
)
from streams.cli.output import plain_table, say_json, table_console, tell
from streams.runtime.amounts import in_time
from streams.runtime.clock import Clock, SystemClock
from streams.settings.changes import changed
from streams.settings.model import Settings
from streams.telemetry.metrics import MetricDef, Metrics
from streams.topology import Handler

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.responses import Response

    from streams.kafka.groups import DeadLettersStanding, GroupLag

_FEW = 0.25  # the share of the retention below which the rest is red
_NARROW = 80
_WIDE = 108  # the columns that a table with topics needs


def lag(
    handlers: Annotated[list[str] | None, Argument(help="Which handlers; all by default.")] = None,
    max_records: Annotated[int | None, Option(min=0, help="Exit 1 if more records wait on a topic.")] = None,
    max_seconds: Annotated[float | None, Option(min=0, help="Exit 1 if a record has waited longer.")] = None,
    serve: Annotated[
        str | None, Option(metavar="[HOST:]PORT", help="Serve the lag to Prometheus there instead.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    chosen, settings = find_handlers(handlers), load_settings(config).with_kafka()
    if serve is not None:
        return run_with_kafka("lag", settings, serve_lag(settings, chosen, *address_of(serve)))

    async def work() -> int:
        from streams.kafka.groups import read_dead_letters, read_lags

        groups = await read_lags(settings.kafka, chosen, SystemClock())
        dead = await read_dead_letters(settings.kafka, chosen, SystemClock())
        exceeded = limits_exceeded(groups, max_records, max_seconds)
        if as_json:
            lags = [asdict(group) | {"lost": group.lost} for group in groups]
            say_json({"groups": lags, "dead_letters": [asdict(topic) for topic in dead], "exceeded": exceeded})
        else:
            show_lags(groups, dead, exceeded)
        return 1 if exceeded else 0

    return run_with_kafka("lag", settings, work())


def limits_exceeded(groups: Sequence[GroupLag], max_records: int | None, max_seconds: float | None) -> list[str]:
    found = []
    for lag in groups:
        if max_records is not None and lag.records > max_records:
            found.append(f"{lag.handler}: {lag.records:,} records wait on {lag.topic}, limit {max_records:,}")
        if max_seconds is not None and lag.late_seconds > max_seconds:
            late, limit = in_time(lag.late_seconds), in_time(max_seconds)
            found.append(f"{lag.handler}: {late} behind on {lag.topic}, limit {limit}")
    return found


def show_lags(groups: Sequence[GroupLag], dead: Sequence[DeadLettersStanding], exceeded: Sequence[str]) -> None:
    console = table_console(_NARROW)
    wide = console.width >= _WIDE
    numbers = ("behind", "oldest", "retention left", "members", "dead letters")
    table = plain_table(*(("handler", "topic") if wide else ("handler",)), numbers=numbers, apart=2 if wide else 1)
    letters = {topic.handler: topic.records for topic in dead}
    for lag in groups:
        if lag.delay_seconds and not lag.records:
            continue
        count = 0 if lag.delay_seconds else letters.get(lag.handler, 0)
        name, where, last = lag.handler, lag.topic, Text(f"≤ {count:,}", "yellow") if count else "-"
        if lag.delay_seconds:
            name, where, last = "", f"waits {in_time(lag.delay_seconds)}", ""
        table.add_row(*((name, where) if wide else (name or f"  {where}",)), *_cells(lag), last)
    console.print(table)
    for lag in groups:
        if lag.lost:
            console.print(Text(f"{lag.handler}: retention deleted {lag.lost:,} unread records of {lag.topic}", "red"))
    if missing := sorted({lag.topic for lag in groups if not lag.exists}):
        named = missing[0] if len(missing) == 1 else f"{len(missing)} topics"
        console.print(f"missing: {named}; `assay topics create` creates missing topics, and so does `assay run`")
    for sentence in exceeded:
        console.print(Text(sentence, "red"))


def _cells(lag: GroupLag) -> tuple[Text | str, ...]:
    if not lag.exists:
        return "-", "-", "-", str(lag.members)
    left = lag.retention_left_seconds
    urgent = left is not None and left < _FEW * (left + lag.seconds)
    return (
        f"{lag.records:,}",
        in_time(lag.seconds) if lag.records else "-",
        Text(in_time(left), "red" if urgent else ""),
        Text(str(lag.members), "red" if lag.records and not lag.members else ""),
    )


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
    """Host and port of ``[HOST:]PORT``. Raises CommandError.

    >>> address_of("9101"), address_of("0.0.0.0:9101"), address_of("[::1]:9101")
    (('127.0.0.1', 9101), ('0.0.0.0', 9101), ('::1', 9101))
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise CommandError(f"--serve takes PORT or HOST:PORT, such as 9101 or 0.0.0.0:9101, not {text!r}", 2)
    return host.strip("[]") or "127.0.0.1", int(port)


async def serve_lag(settings: Settings, handlers: Sequence[Handler], host: str, port: int) -> int:
    """Serves until a signal."""
    from streams.http.server import HttpServer  # takes half a second to import

    stop = stop_on_signals()
    exporter = lag_exporter(settings, handlers, SystemClock())
    place = changed(settings, {"http": {"host": host, "port": port, "enabled": True}}).http
    async with HttpServer(exporter, place, "--serve") as http:
        tell("lag", f"serves http://{http.address}/metrics; Ctrl-C stops it")
        await stop.wait()
    return 0


def lag_exporter(settings: Settings, handlers: Sequence[Handler], clock: Clock) -> Starlette:
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    reading, read_at, answer = asyncio.Lock(), float("-inf"), PlainTextResponse()

    async def metrics(_: object) -> Response:
        nonlocal read_at, answer
        async with reading:
            if clock.monotonic() - read_at >= _FRESH_SECONDS:
                answer = PlainTextResponse(*await _read(settings, handlers, clock), media_type=CONTENT_TYPE_LATEST)
                read_at = clock.monotonic()
        return answer

    async def healthz(_: object) -> Response:
        return PlainTextResponse("ok\n")

    return Starlette(routes=[Route("/metrics", metrics), Route("/healthz", healthz)])


async def _read(settings: Settings, handlers: Sequence[Handler], clock: Clock) -> tuple[bytes | str, int]:
    from streams.kafka.groups import read_dead_letters, read_lags

    async def work() -> LagCollector:
        lags = await read_lags(settings.kafka, handlers, clock)
        return LagCollector(lags, await read_dead_letters(settings.kafka, handlers, clock))

    found = await answered(settings.kafka, _PATIENCE_SECONDS, work())
    return (f"{found}\n", 503) if isinstance(found, str) else (generate_latest(found), 200)


@dataclass
class LagCollector(Collector):
    """The metrics of groups and of dead letter topics; missing topics have no series."""

    lags: Sequence[GroupLag]
    dead: Sequence[DeadLettersStanding]

    def collect(self) -> Iterator[Metric]:
        for definition, value in _OF_GROUPS:
            family = GaugeMetricFamily(definition.name, definition.meaning, labels=definition.labels)
            for lag in self.lags:
                if lag.exists and (figure := value(lag)) is not None:
                    family.add_metric((lag.handler, lag.topic), figure)
            yield family
        dead = Metrics.topic_dead_letters
        family = GaugeMetricFamily(dead.name, dead.meaning, labels=dead.labels)
        for letters in self.dead:
            family.add_metric((letters.handler,), letters.records)
        yield family
