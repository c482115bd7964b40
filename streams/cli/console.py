"""``assay console``: the decisions in a browser."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from streams.cli.output import Config, load_settings, run_with_kafka, stop_on_signals, tell
from streams.settings.changes import changed
from streams.settings.model import HttpSettings, Settings
from streams.telemetry.setup import configure_logs


def console(
    port: Annotated[int | None, Option(min=0, max=65535, help="Port; 0 takes a free one.")] = None,
    host: Annotated[str, Option(help="Address to listen on; that of http.host by default.")] = "",
    config: Config = None,
) -> int:
    """It reads the topics and changes nothing, except for a request with the token of ASSAY_HTTP__TOKEN."""
    settings = load_settings(config).with_kafka()
    http = console_http(settings, port=port, host=host)
    configure_logs(settings.logs.level, settings.logs.format)
    from streams.console.app import make_context, served
    from streams.http.server import PortTakenError
    from streams.query.access import RemoteQueries, application_url

    queries = RemoteQueries(
        settings.console.queries or application_url(settings.http),
        settings.http.token.get_secret_value(),
        settings.query.seconds,
    )

    async def work() -> int:
        stop = stop_on_signals()
        try:
            async with served(make_context(settings, queries), http) as address:
                tell("console", f"{address}; Ctrl-C ends it")
                await stop.wait()
        except PortTakenError as error:
            return tell("console", str(error), 1)
        return 0

    return run_with_kafka("console", settings, work())


def console_http(settings: Settings, *, port: int | None = None, host: str = "") -> HttpSettings:
    """Where the console listens: the limits, names and token of ``http`` on a port of its own."""
    own = {"port": settings.console.port if port is None else port, "enabled": True}
    return changed(settings, {"http": own | ({"host": host} if host else {})}).http
