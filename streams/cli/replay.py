"""``assay replay``: the options of all its commands, and list, show, cancel and drop. ``replay_run`` has the others."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from typer.core import TyperGroup

from schemas.replays import PLAN_NAME, ReplayPlan, ReplaySelection, ReplayState
from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import in_money, plain_table, tell
from streams.cli.replay_run import held_topics, own_topics, refused
from streams.clock import SystemClock
from streams.replay.admin import PlanStatus, cancel, drop, plan_status
from streams.replay.plan import ReplayError, ReplayRequest
from streams.replay.plan_store import NoPlanTopicError, PlanStore
from streams.replay.ranges import count
from streams.replay.transitions import existing
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
    help="Handle a part of a topic once more: `assay replay HANDLER…`.\n\nIts options are those of `assay replay run`.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": list(_HELP)},
)


def _finite(number: float | None) -> float | None:
    if number is not None and not math.isfinite(number):
        raise typer.BadParameter(f"{number:g} is no bound; leave the option out for none, where it may be")
    return number


Plan = Annotated[str, typer.Argument(help="The plan's name, as `assay replay list` has it.")]
Rate = Annotated[
    float | None,
    typer.Option("--rate", min=0.001, callback=_finite, help="Maximum records a second, over all processes."),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", min=0, callback=_finite, help="Maximum cost of models in USD.")
]
Http = Annotated[bool, typer.Option("--http", help="Serve /metrics while it runs.")]
ReadersDedupe = Annotated[
    bool, typer.Option("--readers-dedupe", help="Confirm that readers of the live topics drop duplicate ids.")
]
Force = Annotated[bool, typer.Option("--force", help="Also a plan that is only partly promoted.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


@replay.command(_RUN)
def replay_run(
    handlers: Annotated[list[str], typer.Argument(help="Which handlers.")],
    plan: Annotated[str, typer.Option("--plan", help="The plan's name; made from handler and time by default.")] = "",
    start: Annotated[
        str, typer.Option("--from", help="earliest, a time (UTC), how long ago (7d), an offset, or PARTITION:OFFSET,…")
    ] = "",
    end: Annotated[str, typer.Option("--to", help="As --from; the current end by default.")] = "",
    since: Annotated[str, typer.Option("--since", help="Start so long ago: 90m, 2h, 7d.")] = "",
    keys: Annotated[list[str] | None, typer.Option("--key", help="Only this record key; may be repeated.")] = None,
    domains: Annotated[list[str] | None, typer.Option("--domain", help="Only pages of this domain.")] = None,
    tiers: Annotated[list[str] | None, typer.Option("--tier", help="Only this tier; or A,B.")] = None,
    outcomes: Annotated[
        list[str] | None,
        typer.Option(
            "--outcome", help="Only inputs with this earlier outcome: error,timeout; FIELD=VALUE; none; dead."
        ),
    ] = None,
    judged_by: Annotated[
        Literal["model", "offline"] | None,
        typer.Option("--judged-by", help="Only inputs that it decided before."),
    ] = None,
    downstream: Annotated[bool, typer.Option("--downstream", help="Also the downstream handlers, in order.")] = False,
    to_live: Annotated[bool, typer.Option("--to-live", help="Write to the live topics, not to shadows.")] = False,
    readers_dedupe: ReadersDedupe = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Allow requests to the web.")] = False,
    rate: Rate = None,
    max_cost: MaxCost = None,
    give_way: Annotated[bool, typer.Option(help="Wait while live traffic is late.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate records, time and costs.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Only report what --config would change.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Differences that --diff shows in full.")] = 50,
    http: Http = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Make a plan and carry it out: read a part of the handlers' topics, write to topics of its own."""
    from streams.cli.replay_run import run_replay

    if diff and config is None:
        raise typer.BadParameter("it compares with another configuration: --config OTHER.yaml", param_hint="'--diff'")
    request = ReplayRequest(
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
        settings, request, start, end, since, dry_run=dry_run, other=other, limit=limit, http=http, as_json=as_json
    )


@replay.command("list")
def replay_list(
    everything: Annotated[bool, typer.Option("--all", help="Include dropped plans.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """List the plans there are, and how far each has come."""
    return run_list(_settings(config), everything, as_json)


@replay.command("show")
def replay_show(plan: Plan, as_json: AsJson = False, config: Config = None) -> int:
    """Show one plan: its stages, what they read and write, and how far it has come."""
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
    return run_cancel(_settings(config), plan, as_json)


@replay.command("promote")
def replay_promote(
    plan: Plan,
    readers_dedupe: ReadersDedupe = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Also records that make the fetch worker fetch.")] = False,
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
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("deleting needs --yes where nobody can be asked; `assay replay show` says what")
        typer.confirm(f"Delete {plan} and what it wrote for good?", abort=True)
    return run_drop(_settings(config), plan, force, as_json)


def _settings(config: Path | None) -> Settings:
    return load_settings(config).with_kafka()


def _plan_name(given: str, handlers: list[str]) -> str:
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


def run_list(settings: Settings, everything: bool, as_json: bool) -> int:
    """Tells of every plan; of those that were dropped only where everything is asked for.

    Returns:
        0, also if the cluster has no topic of plans; 1 for trouble with Kafka.
    """

    def shown(found: list[PlanStatus]) -> int:
        if as_json:
            print(json.dumps({"plans": [_described(account) for account in found]}))
        elif not found:
            print("there are no replays")
        else:
            _print_table(found)
        return 0

    async def listed(store: PlanStore) -> int:
        plans = [its for its in store.plans.values() if everything or its.state is not ReplayState.DROPPED]
        return shown(await plan_status(settings, sorted(plans, key=lambda its: its.created_at)))

    return _with_store("replay list", settings, listed, lambda: shown([]))


def run_show(settings: Settings, name: str, as_json: bool) -> int:
    """Tells all of a plan: its stages, what it reads and writes, how far it has come.

    Returns:
        0; 1 for trouble with Kafka; 2 for a plan that is none.
    """

    async def shown(store: PlanStore) -> int:
        [account] = await plan_status(settings, [existing(store.plans.get(name), name)])
        if as_json:
            print(json.dumps(_described(account) | {"entry": account.plan.to_wire()}))
        else:
            _print_plan(account)
        return 0

    return _with_store("replay show", settings, shown)


def run_cancel(settings: Settings, name: str, as_json: bool) -> int:
    """Ends a plan, on whatever machine it is worked on.

    Returns:
        0; 1 for trouble with Kafka, or where a process has not noticed yet; 2 for a plan that is none, or is over.
    """

    async def cancelled(store: PlanStore) -> int:
        account = await cancel(settings, store, name, SystemClock())
        if as_json:
            print(json.dumps(_described(account)))
        else:
            left = f"{account.remaining:,} of {account.total:,} left in {_stage_of(account.plan)}"
            print(f"{name} is cancelled, {left}; what it has written stays until `assay replay drop {name}`")
        if account.members:
            tell("replay cancel", f"{account.members} still at it: finishing what is in hand, or killed just now")
        return 1 if account.members else 0

    return _with_store("replay cancel", settings, cancelled)


def run_drop(settings: Settings, name: str, force: bool, as_json: bool) -> int:
    """Deletes what a plan has of its own, and the plan.

    Returns:
        0; 1 for trouble with Kafka; 2 for a plan that is none, or is worked on.
    """

    async def dropped(store: PlanStore) -> int:
        gone = await drop(settings, store, name, force=force)
        if as_json:
            print(json.dumps({"plan": name, "deleted": gone}))
        else:
            print(f"{name} is dropped; deleted: {', '.join(gone) or 'nothing, for nothing was there'}")
        return 0

    return _with_store("replay drop", settings, dropped)


def _with_store(
    command: str,
    settings: Settings,
    work: Callable[[PlanStore], Awaitable[int]],
    without: Callable[[], int] | None = None,
) -> int:
    async def opened() -> int:
        try:
            async with PlanStore(settings, SystemClock()) as store:
                return await work(store)
        except NoPlanTopicError as error:
            if without is not None:
                return without()
            return refused(command, error)
        except ReplayError as error:
            return refused(command, error)

    return run_with_kafka(command, settings, opened())


def _described(account: PlanStatus) -> dict[str, Any]:
    plan = account.plan
    return {
        "plan": plan.plan,
        "run": plan.run,
        "state": plan.state,
        "detail": plan.detail,
        "handlers": [stage.handler for stage in plan.stages],
        "stage": plan.stage,
        "target": plan.target,
        "total": account.total,
        "remaining": account.remaining,
        "deleted": sum(count(stage.deleted) for stage in plan.stages),
        "processes": account.members,
        "cost_usd": account.spent_usd,
        "max_cost_usd": plan.max_cost_usd,
        "created_at": plan.created_at.isoformat(),
        "updated_at": plan.updated_at.isoformat(),
        "topics": own_topics(plan),
        "held_back": held_topics(plan),
    }


def _print_table(found: list[PlanStatus]) -> None:
    rows = [
        (
            its.plan.plan,
            str(its.plan.state),
            ", ".join(stage.handler for stage in its.plan.stages),
            str(its.plan.target),
            f"{its.remaining:,} of {its.total:,}" if its.total else "",
            str(its.members or ""),
            "not known here" if its.spent_usd is None else in_money(its.spent_usd) if its.spent_usd else "",
            its.plan.updated_at.strftime("%Y-%m-%d %H:%M"),
        )
        for its in found
    ]
    console = Console()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(row))
        return
    table = plain_table()
    for name in ("plan", "state", "handlers", "target", "left", "processes", "cost", "updated"):
        table.add_column(name, justify="right" if name in ("left", "processes", "cost") else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _print_plan(account: PlanStatus) -> None:
    plan = account.plan
    print(f"{plan.plan}  {plan.state}{f': {plan.detail}' if plan.detail else ''}")
    lines: dict[str, object] = {
        "run": plan.run,
        "target": plan.target,
        "processes": account.members,
        "created": plan.created_at.isoformat(timespec="seconds"),
        "updated": plan.updated_at.isoformat(timespec="seconds"),
        "rate": "as fast as it goes" if plan.rate is None else f"{plan.rate:g}/s",
        "gives way": "to live traffic that is late" if plan.give_way else "never",
    }
    if plan.max_cost_usd is not None:
        spent = "not known here" if account.spent_usd is None else in_money(account.spent_usd)
        lines["cost"] = f"{spent} of {in_money(plan.max_cost_usd)}"
    if back := held_topics(plan):
        lines["held back"] = f"{', '.join(back)}; promote with --fetch makes that live too"
    chosen = {key: value for key, value in plan.selection.to_wire().items() if value}
    if chosen:
        lines["records"] = "; ".join(f"{key} {value}" for key, value in chosen.items())
    for what, text in lines.items():
        print(f"  {what:10} {text}")
    for number, stage in enumerate(plan.stages):
        left = f"{account.remaining:,} of {account.total:,} left" if account.total else "waits for those before it"
        state = "done" if number < plan.stage else left if number == plan.stage else "waits for those before it"
        state += f", {gone:,} deleted before they could be read" if (gone := count(stage.deleted)) else ""
        print(f"  {stage.handler}: {state}; reads {stage.topic}, writes to")
        for topic in own_topics(plan.model_copy(update={"stages": (stage,)})):
            print(f"    {topic}")


def _stage_of(plan: ReplayPlan) -> str:
    return plan.stages[min(plan.stage, len(plan.stages) - 1)].handler
