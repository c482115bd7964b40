"""``assay capacity``: forecasts what a load needs: cores, memory, partitions, disk, index, and money for models."""

from __future__ import annotations

import json
from math import isfinite
from typing import Annotated

import typer

from streams.capacity.costs import read_costs
from streams.capacity.forecast import Forecast, HandlerForecast, Load, Setup, forecast
from streams.cli.estimate import ASSUMED_MIX, size_in_words
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import in_money, in_rate, in_time, plain_table, table_console, tell
from streams.index.estimate import parse_mix
from streams.runtime.settings_files import config_dir
from streams.topology import RETENTION_DAYS

MOST_PAGES = 1e9
_HOUR = 3600


def capacity(
    pages: Annotated[float, typer.Option("--pages", help="Pages in a day, up to 1e9.")] = 1_000_000,
    page_bytes: Annotated[
        float | None, typer.Option("--page-bytes", help="HTML of a page; by default that of the measured pages.")
    ] = None,
    mix: Annotated[str, typer.Option(help="Percentages of tiers A/B/C.")] = ASSUMED_MIX,
    batches: Annotated[float, typer.Option(help="Retrieval batches in a day.")] = 0,
    sources: Annotated[float, typer.Option(help="Sources in a day that are fetched and judged for a query.")] = 0,
    claims: Annotated[float, typer.Option(help="Claims in a day.")] = 0,
    queries: Annotated[float, typer.Option(help="Ranking requests in a day.")] = 0,
    peak: Annotated[float, typer.Option(help="Rate of the busiest hour, by the average.")] = 2.0,
    outage_hours: Annotated[float, typer.Option("--outage-hours", help="Length of an outage of the workers.")] = 2.0,
    burst: Annotated[float, typer.Option(help="Rate of a burst, by the average.")] = 4.0,
    burst_hours: Annotated[float, typer.Option("--burst-hours", help="Length of a burst.")] = 1.0,
    index_days: Annotated[float, typer.Option("--index-days", help="Days whose pages are in the index.")] = 30.0,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Forecast what a load needs, from measured costs."""
    settings = load_settings(config)
    costs = read_costs(config_dir())
    try:
        shares = parse_mix(mix)
    except ValueError as error:
        return _refused(f"--mix {error}")
    load = Load(
        pages=pages,
        page_bytes=costs.page_bytes if page_bytes is None else page_bytes,
        batches=batches,
        sources=sources,
        claims=claims,
        queries=queries,
        mix=shares,
        peak=peak,
        outage_hours=outage_hours,
        burst=burst,
        burst_hours=burst_hours,
        index_days=index_days,
    )
    if problem := _problem(load):
        return _refused(problem)
    setup = Setup.of(settings)
    found = forecast(load, costs, setup)
    if as_json:
        print(json.dumps(found.to_json()))
    else:
        show_forecast(found, setup)
    return 0


def _problem(load: Load) -> str:
    """The first wrong option; "" if all can be used."""
    amounts = {
        "--pages": load.pages,
        "--batches": load.batches,
        "--sources": load.sources,
        "--claims": load.claims,
        "--queries": load.queries,
    }
    for option, amount in amounts.items():
        if not 0 <= amount <= MOST_PAGES:
            return f"{option} takes a number from 0 to {MOST_PAGES:,.0f}, not {amount:g}"
    if not any(amounts.values()):
        return f"one of {', '.join(amounts)} has to be above 0"
    if not (isfinite(load.peak) and load.peak >= 1):
        return f"--peak takes a number of at least 1, not {load.peak:g}"
    rest = {
        "--page-bytes": load.page_bytes,
        "--outage-hours": load.outage_hours,
        "--burst": load.burst,
        "--burst-hours": load.burst_hours,
        "--index-days": load.index_days,
    }
    for option, amount in rest.items():
        if not (isfinite(amount) and amount >= 0):
            return f"{option} takes a number of at least 0, not {amount:g}"
    return ""


def _refused(problem: str) -> int:
    return tell("capacity", " ".join(problem.split()), 2)


def show_forecast(found: Forecast, setup: Setup) -> None:
    """Prints a forecast as tables."""
    console = table_console()
    table = plain_table("handler", numbers=HEADS)
    for its in found.handlers:
        table.add_row(*cells(its))
    console.print(table)
    console.print()
    if found.models:
        heads = ("calls a day", "a minute at peak", "tokens a minute", "USD a day", "limits")
        table = plain_table("model", numbers=heads)
        for asked in found.models:
            table.add_row(
                asked.handler,
                f"{asked.calls:,.0f}",
                f"{asked.requests_per_minute:,.1f}",
                f"{asked.tokens_per_minute:,.0f}",
                "no price" if asked.usd is None else in_money(asked.usd),
                "enough" if asked.within_limits else "too low",
            )
        console.print(table)
        console.print()
    table = plain_table("in all", numbers=("",))
    for name, amount in sums(found, setup).items():
        table.add_row(name, amount)
    console.print(table)


HEADS = ("a day", "a second at peak", "cores at peak", "replicas", "partitions", "after outage", "after burst")


def cells(its: HandlerForecast) -> tuple[str, ...]:
    """A handler and its figures under ``HEADS``; the last two are times to catch up."""
    return (
        its.handler,
        f"{its.inputs:,.0f}",
        in_rate(its.peak_rate),
        f"{its.cores:,.2f}",
        f"{its.replicas:,}",
        f"{its.partitions:,}",
        _catch_up(its.outage_catch_up_hours),
        _catch_up(its.burst_catch_up_hours),
    )


def _catch_up(hours: float | None) -> str:
    return "never" if hours is None else in_time(hours * _HOUR)


def sums(found: Forecast, setup: Setup) -> dict[str, str]:
    """The figures of all handlers together."""
    copies = f"{setup.copies} {'copy' if setup.copies == 1 else 'copies'}"
    money = {"models, a day": "no price" if found.usd is None else in_money(found.usd)} if found.models else {}
    return {
        "cores of workers": f"{found.cores:,}",
        "memory of workers": size_in_words(found.memory_bytes),
        "cores of brokers": f"{found.broker_cores:,.2f}",
        f"Kafka, {RETENTION_DAYS} days, {copies}": size_in_words(found.kafka_bytes),
        "written at peak": f"{size_in_words(found.kafka_bytes_a_second)}/s",
        "points in the index": f"{found.index_points:,}",
        "their vectors": size_in_words(found.index_bytes),
        **money,
    }
