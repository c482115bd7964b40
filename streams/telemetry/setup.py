"""Sets up the logs and the traces of a process. Logs are JSON lines, or coloured lines on a terminal."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog

from streams.runtime.terminal import dumped, printable
from streams.telemetry.settings import TelemetrySettings
from streams.telemetry.tracing import Tracer

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 300.0
_MOST_EVENTS = 1000
_QUIET = ("aiokafka", "httpx", "httpcore", "httpx2", "httpcore2", "openai", "uvicorn", "asyncio")


class Repeats:
    """A structlog processor: warnings and errors of the same event come with growing pauses, and with a count.

    The first is written at once. Those of the next 5, 10, 20 s and so on are counted in ``more`` of the next one. Lines
    about different records or partitions are the same event; those with another ``reason`` are not.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._seen: dict[tuple[object, ...], tuple[float, float, int]] = {}
        """The end of the pause of each event, its length, and how many lines were left out in it."""

    def __call__(self, _: Any, level: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if level not in ("warning", "error", "critical"):
            return line
        event, now = (line.get("logger"), line["event"], line.get("reason")), self._monotonic()
        until, pause, more = self._seen.pop(event, (now, 0.0, 0))
        if now < until:
            self._seen[event] = until, pause, more + 1
            raise structlog.DropEvent
        # After a pause without a line the next one is a new trouble.
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS) if more else _FIRST_PAUSE_SECONDS
        self._seen[event] = now + pause, pause, 0
        if len(self._seen) > _MOST_EVENTS:
            del self._seen[next(iter(self._seen))]
        if more:
            line["more"] = more
        return line


def configure_logs(level_name: str, form: str) -> None:
    """Sets up structlog and the standard library's logging to write to standard error.

    ``form`` is json, console, or auto: console on a terminal, else json.
    """
    level = getattr(logging, level_name.upper())
    as_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    renderer: list[structlog.typing.Processor] = [structlog.processors.format_exc_info]
    renderer += (
        [structlog.processors.JSONRenderer(dumped, ensure_ascii=True)]
        if as_json
        else [
            _printable,
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(),
                # The default shows local variables, which may be keys or text of strangers.
                exception_formatter=structlog.dev.plain_traceback,
            ),
        ]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            Repeats(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        # They log every join and every request at info level.
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def _printable(_: object, __: str, fields: structlog.typing.EventDict) -> structlog.typing.EventDict:
    for name, value in fields.items():
        if isinstance(value, str):  # others are written by repr, which escapes
            fields[name] = printable(value, keep="\n" if name in ("exception", "stack") else "")
    return fields


def make_tracer(settings: TelemetrySettings, version: str) -> Tracer:
    """The tracer of the settings; imports OpenTelemetry only if traces are on."""
    if settings.traces == "off":
        return Tracer()
    from streams.telemetry.otel import exporting_tracer

    return exporting_tracer(settings, version)
