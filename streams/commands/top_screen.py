"""What ``assay top`` shows: a row a handler, and what is wrong below. It fits 80 columns; where there is room, more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams.commands.amounts import in_money, in_rate, in_time

NARROW = 80
"""Columns that it needs."""
_WIDE = 104
"""Columns from which on there is room for everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A handler; None is what nobody could say.

    Attributes:
        handler: Its name.
        rate_per_second: Inputs that came to an outcome, over all workers, of the last half minute.
        lag_records: Of its own topic and its retry topics.
        lag_seconds: Of the oldest of them, beyond a retry topic's own delay.
        members: Of its own topic's group.
        age_p50_seconds: From produced to done, as the buckets of the histogram allow.
        age_p99_seconds: The same, 99 in 100.
        slo_seconds: What that may be.
        in_flight: In work now.
        retries: Since the workers started.
        dead: The same.
        cost_usd: The same; None without a model.
        breaker_open: Whether intake rests because what the handler needs is down.
    """

    handler: str
    rate_per_second: float | None
    lag_records: int | None
    lag_seconds: float | None
    members: int | None
    age_p50_seconds: float | None
    age_p99_seconds: float | None
    slo_seconds: float
    in_flight: float | None
    retries: float | None
    dead: float | None
    cost_usd: float | None
    breaker_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One look at everything.

    Attributes:
        at: When, ISO 8601.
        rows: In the topology's order.
        workers: That answered.
        worker_problems: By address, why others did not.
        kafka_problem: Why there are no lags; "" where there are.
        cost_usd: Of all models since the workers started; None without one.
        cost_today_usd: Of the UTC day, where a budget is set and a worker tells what is left of it.
        budget_usd: Of a day.
        models_left_alone: Models whose breaker is open.
    """

    at: str
    rows: tuple[Row, ...]
    workers: int
    worker_problems: Mapping[str, str]
    kafka_problem: str
    cost_usd: float | None
    cost_today_usd: float | None
    budget_usd: float | None
    models_left_alone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of rows: the key that asks for it, and what comes first."""

    key: str
    by: Callable[[Row], float]


SORTS: Mapping[str, Sort] = {
    "topology": Sort("t", lambda _: 0.0),
    "rate": Sort("r", lambda row: -(row.rate_per_second or 0.0)),
    "lag": Sort("l", lambda row: -(row.lag_records or 0)),
    "age": Sort("a", lambda row: -(row.age_p99_seconds or 0.0)),
    "dead": Sort("d", lambda row: -(row.dead or 0.0)),
    "cost": Sort("c", lambda row: -(row.cost_usd or 0.0)),
}


def top_screen(view: View, sort: str, width: int, keys: bool = False) -> RenderableType:
    """The whole screen.

    Args:
        view: What is shown.
        sort: A name of ``SORTS``.
        width: Columns there are.
        keys: Whether it is a screen whose keys do something.
    """
    parts: list[RenderableType] = [_head(view), _table(view, sort, width >= _WIDE), *_problems(view)]
    if keys:
        orders = "  ".join(f"{its.key} {name}" for name, its in SORTS.items())
        parts.append(Text(f"q quit  sort by: {orders}", style="dim"))
    return Group(*parts)


def _head(view: View) -> Text:
    head = Text.assemble(
        ("assay top", "bold"), f"  {view.at[11:19]} UTC  {view.workers} worker{'' if view.workers == 1 else 's'}"
    )
    if view.cost_today_usd is not None:
        head.append(f"  models today {in_money(view.cost_today_usd)} of {in_money(view.budget_usd)}")
    elif view.cost_usd is not None:
        head.append(f"  models {in_money(view.cost_usd)} since the start")
    return head


def _table(view: View, sort: str, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2 if wide else 1, 0, 0))
    table.add_column("handler", no_wrap=True)
    narrow = ("in/s", "lag", "oldest", "p50", "p99", "work", "again", "dead", "cost")
    full = ("in/s", "lag", "oldest", "age p50", "age p99", "slo", "in work", "retried", "dead", "cost", "members")
    for name in full if wide else narrow:
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(view.rows, key=SORTS[sort].by):
        cells: list[Text | str] = [
            in_rate(row.rate_per_second),
            _whole(row.lag_records),
            in_time(row.lag_seconds) if row.lag_records else "-",
            in_time(row.age_p50_seconds),
            Text(in_time(row.age_p99_seconds), "red" if _late(row) else ""),
            *([in_time(row.slo_seconds)] if wide else []),
            _whole(row.in_flight),
            Text(_whole(row.retries), "yellow" if row.retries else ""),
            Text(_whole(row.dead), "red" if row.dead else ""),
            in_money(row.cost_usd),
            *([_whole(row.members)] if wide else []),
        ]
        handler = Text(row.handler, "red" if row.breaker_open else "dim" if row.rate_per_second is None else "")
        table.add_row(handler, *cells)
    return table


def _problems(view: View) -> Iterator[Text]:
    resting = [row.handler for row in view.rows if row.breaker_open]
    stopped = [row.handler for row in view.rows if row.lag_records and row.members == 0]
    if resting:
        yield Text(f"breaker open, intake rests: {', '.join(resting)}", "red")
    if view.models_left_alone:
        yield Text(f"models left alone for now: {', '.join(view.models_left_alone)}", "red")
    if stopped:
        yield Text(f"records wait and nobody reads: {', '.join(stopped)}", "yellow")
    if view.kafka_problem:
        yield Text(view.kafka_problem, "red")
    for url, problem in view.worker_problems.items():
        yield Text(f"{url}: {problem}; name workers with --url", "yellow")


def _late(row: Row) -> bool:
    return row.age_p99_seconds is not None and row.age_p99_seconds > row.slo_seconds


def _whole(number: float | None) -> str:
    """A count in at most six characters.

    >>> _whole(None), _whole(12.0), _whole(123456), _whole(4_560_000)
    ('-', '12', '123 k', '4.6 M')
    """
    if number is None:
        return "-"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= 10 * size or (unit == "M" and number >= size):
            return f"{number / size:.{1 if number < 10 * size else 0}f} {unit}"
    return f"{number:.0f}"
