"""``assay console``: the decisions in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from typer import Option

from streams.cli.command import Config, load_settings, run_with_kafka, stop_on_signals
from streams.cli.output import tell
from streams.settings.changes import changed
from streams.settings.model import Settings
from streams.telemetry.setup import configure_logs


def console(
    port: Annotated[int | None, Option(min=0, max=65535, help="Port; 0 takes a free one.")] = None,
    host: Annotated[str, Option(help="Address to listen on; that of http.host by default.")] = "",
    config: Config = None,
) -> int:
    """It reads the topics and changes nothing, except for a request with the token of ASSAY_HTTP__TOKEN."""
    settings = load_settings(config).with_kafka()
    configure_logs(settings.logs.level, settings.logs.format)
    from streams.query.access import application_url

    async def work() -> int:
        stop = stop_on_signals()
        application = settings.console.queries or application_url(settings.http)
        async with served_console(settings, application, port=port, host=host) as address:
            tell("console", f"{address}; Ctrl-C ends it")
            await stop.wait()
        return 0

    return run_with_kafka("console", settings, work())


@asynccontextmanager
async def served_console(
    settings: Settings, application: str, *, port: int | None = None, host: str = ""
) -> AsyncIterator[str]:
    """Serves a console while the block runs, with the limits, names and token of ``http``; gives its address.

    The application there answers its queries, unless it is "". Raises PortTakenError.
    """
    from streams.console.app import make_context, served
    from streams.query.access import RemoteQueries

    token = settings.http.token.get_secret_value()
    queries = RemoteQueries(application, token, settings.query.seconds) if application else None
    place = {"port": settings.console.port if port is None else port, "enabled": True} | (
        {"host": host} if host else {}
    )
    async with served(make_context(settings, queries), changed(settings, {"http": place}).http) as address:
        yield address
