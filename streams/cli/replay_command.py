"""``assay replay`` on the command line. The work is in ``streams.cli.replay_run…``, imported when it is called.

``assay replay HANDLER…`` makes a plan and carries it out; where the first word is a command, that is done with plans
there are. So no handler may be called as a command is, which a test looks after.
"""

from __future__ import annotations

import math
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from streams.cli.options import AsJson, Config, load_settings

if TYPE_CHECKING:
    from schemas.replays import ReplaySelection
    from streams.settings import Settings

_RUN = "run"
_HELP = ("-h", "--help")


class _HandlersFirst(TyperGroup):
    """A group of commands whose first word may be a handler instead, or an option of a new plan."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in _HELP:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


replay = typer.Typer(
    cls=_HandlersFirst,
    help="Handle a part of a topic once more: `assay replay HANDLER…`, with the options of `assay replay run`.",
    no_args_is_help=True,
    context_settings={"help_option_names": list(_HELP)},
)


def _finite(number: float | None) -> float | None:
    if number is not None and not math.isfinite(number):
        raise typer.BadParameter(f"{number:g} is no bound; leave the option out for none, where it may be")
    return number


Plan = Annotated[str, typer.Argument(help="The plan's name, as `assay replay list` has it.")]
Rate = Annotated[
    float | None,
    typer.Option("--rate", min=0.001, callback=_finite, help="Records a second at most, of all processes."),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", min=0, callback=_finite, help="USD that models may cost, in all.")
]
Http = Annotated[bool, typer.Option("--http", help="Serve /metrics while it runs.")]
ReadersDedupe = Annotated[
    bool, typer.Option("--readers-dedupe", help="Readers of the live topics take a second copy of an id for the same.")
]
Force = Annotated[bool, typer.Option("--force", help="Also a plan of which only a part is promoted.")]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask.")]


@replay.command(_RUN)
def replay_run(
    handlers: Annotated[list[str], typer.Argument(help="Which handlers.")],
    plan: Annotated[str, typer.Option("--plan", help="The plan's name; else made of the handler and the time.")] = "",
    start: Annotated[
        str, typer.Option("--from", help="earliest, a time (UTC), how long ago (7d), an offset, or PARTITION:OFFSET,…")
    ] = "",
    end: Annotated[str, typer.Option("--to", help="As --from; the end as it is now by default.")] = "",
    since: Annotated[str, typer.Option("--since", help="How long ago it starts: 90m, 2h, 7d.")] = "",
    keys: Annotated[list[str] | None, typer.Option("--key", help="Only this record key; may be repeated.")] = None,
    domains: Annotated[list[str] | None, typer.Option("--domain", help="Only pages of this domain.")] = None,
    tiers: Annotated[list[str] | None, typer.Option("--tier", help="Only this tier; or A,B.")] = None,
    outcomes: Annotated[
        list[str] | None,
        typer.Option("--outcome", help="Only what was decided so before: error,timeout; FIELD=VALUE; none; dead."),
    ] = None,
    judged_by: Annotated[
        Literal["model", "offline"] | None, typer.Option("--judged-by", help="Only what this one decided before.")
    ] = None,
    downstream: Annotated[bool, typer.Option("--downstream", help="Also the handlers below, in order.")] = False,
    to_live: Annotated[bool, typer.Option("--to-live", help="Write to the live topics, not to shadows.")] = False,
    readers_dedupe: ReadersDedupe = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="It may reach the open web.")] = False,
    rate: Rate = None,
    max_cost: MaxCost = None,
    give_way: Annotated[bool, typer.Option(help="Wait while live traffic is late.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Only say what --config would change.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Differences that --diff shows in full.")] = 50,
    http: Http = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Make a plan and carry it out: read a part of the handlers' topics, write to topics of its own."""
    from streams.cli.replay_run import run_replay
    from streams.replay.plan import Wishes

    if diff and config is None:
        raise typer.BadParameter("it compares with another configuration: --config OTHER.yaml", param_hint="'--diff'")
    wishes = Wishes(
        plan=_plan_name(plan, handlers),
        handlers=tuple(handlers),
        downstream=downstream,
        selection=_selection(keys, domains, tiers, outcomes, judged_by),
        live=to_live,
        readers_dedupe=readers_dedupe,
        fetch=fetch,
        rate=rate,
        max_cost_usd=max_cost,
        give_way=give_way,
    )
    settings = load_settings(None if diff else config).with_kafka()
    other = load_settings(config) if diff else None
    return run_replay(
        settings, wishes, start, end, since, dry_run=dry_run, other=other, limit=limit, http=http, as_json=as_json
    )


@replay.command("list")
def replay_list(
    everything: Annotated[bool, typer.Option("--all", help="Also plans that were dropped.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """List the plans there are, and how far each has come."""
    from streams.cli.replay import run_list

    return run_list(_settings(config), everything, as_json)


@replay.command("show")
def replay_show(plan: Plan, as_json: AsJson = False, config: Config = None) -> int:
    """Show one plan: its stages, what they read and write, and how far it has come."""
    from streams.cli.replay import run_show

    return run_show(_settings(config), plan, as_json)


@replay.command("resume")
def replay_resume(
    plan: Plan,
    max_cost: MaxCost = None,
    rate: Rate = None,
    http: Http = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Go on with a plan where it is, or help those that work on it."""
    from streams.cli.replay_run import run_resume

    return run_resume(_settings(config), plan, max_cost, rate, http, as_json)


@replay.command("cancel")
def replay_cancel(plan: Plan, as_json: AsJson = False, config: Config = None) -> int:
    """End a plan on whatever machine it runs, and say what is left."""
    from streams.cli.replay import run_cancel

    return run_cancel(_settings(config), plan, as_json)


@replay.command("promote")
def replay_promote(
    plan: Plan,
    readers_dedupe: ReadersDedupe = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Also what the fetch worker will go and fetch.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Copy a finished plan's results to the live topics, each once."""
    from streams.cli.replay_run import run_promote

    return run_promote(_settings(config), plan, readers_dedupe, fetch, as_json)


@replay.command("drop")
def replay_drop(
    plan: Plan, yes: Yes = False, force: Force = False, as_json: AsJson = False, config: Config = None
) -> int:
    """Delete a plan, its topics and its collections."""
    from streams.cli.replay import run_drop

    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("deleting needs --yes where nobody can be asked; `assay replay show` says what")
        typer.confirm(f"Delete {plan} and what it wrote for good?", abort=True)
    return run_drop(_settings(config), plan, force, as_json)


def _settings(config: Path | None) -> Settings:
    return load_settings(config).with_kafka()


def _plan_name(given: str, handlers: list[str]) -> str:
    from schemas.replays import PLAN_NAME

    if given and re.fullmatch(PLAN_NAME, given) is None:
        raise typer.BadParameter("a name has up to 48 of a-z, 0-9, - and _, such as rescore-2", param_hint="'--plan'")
    return given or f"{handlers[0][:24]}-{datetime.now(UTC):%Y%m%d-%H%M%S}".lower()


def _selection(
    keys: list[str] | None,
    domains: list[str] | None,
    tiers: list[str] | None,
    outcomes: list[str] | None,
    judged_by: str | None,
) -> ReplaySelection:
    from schemas.replays import ReplaySelection

    return ReplaySelection(
        keys=tuple(keys or ()),
        domains=_each(domains),
        tiers=_each(tiers),
        outcomes=_each(outcomes),
        judged_by=judged_by,
    )


def _each(given: list[str] | None) -> tuple[str, ...]:
    """Every value of an option that may be repeated, and have several with commas between them."""
    return tuple(part.strip() for text in given or () for part in text.split(",") if part.strip())
