"""``assay demo``: runs all handlers on a small sample web, and shows the progress and the decisions, or counts them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Option

from streams.cli.command import AsJson, Config, load_settings, run_with_kafka, stop_on_signals
from streams.cli.console import served_console
from streams.cli.output import say_json, tell
from streams.cli.run import summary_lines, summary_of
from streams.settings.model import Settings
from streams.telemetry.setup import configure_logs
from streams.topology import HANDLERS
from streams.views.screen import Screen

if TYPE_CHECKING:
    from rich.live import Live

    from streams.demo.run import Demo


_PLAIN_WIDTH = 110
_LOOK_SECONDS = 0.25
_CLOSE_SECONDS = 5.0
_INTERRUPTED = 130  # the exit status after Ctrl-C


def demo(
    once: Annotated[bool, Option("--once", help="Stop when everything is done.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    return run_demo(load_settings(config), once=once, as_json=as_json)


def run_demo(settings: Settings, *, once: bool, as_json: bool) -> int:
    # The table shows the progress; the log adds only errors.
    configure_logs("error", settings.logs.format)
    # What an interrupted demonstration leaves open ends with its process.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    console = Screen(stderr=as_json, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
    return run_with_kafka("demo", settings, _demo(settings, once, as_json, console))


async def _demo(settings: Settings, once: bool, as_json: bool, console: Screen) -> int:
    from rich.live import Live

    from streams.demo.run import running
    from streams.demo.tally import tell_decisions

    stop = stop_on_signals()
    asked = asyncio.create_task(stop.wait())
    started = asyncio.Event()

    def say(message: str) -> None:
        if not as_json:
            console.print(message, style="dim")

    async def follow(live: Live | None) -> Demo | None:
        """Runs the demonstration until everything is done or, without ``--once``, until Ctrl-C; None if not all is."""
        async with running(settings, say) as demo, contextlib.AsyncExitStack() as beside:
            started.set()
            if not once:
                # Another console may have the usual port.
                port = None if "port" in demo.settings.console.model_fields_set else 0
                application = f"http://{demo.address}" if demo.address else ""
                console_served = served_console(demo.settings, application, port=port)
                say(f"the console is at {await beside.enter_async_context(console_served)}")
            work = asyncio.create_task(demo.work(say))
            try:
                while not (work.done() or stop.is_set()):
                    if live is not None:
                        live.update(_progress(demo))
                    await asyncio.wait({work, asked}, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if not work.done():
                    return None
                work.result()
            finally:
                work.cancel()
                await asyncio.wait({work}, timeout=_CLOSE_SECONDS)
            if not as_json:
                tell_decisions(console, demo.tally)
                (console.print if live is None else live.update)(_progress(demo))
            if not once:
                say("done; Ctrl-C ends the demonstration")
                await stop.wait()
        return demo

    plain = as_json or not console.is_terminal
    with contextlib.nullcontext() if plain else Live(console=console, refresh_per_second=8) as live:
        following = asyncio.create_task(follow(live))
        await asyncio.wait({following, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not started.is_set():  # otherwise it ends by itself, in good order
            following.cancel()
        await asyncio.wait({following})
        asked.cancel()
    demo = None if following.cancelled() else following.result()
    if demo is None:
        tell("demo", "interrupted before everything was done")
        return _INTERRUPTED
    if as_json:
        say_json(demo.tally.summary() | {"handlers": _outcomes(demo), "seconds": round(demo.seconds, 2)})
    return 0


def _outcomes(demo: Demo) -> dict[str, Any]:
    return summary_of(demo.application.metrics, [handler.name for handler in HANDLERS])


def _progress(demo: Demo) -> Text:
    """The inputs and outcomes of each handler, as ``assay run --drain`` tells them."""
    metrics = f"; http://{demo.address}/metrics" if demo.address else ""
    return Text("\n".join(["", *summary_lines(_outcomes(demo)), f"{demo.seconds:.1f} s{metrics}"]))
