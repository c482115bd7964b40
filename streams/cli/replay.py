"""``assay replay list|show|cancel|drop``: the plans there are, how far each has come, and their end."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from rich.console import Console

from schemas.replays import ReplayPlan, ReplayState
from streams.cli.errors import run_with_kafka, tell
from streams.cli.output import in_money, plain_table
from streams.cli.replay_run import held_topics, own_topics, refused
from streams.clock import SystemClock
from streams.replay.admin import Account, accounts, cancel, drop, known
from streams.replay.ledger import Ledger, NoLedgerError
from streams.replay.plan import ReplayError
from streams.replay.ranges import count
from streams.settings import Settings


def run_list(settings: Settings, everything: bool, as_json: bool) -> int:
    """Tells of every plan; of those that were dropped only where everything is asked for.

    Returns:
        0, also where the cluster has no ledger; 1 for trouble with Kafka.
    """

    def shown(found: list[Account]) -> int:
        if as_json:
            print(json.dumps({"plans": [_described(account) for account in found]}))
        elif not found:
            print("there are no replays")
        else:
            _print_table(found)
        return 0

    async def listed(ledger: Ledger) -> int:
        plans = [its for its in ledger.plans.values() if everything or its.state is not ReplayState.DROPPED]
        return shown(await accounts(settings, sorted(plans, key=lambda its: its.created_at)))

    return _with_ledger("replay list", settings, listed, lambda: shown([]))


def run_show(settings: Settings, name: str, as_json: bool) -> int:
    """Tells all of a plan: its stages, what it reads and writes, how far it has come.

    Returns:
        0; 1 for trouble with Kafka; 2 for a plan that is none.
    """

    async def shown(ledger: Ledger) -> int:
        [account] = await accounts(settings, [known(ledger.plans.get(name), name)])
        if as_json:
            print(json.dumps(_described(account) | {"entry": account.plan.to_wire()}))
        else:
            _print_plan(account)
        return 0

    return _with_ledger("replay show", settings, shown)


def run_cancel(settings: Settings, name: str, as_json: bool) -> int:
    """Ends a plan, on whatever machine it is worked on.

    Returns:
        0; 1 for trouble with Kafka, or where a process has not noticed yet; 2 for a plan that is none, or is over.
    """

    async def cancelled(ledger: Ledger) -> int:
        account = await cancel(settings, ledger, name, SystemClock())
        if as_json:
            print(json.dumps(_described(account)))
        else:
            left = f"{account.remaining:,} of {account.total:,} left in {_stage_of(account.plan)}"
            print(f"{name} is cancelled, {left}; what it has written stays until `assay replay drop {name}`")
        if account.members:
            tell("replay cancel", f"{account.members} still at it: finishing what is in hand, or killed just now")
        return 1 if account.members else 0

    return _with_ledger("replay cancel", settings, cancelled)


def run_drop(settings: Settings, name: str, force: bool, as_json: bool) -> int:
    """Deletes what a plan has of its own, and the plan.

    Returns:
        0; 1 for trouble with Kafka; 2 for a plan that is none, or is worked on.
    """

    async def dropped(ledger: Ledger) -> int:
        gone = await drop(settings, ledger, name, force=force)
        if as_json:
            print(json.dumps({"plan": name, "deleted": gone}))
        else:
            print(f"{name} is dropped; deleted: {', '.join(gone) or 'nothing, for nothing was there'}")
        return 0

    return _with_ledger("replay drop", settings, dropped)


def _with_ledger(
    command: str,
    settings: Settings,
    work: Callable[[Ledger], Awaitable[int]],
    without: Callable[[], int] | None = None,
) -> int:
    async def opened() -> int:
        try:
            async with Ledger(settings, SystemClock()) as ledger:
                return await work(ledger)
        except NoLedgerError as error:
            if without is not None:
                return without()
            return refused(command, error)
        except ReplayError as error:
            return refused(command, error)

    return run_with_kafka(command, settings, opened())


def _described(account: Account) -> dict[str, Any]:
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


def _print_table(found: list[Account]) -> None:
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


def _print_plan(account: Account) -> None:
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
