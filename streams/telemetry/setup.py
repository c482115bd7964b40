"""Sets up the logs and the traces of a process. Logs are JSON lines, or coloured lines on a terminal."""

from __future__ import annotations

import logging
import sys

import structlog

from streams.runtime.terminal import dumped, printable
from streams.telemetry.settings import TelemetrySettings
from streams.telemetry.tracing import Tracer

_QUIET = ("aiokafka", "httpx", "httpcore", "httpx2", "httpcore2", "openai", "uvicorn", "asyncio")


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
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
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
