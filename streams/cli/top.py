"""``assay top``: shows the rate, lag, age, dead letters and costs of each handler, refreshed on a terminal."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Annotated

from prometheus_client.parser import text_string_to_metric_families
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text
from typer import Option

from schemas.addresses import web_address, without_user
from streams.cli.command import AsJson, CommandError, Config, answered, load_settings, run_with_kafka
from streams.cli.output import plain_table, say_json, table_console
from streams.runtime.amounts import in_money, in_rate, in_short, in_time
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, Handler
from streams.views.flow import HandlerFlow, History, Key, lag_of, quantiles, rate, total
from streams.views.screen import Screen

if TYPE_CHECKING:
    import httpx2

    from streams.kafka.groups import GroupLag

NARROW = 80  # the columns that the narrow table needs
_WIDE = 104  # the columns that the wide table needs
_KAFKA_SECONDS = 8.0


def _age(row: HandlerFlow) -> float:
    return row.age_p99_seconds or 0.0


Cell = Callable[[HandlerFlow], Text | str]
_COLUMNS: Sequence[tuple[str, str, Cell]] = (
    ("in/s", "in/s", lambda row: in_rate(row.rate_per_second)),
    ("lag", "lag", lambda row: in_short(row.lag_records)),
    ("oldest", "oldest", lambda row: in_time(row.lag_seconds) if row.lag_records else "-"),
    ("p50", "age p50", lambda row: in_time(row.age_p50_seconds)),
    ("p99", "age p99", lambda row: Text(in_time(row.age_p99_seconds), "red" * (_age(row) > row.slo_seconds))),
    ("", "slo", lambda row: in_time(row.slo_seconds)),
    ("work", "in work", lambda row: in_short(row.in_flight)),
    ("again", "retried", lambda row: Text(in_short(row.retries), "yellow" if row.retries else "")),
    ("dead", "dead", lambda row: Text(in_short(row.dead), "red" if row.dead else "")),
    ("cost", "cost", lambda row: in_money(row.cost_usd)),
    ("", "members", lambda row: in_short(row.members)),
)
"""The name of a column in the narrow table, or "" if it is not there, its name in the wide table, and its cells."""


def top(
    urls: Annotated[
        list[str] | None, Option("--url", help="A worker's address; repeatable. A local one by default.")
    ] = None,
    every: Annotated[float, Option(min=0.2, help="Seconds between two refreshes.")] = 2.0,
    once: Annotated[bool, Option("--once", help="Print one table and exit.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    settings = load_settings(config).with_kafka()
    workers = [Worker(worker_url(url)) for url in urls or [f"{_here(settings.http.host)}:{settings.http.port}"]]

    async def work() -> int:
        console = Screen()
        async with contextlib.aclosing(_views(settings, workers, every)) as views:
            if console.is_terminal and not (once or as_json):
                # Ctrl-C ends it.
                with Live(Text("looking …"), console=console, screen=True, auto_refresh=False) as live:
                    async for view in views:
                        live.update(top_screen(view, console.width), refresh=True)
            console = table_console(NARROW)
            await anext(views)  # a rate needs two looks
            async for view in views:
                if as_json:
                    say_json(asdict(view))
                else:
                    console.print(top_screen(view, console.width))
                if once or not as_json:
                    return 0 if view.workers or not view.kafka_problem else 1
        return 0

    return run_with_kafka("top", settings, work())


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    at: str
    rows: tuple[HandlerFlow, ...]
    workers: int
    worker_problems: Mapping[str, str]
    kafka_problem: str
    cost_usd: float | None
    cost_today_usd: float | None
    budget_usd: float | None
    models_left_alone: tuple[str, ...]


async def _views(settings: Settings, workers: Sequence[Worker], every: float) -> AsyncGenerator[View, None]:
    import httpx2

    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as client:
        while True:
            (lags, problem), _ = await asyncio.gather(_read_lags(settings), look_at(workers, client))
            yield make_view(settings, workers, lags, problem)
            await asyncio.sleep(every)


async def _read_lags(settings: Settings) -> tuple[list[GroupLag], str]:
    from streams.kafka.groups import read_lags

    found = await answered(settings.kafka, _KAFKA_SECONDS, read_lags(settings.kafka, HANDLERS, SystemClock()))
    return ([], found) if isinstance(found, str) else (found, "")


def make_view(settings: Settings, workers: Sequence[Worker], lags: Sequence[GroupLag], problem: str) -> View:
    ready = [worker for worker in workers if not worker.problem]
    values = [value for worker in ready for value in worker.values.items()]
    costs = [usd for (name, *_), usd in values if name == Metrics.llm_cost_usd_total.name]
    # All workers share one budget; the smallest rest is the latest one.
    left = [usd for (name, *_), usd in values if name == Metrics.llm_budget_left_usd.name]
    budget = settings.llm.budget_usd_per_day
    return View(
        at=SystemClock().now().isoformat(timespec="seconds"),
        rows=tuple(_row(handler, ready, lags) for handler in HANDLERS),
        workers=len(ready),
        worker_problems={worker.url: worker.problem for worker in workers if worker.problem},
        kafka_problem=problem,
        cost_usd=sum(costs) if costs else None,
        cost_today_usd=max(0.0, budget - min(left)) if left and budget is not None else None,
        budget_usd=budget,
        models_left_alone=tuple(
            sorted(key[1] for key, is_open in values if key[0] == Metrics.llm_breaker_open.name and is_open)
        ),
    )


def _row(handler: Handler, workers: Sequence[Worker], lags: Sequence[GroupLag]) -> HandlerFlow:
    name = handler.name
    records, seconds, members = lag_of(name, lags)
    median, most = quantiles(workers, (0.5, 0.99), AGE_BUCKETS, name)
    here = [worker for worker in workers if (Metrics.handler_in_flight.name, name) in worker.values]
    return HandlerFlow(
        handler=name,
        rate_per_second=rate(here, Metrics.handler_events_total.name, name),
        lag_records=records,
        lag_seconds=seconds,
        members=members,
        age_p50_seconds=median,
        age_p99_seconds=most,
        slo_seconds=handler.slo_seconds,
        in_flight=total(workers, Metrics.handler_in_flight.name, name),
        retries=total(workers, Metrics.retries_total.name, name) or (0.0 if here else None),
        dead=total(workers, Metrics.dead_events_total.name, name) or (0.0 if here else None),
        cost_usd=total(workers, Metrics.llm_cost_usd_total.name, name),
        breaker_open=bool(total(workers, Metrics.breaker_open.name, name)),
    )


def top_screen(view: View, width: int) -> RenderableType:
    return Group(_head(view), _table(view, width >= _WIDE), *_problems(view))


def _head(view: View) -> Text:
    workers = f"{view.workers} worker{'' if view.workers == 1 else 's'}"
    head = Text.assemble(("assay top", "bold"), f"  {view.at[11:19]} UTC  {workers}")
    if view.cost_today_usd is not None:
        head.append(f"  models today {in_money(view.cost_today_usd)} of {in_money(view.budget_usd)}")
    elif view.cost_usd is not None:
        head.append(f"  models {in_money(view.cost_usd)} since the start")
    return head


def _table(view: View, wide: bool) -> Table:
    columns = [(full if wide else narrow, cell) for narrow, full, cell in _COLUMNS if wide or narrow]
    table = plain_table("handler", numbers=[name for name, _ in columns], apart=2 if wide else 1)
    for row in view.rows:
        handler = Text(row.handler, "red" if row.breaker_open else "dim" if row.rate_per_second is None else "")
        table.add_row(handler, *(cell(row) for _, cell in columns))
    return table


def _problems(view: View) -> Iterator[Text]:
    paused = [row.handler for row in view.rows if row.breaker_open]
    stopped = [row.handler for row in view.rows if row.lag_records and row.members == 0]
    if paused:
        yield Text(f"breaker open, intake is paused: {', '.join(paused)}", "red")
    if view.models_left_alone:
        yield Text(f"models with an open breaker: {', '.join(view.models_left_alone)}", "red")
    if stopped:
        yield Text(f"records wait, and no worker reads them: {', '.join(stopped)}", "yellow")
    if view.kafka_problem:
        yield Text(view.kafka_problem, "red")
    for url, problem in view.worker_problems.items():
        yield Text(f"{url}: {problem}; name workers with --url", "yellow")


def _here(host: str) -> str:
    """Where this machine is asked for what listens on a host."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - not an address to listen on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


_SECONDS = 4.0
_LARGEST_BYTES = 16 * 1024 * 1024
AGE_BUCKETS = f"{Metrics.event_age_seconds.name}_bucket"
_READ = {
    Metrics.handler_events_total.name: ("handler",),
    AGE_BUCKETS: ("handler", "le"),
    Metrics.handler_in_flight.name: ("handler",),
    Metrics.retries_total.name: ("handler",),
    Metrics.dead_events_total.name: ("handler",),
    Metrics.breaker_open.name: ("handler",),
    Metrics.llm_cost_usd_total.name: ("task",),
    Metrics.llm_breaker_open.name: ("model",),
    Metrics.llm_budget_left_usd.name: (),
}
"""The metrics that are read, and the labels that they are read by; the values of other labels are added."""


class Worker(History):
    """The metrics of a worker by name and labels, and why its last request failed: "" if it did not."""

    def __init__(self, url: str, problem: str = "") -> None:
        super().__init__()
        self.url = url
        self.problem = problem


def worker_url(text: str) -> str:
    """The address of a worker's metrics. Raises CommandError if the text is not an address.

    >>> worker_url("8080"), worker_url("worker-1:8080"), worker_url("https://w.example/assay/metrics")
    ('http://127.0.0.1:8080/metrics', 'http://worker-1:8080/metrics', 'https://w.example/assay/metrics')
    """
    whole = text if "://" in text else f"http://127.0.0.1:{text}" if text.isdecimal() else f"http://{text}"
    if without_user(whole) != whole:
        raise CommandError("a worker's address has no user and no password", 2)
    address = web_address(whole)
    if address and address.port != 0:
        return whole if address.path.strip("/") else whole.rstrip("/") + "/metrics"
    raise CommandError(f"{text!r} is not a worker's address, such as 8080, worker-1:8080, http://worker-1:8080", 2)


async def look_at(workers: Sequence[Worker], client: httpx2.AsyncClient) -> None:
    """Asks all workers at once; a worker that does not answer keeps its values and gets a problem."""
    await asyncio.gather(*(_look_at(worker, client) for worker in workers))


async def _look_at(worker: Worker, client: httpx2.AsyncClient) -> None:
    import httpx2

    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS), client.stream("GET", worker.url) as response:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST_BYTES:
                    break
        if response.status_code != 200:
            worker.problem = f"it answers {response.status_code}"
            return
        worker.add(asyncio.get_running_loop().time(), read_metrics(body.decode("utf-8", "replace")))
        worker.problem = ""
    except TimeoutError:
        worker.problem = "no answer"
    except ValueError as error:
        worker.problem = str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        worker.problem = type(error).__name__


def read_metrics(text: str) -> dict[Key, float]:
    """The values that are shown. Raises ValueError if the text is not the metrics of a worker."""
    values: defaultdict[Key, float] = defaultdict(float)
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        for name, labels, value, *_ in samples:
            # A value or a bound that is no number would spoil the figures of all workers.
            if (needed := _READ.get(name)) is not None and isfinite(value) and float(labels.get("le", 1)):
                values[name, *(labels[label] for label in needed)] += value
    except (ValueError, LookupError, TypeError):
        raise ValueError("its answer is not that of a worker of Assay") from None
    if not any(sample.name.startswith("assay_") for sample in samples):
        raise ValueError("it is not a worker of Assay")
    return values
