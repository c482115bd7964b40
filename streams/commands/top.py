"""``assay top``: the handlers as they work, looked at again and again.

In: the workers' ``/metrics`` and the cluster. Out: a screen that renews itself on a terminal (q ends it, other keys
sort), a plain table elsewhere, or one line of JSON. Changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass

import httpx2
from aiokafka.errors import KafkaError
from rich.console import Console
from rich.live import Live
from rich.text import Text

from streams.clock import SystemClock
from streams.commands.kafka_trouble import explain_trouble, run_with_kafka, tell
from streams.commands.tables import table_console
from streams.commands.top_screen import NARROW, SORTS, Row, View, top_screen
from streams.commands.top_workers import Worker, WorkerAddressError, look_at, quantiles, rate, total, worker_url
from streams.settings import Settings
from streams.telemetry import metric_defs as defs
from streams.telemetry.lag import GroupLag, read_lags
from streams.topology import HANDLERS, Handler

_KAFKA_SECONDS = 8.0
_QUIT = ("q", "Q", "\x1b", "\x04", "")
"""Keys that end it; arrows begin with an escape too, but go on. The last one is a terminal that has gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopOptions:
    """What is looked at, and how it is told.

    Attributes:
        urls: Addresses of workers; empty: the one of the settings, on this machine.
        every: Seconds between two looks.
        once: Two looks, one table, and no more.
        sort: A name of ``SORTS``.
        as_json: One line of JSON a look.
    """

    urls: Sequence[str] = ()
    every: float = 2.0
    once: bool = False
    sort: str = "topology"
    as_json: bool = False


def run_top(settings: Settings, options: TopOptions) -> int:
    """Runs the command.

    Args:
        settings: The configuration; a Kafka is named in it.
        options: What is looked at, and how it is told.

    Returns:
        0; 1 for ``once`` where neither a worker nor Kafka answers; 2 for an address or an order that is none; 130 after
        Ctrl-C.
    """
    try:
        workers = [Worker(worker_url(url)) for url in options.urls or [f"{_here(settings)}:{settings.http.port}"]]
    except WorkerAddressError as error:
        tell("top", str(error))
        return 2
    if options.sort not in SORTS:
        tell("top", f"there is no order {options.sort!r}; there are {', '.join(SORTS)}")
        return 2
    return run_with_kafka("top", settings, _watch(settings, workers, options))


async def _watch(settings: Settings, workers: Sequence[Worker], options: TopOptions) -> int:
    console = Console(highlight=False)
    live = not (options.once or options.as_json) and console.is_terminal and sys.stdin.isatty()
    async with contextlib.aclosing(_views(settings, workers, options.every)) as views:
        if live:
            return await _show_live(console, views, options)
        console, first = table_console(NARROW), True
        async for view in views:
            if first:  # a rate takes two looks
                first = False
                continue
            if options.as_json:
                print(json.dumps(asdict(view)), flush=True)
            else:
                console.print(top_screen(view, options.sort, console.width))
            if options.once or not options.as_json:
                return 0 if view.kafka_problem == "" or any(not its.problem for its in workers) else 1
    return 0


async def _views(settings: Settings, workers: Sequence[Worker], every: float) -> AsyncGenerator[View, None]:
    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as client:
        while True:
            (lags, problem), _ = await asyncio.gather(_read_lags(settings), look_at(workers, client))
            yield make_view(settings, workers, lags, problem)
            await asyncio.sleep(every)


async def _read_lags(settings: Settings) -> tuple[list[GroupLag], str]:
    try:
        async with asyncio.timeout(_KAFKA_SECONDS):
            return await read_lags(settings.kafka, HANDLERS, SystemClock()), ""
    except TimeoutError:
        return [], f"Kafka at {settings.kafka.bootstrap_servers} does not answer"
    except (KafkaError, OSError, ValueError) as error:
        return [], await explain_trouble(error, settings)


def make_view(settings: Settings, workers: Sequence[Worker], lags: Sequence[GroupLag], problem: str) -> View:
    """Everything that is shown, of what the workers and the cluster said."""
    ready = [worker for worker in workers if not worker.problem]
    budget = settings.llm.budget_usd_per_day
    # Each worker tells of the same purse, as it was when it last looked.
    left = min((left for worker in ready for _, left in worker.now(defs.LLM_BUDGET_LEFT.name)), default=None)
    return View(
        at=SystemClock().now().isoformat(timespec="seconds"),
        rows=tuple(_row(handler, ready, [lag for lag in lags if lag.handler == handler.name]) for handler in HANDLERS),
        workers=len(ready),
        worker_problems={worker.url: worker.problem for worker in workers if worker.problem},
        kafka_problem=problem,
        cost_usd=total(ready, defs.LLM_COST),
        cost_today_usd=None if left is None or budget is None else max(0.0, budget - left),
        budget_usd=budget,
        models_left_alone=tuple(
            sorted(its["model"] for w in ready for its, on in w.now(defs.LLM_BREAKER_OPEN.name) if on)
        ),
    )


def _row(handler: Handler, workers: Sequence[Worker], lags: Sequence[GroupLag]) -> Row:
    name = handler.name
    median, most = quantiles(workers, defs.EVENT_AGE, (0.5, 0.99), handler=name)
    here = [worker for worker in workers if any(True for _ in worker.now(defs.HANDLER_IN_FLIGHT.name, handler=name))]
    return Row(
        handler=name,
        rate_per_second=rate(here, defs.HANDLER_EVENTS, handler=name),
        lag_records=sum(lag.records for lag in lags) if lags else None,
        lag_seconds=max(max(0.0, lag.seconds - lag.delay_seconds) for lag in lags) if lags else None,
        members=next((lag.members for lag in lags if not lag.delay_seconds), None),
        age_p50_seconds=median,
        age_p99_seconds=most,
        slo_seconds=handler.slo_seconds,
        in_flight=total(workers, defs.HANDLER_IN_FLIGHT, handler=name),
        retries=total(workers, defs.RETRIES, handler=name) or (0.0 if here else None),
        dead=total(workers, defs.DEAD_EVENTS, handler=name) or (0.0 if here else None),
        cost_usd=total(workers, defs.LLM_COST, task=name),
        breaker_open=bool(total(workers, defs.BREAKER_OPEN, handler=name)),
    )


async def _show_live(console: Console, views: AsyncIterator[View], options: TopOptions) -> int:
    """Shows each view as it comes, until a key ends it."""
    events: asyncio.Queue[View | str] = asyncio.Queue()

    async def follow() -> None:
        async for view in views:
            events.put_nowait(view)

    with _keys_into(events), Live(Text("looking …"), console=console, screen=True, auto_refresh=False) as live:
        following = asyncio.create_task(follow())
        following.add_done_callback(lambda _: events.put_nowait(_QUIT[0]))
        sort, view = options.sort, None
        try:
            while (event := await events.get()) not in _QUIT:
                if isinstance(event, View):
                    view = event
                else:
                    sort = next((name for name, its in SORTS.items() if its.key == event), sort)
                if view is not None:
                    live.update(top_screen(view, sort, console.width, keys=True), refresh=True)
            if following.done():
                following.result()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    return 0


@contextlib.contextmanager
def _keys_into(events: asyncio.Queue[View | str]) -> Iterator[None]:
    """Puts the keys that are pressed among the events; the terminal is as before afterwards."""
    import termios
    import tty

    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, lambda: events.put_nowait(os.read(descriptor, 16).decode("utf-8", "replace")))
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _here(settings: Settings) -> str:
    host = settings.http.host
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - nothing listens here
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
