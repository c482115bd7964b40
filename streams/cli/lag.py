"""``assay lag``: how far each handler's groups are behind, for people, for scripts, and for Prometheus.

In: the cluster. Out: a table, one line of JSON, an exit status that a script can test, or an address to be scraped. A
worker only tells of the partitions that it holds, so a handler that is stopped is seen here and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated

import typer
from rich.text import Text

from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import in_time, plain_table, table_console, tell
from streams.clock import SystemClock
from streams.kafka.lag import DeadLettersStanding, GroupLag, read_dead_letters, read_lags
from streams.settings import Settings
from streams.topology import HANDLERS, Handler, no_such

_FEW = 0.25
"""Share of the retention below which what is left of it is worth a colour."""
_NARROW = 80
_WIDE = 108
"""Columns from which on there is room for the topics."""


def lag(
    handlers: Annotated[list[str] | None, typer.Argument(help="Which handlers; all by default.")] = None,
    replays: Annotated[bool, typer.Option("--replays", help="Include groups of replays.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every --every seconds.")] = False,
    every: Annotated[float, typer.Option(min=0.5, help="Seconds between two refreshes of --watch.")] = 5.0,
    max_records: Annotated[
        int | None, typer.Option("--max-records", min=0, help="Exit 1 if more records wait on a topic.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", min=0, help="Exit 1 if a record has waited longer.")
    ] = None,
    serve: Annotated[
        str | None, typer.Option("--serve", metavar="[HOST:]PORT", help="Serve the lag to Prometheus there instead.")
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Tell how far each consumer group is behind, also one that is stopped."""
    options = LagOptions(
        replays=replays,
        watch_seconds=every if watch else None,
        max_records=max_records,
        max_seconds=max_seconds,
        serve=serve,
        as_json=as_json,
    )
    return run_lag(handlers or [], load_settings(config).with_kafka(), options)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagOptions:
    """What of the lag is told, and how.

    Attributes:
        replays: Also groups of replays.
        watch_seconds: Tell again so often; None once.
        max_records: More than that on any topic is too much; None never.
        max_seconds: Older than that, beyond a retry topic's own delay, is too old; None never.
        serve: ``[HOST:]PORT`` for Prometheus, instead of telling.
        as_json: One line of JSON each time.
    """

    replays: bool = False
    watch_seconds: float | None = None
    max_records: int | None = None
    max_seconds: float | None = None
    serve: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class _Told:
    groups: Sequence[GroupLag]
    dead: Sequence[DeadLettersStanding]
    exceeded: Sequence[str] = field(default_factory=list)


def run_lag(names: Sequence[str], settings: Settings, options: LagOptions) -> int:
    """Runs the command.

    Args:
        names: Which handlers; all where empty.
        settings: The configuration; a Kafka is named in it.
        options: What is told, and how.

    Returns:
        0; 1 where a limit is exceeded, and for trouble with Kafka; 2 for a handler or an address that is none; 130
        after Ctrl-C.
    """
    known = {handler.name: handler for handler in HANDLERS}
    if unknown := [name for name in names if name not in known]:
        tell("lag", no_such("handler", unknown[0], known))
        return 2
    handlers = [known[name] for name in names] or list(HANDLERS)
    if options.serve is None:
        return run_with_kafka("lag", settings, _tell(settings, handlers, options))
    return _serve(options.serve, settings, handlers)


def _serve(place: str, settings: Settings, handlers: Sequence[Handler]) -> int:
    # What answers HTTP takes half a second to import, which telling doesn't need.
    from streams.cli.lag_server import ServerAddressError, address_of, serve_lag

    try:
        host, port = address_of(place)
        return run_with_kafka("lag", settings, serve_lag(settings, handlers, host, port))
    except ServerAddressError as error:
        tell("lag", str(error))
        return 2


async def _tell(settings: Settings, handlers: Sequence[Handler], options: LagOptions) -> int:
    while True:
        groups = await read_lags(settings.kafka, handlers, SystemClock(), replays=options.replays)
        dead = await read_dead_letters(settings.kafka, handlers, SystemClock())
        told = _Told(groups, dead, list(_exceeded(groups, options)))
        if options.as_json:
            print(json.dumps(_as_json(told)), flush=True)
        else:
            if options.watch_seconds is not None:
                table_console().print(Text(f"{SystemClock().now():%H:%M:%S} UTC", "bold"))
            _show(told)
        if options.watch_seconds is None:
            return 1 if told.exceeded else 0
        await asyncio.sleep(options.watch_seconds)


def _exceeded(groups: Sequence[GroupLag], options: LagOptions) -> list[str]:
    """A sentence for each limit that is exceeded."""
    found = []
    for lag in groups:
        if lag.plan:  # a replay ends where its plan does, which may be far from its topic's end
            continue
        late = lag.seconds - lag.delay_seconds
        if options.max_records is not None and lag.records > options.max_records:
            found.append(f"{lag.handler}: {lag.records:,} records wait on {lag.topic}, {options.max_records:,} may")
        if options.max_seconds is not None and late > options.max_seconds:
            found.append(f"{lag.handler}: {in_time(late)} behind on {lag.topic}, {in_time(options.max_seconds)} may be")
    return found


def _as_json(told: _Told) -> dict[str, object]:
    return {
        "groups": [asdict(lag) | {"lost": lag.lost} for lag in told.groups],
        "dead_letters": [asdict(standing) for standing in told.dead],
        "exceeded": told.exceeded,
    }


def _show(told: _Told) -> None:
    console = table_console(_NARROW)
    wide = console.width >= _WIDE
    table = plain_table(2 if wide else 1)
    for name in ("handler", "topic") if wide else ("handler",):
        table.add_column(name, no_wrap=True)
    for name in ("behind", "oldest", "retention left", "members", "dead letters"):
        table.add_column(name, justify="right", no_wrap=True)
    dead = {standing.handler: standing for standing in told.dead}
    for lag in told.groups:
        where, cells = _where(lag, wide), _cells(lag)
        if not lag.delay_seconds and not lag.plan:
            table.add_row(*([lag.handler, where] if wide else [lag.handler]), *cells, _dead(dead.get(lag.handler)))
        elif lag.records or lag.plan:
            table.add_row(*(["", where] if wide else [f"  {where}"]), *cells)
    console.print(table)
    for lag in told.groups:
        if lag.lost:
            console.print(Text(f"{lag.handler}: retention took {lag.lost:,} records of {lag.topic} unread", "red"))
    if missing := sorted({lag.topic for lag in told.groups if not lag.exists}):
        named = missing[0] if len(missing) == 1 else f"{len(missing)} topics"
        console.print(f"not made yet: {named}; `assay topics create` makes what is missing, and so does `assay run`")
    for sentence in told.exceeded:
        console.print(Text(sentence, "red"))


def _where(lag: GroupLag, wide: bool) -> str:
    """What stands beside the handler's name, or below it where there is no room."""
    if lag.delay_seconds:
        return (
            f"waits {in_time(lag.delay_seconds)} to be tried again" if wide else f"waits {in_time(lag.delay_seconds)}"
        )
    if lag.plan:
        return f"replay {lag.plan}: {lag.topic}" if wide else f"replay {lag.plan}"
    return lag.topic


def _cells(lag: GroupLag) -> tuple[Text | str, ...]:
    if not lag.exists:
        return "-", "-", "-", str(lag.members)
    left, seconds = lag.retention_left_seconds, lag.seconds
    urgent = left is not None and left < _FEW * (left + seconds)
    stopped = lag.records > 0 and not lag.members
    return (
        f"{lag.records:,}",
        in_time(seconds) if lag.records else "-",
        Text(in_time(left), "red" if urgent else ""),
        Text(str(lag.members), "red" if stopped else ""),
    )


def _dead(standing: DeadLettersStanding | None) -> Text:
    if standing is None or not standing.records:
        return Text("-")
    return Text(f"≤ {standing.records:,}", "yellow")
