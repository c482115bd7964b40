"""``assay lag``: prints how far the consumer groups are behind, checks limits, or serves the lag to Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from rich.text import Text
from typer import Argument, Option

from streams.cli.errors import run_with_kafka
from streams.cli.output import AsJson, Config, load_settings, plain_table, say_json, table_console, tell
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler, no_such
from streams.views.amounts import in_time

if TYPE_CHECKING:
    from streams.kafka.lag import DeadLettersStanding, GroupLag

_FEW = 0.25  # the share of the retention below which the rest is red
_NARROW = 80
_WIDE = 108  # the columns that a table with topics needs


def lag(
    handlers: Annotated[list[str] | None, Argument(help="Which handlers; all by default.")] = None,
    replays: Annotated[bool, Option("--replays", help="Include groups of replays.")] = False,
    max_records: Annotated[int | None, Option(min=0, help="Exit 1 if more records wait on a topic.")] = None,
    max_seconds: Annotated[float | None, Option(min=0, help="Exit 1 if a record has waited longer.")] = None,
    serve: Annotated[
        str | None, Option(metavar="[HOST:]PORT", help="Serve the lag to Prometheus there instead.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    known = {handler.name: handler for handler in HANDLERS}
    if unknown := [name for name in handlers or () if name not in known]:
        return tell("lag", no_such("handler", unknown[0], known), 2)
    chosen = [known[name] for name in handlers or known]
    settings = load_settings(config).with_kafka()
    if serve is not None:
        return _serve(serve, settings, chosen)

    async def work() -> int:
        from streams.kafka.lag import read_dead_letters, read_lags

        groups = await read_lags(settings.kafka, chosen, SystemClock(), replays=replays)
        dead = await read_dead_letters(settings.kafka, chosen, SystemClock())
        exceeded = limits_exceeded(groups, max_records, max_seconds)
        if as_json:
            lags = [asdict(group) | {"lost": group.lost} for group in groups]
            say_json({"groups": lags, "dead_letters": [asdict(topic) for topic in dead], "exceeded": exceeded})
        else:
            show_lags(groups, dead, exceeded)
        return 1 if exceeded else 0

    return run_with_kafka("lag", settings, work())


def _serve(address: str, settings: Settings, handlers: Sequence[Handler]) -> int:
    # The import of the HTTP server takes half a second.
    from streams.cli.lag_server import address_of, serve_lag

    try:
        host, port = address_of(address)
    except ValueError as error:
        return tell("lag", str(error), 2)
    return run_with_kafka("lag", settings, serve_lag(settings, handlers, host, port))


def limits_exceeded(groups: Sequence[GroupLag], max_records: int | None, max_seconds: float | None) -> list[str]:
    """A sentence for each limit that is exceeded; None is no limit."""
    found = []
    for lag in groups:
        if lag.plan:  # a replay ends at the end of its plan, which may be far before the end of its topic
            continue
        if max_records is not None and lag.records > max_records:
            found.append(f"{lag.handler}: {lag.records:,} records wait on {lag.topic}, limit {max_records:,}")
        if max_seconds is not None and lag.late_seconds > max_seconds:
            late, limit = in_time(lag.late_seconds), in_time(max_seconds)
            found.append(f"{lag.handler}: {late} behind on {lag.topic}, limit {limit}")
    return found


def show_lags(groups: Sequence[GroupLag], dead: Sequence[DeadLettersStanding], exceeded: Sequence[str]) -> None:
    console = table_console(_NARROW)
    wide = console.width >= _WIDE
    numbers = ("behind", "oldest", "retention left", "members", "dead letters")
    table = plain_table(*(("handler", "topic") if wide else ("handler",)), numbers=numbers, apart=2 if wide else 1)
    letters = {topic.handler: topic.records for topic in dead}
    for lag in groups:
        where = _where(lag, wide)
        if not lag.delay_seconds and not lag.plan:
            count = letters.get(lag.handler)
            last = Text(f"≤ {count:,}", "yellow") if count else "-"
            table.add_row(*((lag.handler, where) if wide else (lag.handler,)), *_cells(lag), last)
        elif lag.records or lag.plan:
            table.add_row(*(("", where) if wide else (f"  {where}",)), *_cells(lag))
    console.print(table)
    for lag in groups:
        if lag.lost:
            console.print(Text(f"{lag.handler}: retention deleted {lag.lost:,} unread records of {lag.topic}", "red"))
    if missing := sorted({lag.topic for lag in groups if not lag.exists}):
        named = missing[0] if len(missing) == 1 else f"{len(missing)} topics"
        console.print(f"missing: {named}; `assay topics create` creates missing topics, and so does `assay run`")
    for sentence in exceeded:
        console.print(Text(sentence, "red"))


def _where(lag: GroupLag, wide: bool) -> str:
    if lag.delay_seconds:
        return f"waits {in_time(lag.delay_seconds)}{' to be tried again' if wide else ''}"
    if lag.plan:
        return f"replay {lag.plan}{f': {lag.topic}' if wide else ''}"
    return lag.topic


def _cells(lag: GroupLag) -> tuple[Text | str, ...]:
    if not lag.exists:
        return "-", "-", "-", str(lag.members)
    left = lag.retention_left_seconds
    urgent = left is not None and left < _FEW * (left + lag.seconds)
    return (
        f"{lag.records:,}",
        in_time(lag.seconds) if lag.records else "-",
        Text(in_time(left), "red" if urgent else ""),
        Text(str(lag.members), "red" if lag.records and not lag.members else ""),
    )
