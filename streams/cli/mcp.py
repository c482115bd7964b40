"""``assay mcp``: the decisions as tools of an agent, over the Model Context Protocol."""

from __future__ import annotations

import asyncio
from typing import Annotated

from typer import Option

from streams.cli.command import Config, load_settings, stop_on_signals
from streams.cli.output import tell
from streams.telemetry.setup import configure_logs


def mcp(
    http: Annotated[bool, Option("--http", help="Serve over HTTP instead of standard input and output.")] = False,
    config: Config = None,
) -> int:
    """The tools are search, fetch, score, judge_results and is_claim_self_contained.

    Clients start it themselves, with the command `assay mcp`. Over HTTP, other machines need ASSAY_HTTP__TOKEN.
    """
    settings = load_settings(config)
    # Standard output belongs to the protocol; the log is on standard error.
    configure_logs(
        settings.logs.level if "level" in settings.logs.model_fields_set else "warning", settings.logs.format
    )
    import mcp.server  # noqa: F401 - names the extra; uvicorn, which is imported below, belongs to others, too

    from streams.mcp.server import serve_http, serve_stdio

    try:
        asyncio.run(serve_http(settings, _until_stopped) if http else serve_stdio(settings))
    except KeyboardInterrupt:
        return 130
    return 0


async def _until_stopped(address: str) -> None:
    tell("mcp", f"serving at {address}; Ctrl-C ends it")
    await stop_on_signals().wait()
