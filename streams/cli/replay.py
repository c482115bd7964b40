"""``assay replay``: its commands; ``replay_run`` previews plans and carries them out."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, BadParameter, Option
from typer.core import TyperGroup

from schemas.replays import PLAN_NAME, ReplaySelection, ReplayState
from streams.cli.command import AsJson, Config, command_group, confirm, load_settings, run_with_kafka
from streams.cli.output import print_rows, show, tell
from streams.replay.plan import ReplayRequest, existing, make_plan, routes, stage_of
from streams.runtime.amounts import in_money
from streams.runtime.clock import SystemClock
from streams.runtime.terminal import printable
from streams.settings.model import Settings

if TYPE_CHECKING:
    from streams.replay.admin import PlanStatus
    from streams.replay.plan_store import PlanStore

_RUN = "run"
_HELP = ("-h", "--help")


class _HandlersFirst(TyperGroup):
    """A group of commands whose first word may be a handler instead, or an option of a new plan."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in _HELP:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


replay = command_group("Its options are those of `assay replay run`.", _HandlersFirst)


def _finite(number: float | None) -> float | None:
    if number is not None and not math.isfinite(number):
        raise BadParameter(f"{number:g} is not a limit; leave the option out for no limit")
    return number


Plan = Annotated[str, Argument(help="The plan's name; `assay replay list` lists them.")]
Rate = Annotated[
    float | None, Option("--rate", min=0.001, callback=_finite, help="Maximum records a second, over all processes.")
]
MaxCost = Annotated[float | None, Option("--max-cost", min=0, callback=_finite, help="Maximum cost of models in USD.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of every command that carries a plan out."""

    rate: Rate = None
    max_cost: MaxCost = None
    allow_missing: Annotated[
        bool, Option("--allow-missing", help="Exit 0 although records of the range are deleted.")
    ] = False
    http: Annotated[bool, Option("--http", help="Serve /metrics while it runs.")] = False
    as_json: AsJson = False
    config: Config = None


ReadersDedupe = Annotated[
    bool, Option("--readers-dedupe", help="Confirm that readers of the live topics drop duplicate ids.")
]


@replay.command(_RUN)
def replay_run(
    handler: Annotated[str, Argument(help="Which handler.")],
    options: RunOptions,
    plan: Annotated[str, Option(help="The plan's name; made from handler and time by default.")] = "",
    start: Annotated[
        str, Option("--from", help="earliest, a time (UTC), how long ago (7d), an offset, or PARTITION:OFFSET,…")
    ] = "",
    end: Annotated[str, Option("--to", help="As --from; the current end by default.")] = "",
    since: Annotated[str, Option(help="Start so long ago: 90m, 2h, 7d.")] = "",
    keys: Annotated[list[str] | None, Option("--key", help="Only this record key; may be repeated.")] = None,
    domains: Annotated[list[str] | None, Option("--domain", help="Only pages of this domain.")] = None,
    tiers: Annotated[list[str] | None, Option("--tier", help="Only this tier; or A,B.")] = None,
    outcomes: Annotated[
        list[str] | None,
        Option("--outcome", help="Only inputs with this earlier outcome: error,timeout; FIELD=VALUE; none; dead."),
    ] = None,
    judged_by: Annotated[Literal["model", "offline"] | None, Option(help="Only inputs that it decided before.")] = None,
    to_live: Annotated[bool, Option("--to-live", help="Write to the live topics, not to shadows.")] = False,
    readers_dedupe: ReadersDedupe = False,
    fetch: Annotated[bool, Option("--fetch", help="Allow requests to the web.")] = False,
    give_way: Annotated[bool, Option(help="Wait while live traffic is behind.")] = True,
    dry_run: Annotated[bool, Option("--dry-run", help="Only estimate records, time and costs.")] = False,
    diff: Annotated[bool, Option("--diff", help="Only report what --config would change.")] = False,
    limit: Annotated[int, Option(min=0, help="Differences that --diff shows in full.")] = 50,
) -> int:
    """Make a plan and carry it out: read a part of the handler's topic, write to topics of its own."""
    from streams.cli.replay_run import NewPlan, carry_out, preview
    from streams.replay.ranges import bounds_of

    if diff and options.config is None:
        raise BadParameter("it compares with another configuration: --config OTHER.yaml", param_hint="'--diff'")
    request = ReplayRequest(
        plan=_plan_name(plan, handler),
        handler=handler,
        selection=ReplaySelection(
            keys=tuple(keys or ()),
            domains=_values(domains),
            tiers=_values(tiers),
            outcomes=_values(outcomes),
            judged_by=judged_by,
        ),
        live=to_live,
        readers_dedupe=readers_dedupe,
        fetch=fetch,
        rate=options.rate,
        max_cost_usd=options.max_cost,
        give_way=give_way,
    )
    settings, now = load_settings(None if diff else options.config).with_kafka(), datetime.now(UTC)
    bounds = bounds_of(start, end, since, now)
    if dry_run or diff:
        other = load_settings(options.config) if diff else None
        return run_with_kafka("replay", settings, preview(settings, other, request, bounds, options, limit))
    # Refuses wrong usage before Kafka is needed.
    return carry_out("replay", settings, NewPlan(make_plan(request, settings, now), bounds), options)


@replay.command("list")
def replay_list(
    everything: Annotated[bool, Option("--all", help="Include dropped plans.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """List the plans and their progress."""
    settings = load_settings(config).with_kafka()

    async def listed(store: PlanStore) -> int:
        from streams.replay.admin import plan_status

        plans = [plan for plan in store.plans.values() if everything or plan.state is not ReplayState.DROPPED]
        found = await plan_status(settings, sorted(plans, key=lambda plan: plan.created_at))
        if as_json or not found:
            return show(as_json, {"plans": [account.to_wire() for account in found]}, "there are no replays")
        rows = [
            (
                account.plan.plan,
                str(account.plan.state),
                stage_of(account.plan).handler,
                str(account.plan.target),
                f"{account.remaining:,} of {account.total:,}" if account.total else "",
                str(account.members or ""),
                _money(account.spent_usd) if account.spent_usd != 0 else "",
                account.plan.updated_at.strftime("%Y-%m-%d %H:%M"),
            )
            for account in found
        ]
        columns = ("plan", "state", "handlers", "target", "left", "processes", "cost", "updated")
        print_rows(columns, rows, right=("left", "processes", "cost"))
        return 0

    return _with_store("replay list", settings, listed)


@replay.command("show")
def replay_show(plan: Plan, as_json: AsJson = False, config: Config = None) -> int:
    """Show one plan: its handler, its topics, and its progress."""
    settings = load_settings(config).with_kafka()

    async def shown(store: PlanStore) -> int:
        from streams.replay.admin import plan_status

        [account] = await plan_status(settings, [existing(store.plans.get(plan), plan)])
        return show(as_json, account.to_wire() | {"entry": account.plan.to_wire()}, *_plan_lines(account))

    return _with_store("replay show", settings, shown)


@replay.command("resume")
def replay_resume(plan: Plan, options: RunOptions) -> int:
    """Continue a plan, or share it with the processes that work on it."""
    from streams.cli.replay_run import carry_out

    return carry_out("replay resume", load_settings(options.config).with_kafka(), plan, options)


@replay.command("cancel")
def replay_cancel(plan: Plan, as_json: AsJson = False, config: Config = None) -> int:
    """Stop a plan in all processes, and report what is left."""
    settings = load_settings(config).with_kafka()

    async def cancelled(store: PlanStore) -> int:
        from streams.replay.admin import cancel

        account = await cancel(settings, store, plan, SystemClock())
        left = f"{account.remaining:,} of {account.total:,} left in {stage_of(account.plan).handler}"
        done = f"{plan} is cancelled, {left}; its output remains until `assay replay drop {plan}`"
        show(as_json, account.to_wire(), done)
        if account.members:
            busy = f"{account.members} processes have not left its group: they are finishing, or were killed just now"
            tell("replay cancel", busy)
        return 1 if account.members else 0

    return _with_store("replay cancel", settings, cancelled)


@replay.command("drop")
def replay_drop(
    plan: Plan,
    yes: Annotated[bool, Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Delete a plan and its topics."""
    confirm(yes, f"Delete {printable(plan)} and its output?", "see `assay replay show`")
    settings = load_settings(config).with_kafka()

    async def dropped(store: PlanStore) -> int:
        from streams.replay.admin import drop

        gone = await drop(settings, store, plan)
        done = f"{plan} is dropped; deleted: {', '.join(gone) or 'nothing, because it had nothing'}"
        return show(as_json, {"plan": plan, "deleted": gone}, done)

    return _with_store("replay drop", settings, dropped)


def _plan_name(given: str, handler: str) -> str:
    if given and re.fullmatch(PLAN_NAME, given) is None:
        raise BadParameter("a name has up to 48 of a-z, 0-9, - and _, such as rescore-2", param_hint="'--plan'")
    return given or f"{handler[:24]}-{datetime.now(UTC):%Y%m%d-%H%M%S}".lower()


def _values(given: list[str] | None) -> tuple[str, ...]:
    """The values of an option that may be repeated, and may have several values with commas between them."""
    return tuple(part.strip() for text in given or () for part in text.split(",") if part.strip())


def _with_store(command: str, settings: Settings, work: Callable[[PlanStore], Awaitable[int]]) -> int:
    from streams.replay.plan_store import PlanStore

    async def opened() -> int:
        async with PlanStore(settings, SystemClock()) as store:
            return await work(store)

    return run_with_kafka(command, settings, opened())


def _money(usd: float | None) -> str:
    return "not known here" if usd is None else in_money(usd)


def _plan_lines(account: PlanStatus) -> Iterator[str]:
    from streams.replay.ranges import count

    plan = account.plan
    yield f"{plan.plan}  {plan.state}{f': {plan.detail}' if plan.detail else ''}"
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
        lines["cost"] = f"{_money(account.spent_usd)} of {in_money(plan.max_cost_usd)}"
    if chosen := [f"{key} {value}" for key, value in plan.selection.to_wire().items() if value]:
        lines["records"] = "; ".join(chosen)
    yield from (f"  {what:10} {text}" for what, text in lines.items())
    stage = stage_of(plan)
    state = "done" if plan.is_done else f"{account.remaining:,} of {account.total:,} left"
    state += f", {gone:,} deleted before they could be read" if (gone := count(stage.deleted)) else ""
    yield f"  {stage.handler}: {state}; reads {stage.topic}, writes to"
    yield from (f"    {topic}" for topic in routes(plan).values())
