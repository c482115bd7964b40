"""Runs ``assay replay``: previews a plan, or makes it and carries it out with its progress."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from prometheus_client import CollectorRegistry, make_asgi_app
from rich.text import Text

from schemas.replays import ReplayPlan, ReplayState, ReplayTarget
from streams.cli.command import CommandError, run_with_kafka, stop_on_signals
from streams.cli.comparison import print_comparison
from streams.cli.output import plain_table, say_json, show, table_console, tell
from streams.cli.progress import ProgressLine
from streams.cli.replay import RunOptions
from streams.cli.run import outdated_writes
from streams.http.server import HttpServer
from streams.kafka.topics import create_topics
from streams.replay.admin import create, resolved
from streams.replay.budget import cost_problems
from streams.replay.comparisons import compare, comparison_of, not_comparable
from streams.replay.estimate import Estimate, HandlerEstimate, estimate, offsets_read
from streams.replay.plan import ReplayError, ReplayRequest, ReplayTroubleError, handler_of, make_plan, routes, stage_of
from streams.replay.plan_store import PlanSession, PlanStore
from streams.replay.processor import ReplayProgress
from streams.replay.ranges import Bound, count, places_of
from streams.replay.run import run_plan
from streams.replay.selection import raw_record, read_selected
from streams.runtime.amounts import in_bytes, in_money, in_time
from streams.runtime.clock import SystemClock
from streams.runtime.process import freeze_gc
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import configure_logs
from streams.views.screen import Screen


def show_progress(line: ProgressLine, progress: ReplayProgress) -> None:
    notes = (
        in_money(progress.spent_usd) if progress.spent_usd else "",
        f"{progress.dead:,} dead" if progress.dead else "",
        f"{progress.members} processes" if progress.members > 1 else "",
        progress.note,
    )
    done = progress.total - progress.remaining
    line.set(progress.handler, done, progress.total, [note for note in notes if note])


_POLITE = 10  # the niceness that a replay adds, so that live traffic on the same machine goes first
_GOES_ON = (ReplayState.PAUSED, ReplayState.RUNNING)

Bounds = tuple[Bound, Bound]


async def preview(
    settings: Settings, other: Settings | None, request: ReplayRequest, bounds: Bounds, options: RunOptions, limit: int
) -> int:
    """Estimates a plan; with another configuration, reports what that would change. Nothing is written."""
    # A preview costs nothing, so it needs no cost limit.
    free = replace(request, max_cost_usd=request.max_cost_usd or 0.0)
    plan = make_plan(free, settings, datetime.now(UTC)).model_copy(update={"max_cost_usd": request.max_cost_usd})
    plan = await _resolved(settings, plan, bounds, options)
    if other is None:
        return await tell_estimate(settings, plan, options.as_json)
    return await tell_diff(settings, other, plan, limit, options.as_json)


async def _resolved(settings: Settings, plan: ReplayPlan, bounds: Bounds, options: RunOptions) -> ReplayPlan:
    """The plan with its ranges; empty ranges are usually a mistake, so there is a warning."""
    plan = await resolved(settings, plan, bounds, partial(tell, "replay"), allow_missing=options.allow_missing)
    stage = stage_of(plan)
    if not count(stage.ranges):
        tell("replay", f"warning: {stage.topic} has no records between --from and --to for {stage.handler}")
    return plan


class NewPlan(NamedTuple):
    """A plan that is made now, without its ranges."""

    plan: ReplayPlan
    bounds: Bounds


def carry_out(command: str, settings: Settings, of: str | NewPlan, options: RunOptions) -> int:
    """Carries out a new plan, or goes on with the plan of that name, under its own terms or those of the options."""
    configure_logs("warning", settings.logs.format)
    os.nice(_POLITE)
    return run_with_kafka(command, settings, _carry_out(command, settings, of, options))


async def _carry_out(command: str, settings: Settings, of: str | NewPlan, options: RunOptions) -> int:
    made = await _resolved(settings, *of, options) if isinstance(of, NewPlan) else None
    name = made.plan if made is not None else str(of)
    if made is not None and not count(stage_of(made).ranges):
        if options.as_json:
            nothing = dict.fromkeys(("replayed", "passed_over", "dead", "deleted", "outdated", "remaining"), 0)
            say_json({"plan": name, "run": None, "state": None, **nothing, "topics": []})
        return 0
    stop, began = stop_on_signals(), time.monotonic()
    if settings.kafka.create_topics:
        await create_topics(settings.kafka)
    metrics = Metrics(CollectorRegistry())
    plan: ReplayPlan | None = None

    def summarize(plan: ReplayPlan, session: PlanSession) -> None:
        seconds = time.monotonic() - began
        _summarize(plan, session.progress, seconds, outdated_writes(metrics), options.as_json)

    async with AsyncExitStack() as open_now:
        if options.http:
            served = settings.http.model_copy(update={"enabled": True})
            server = await open_now.enter_async_context(HttpServer(make_asgi_app(metrics.registry), served))
            tell(command, f"metrics at http://{server.address}/metrics")
        store = await open_now.enter_async_context(PlanStore(settings, SystemClock()))
        freeze_gc()
        report = partial(show_progress, open_now.enter_context(ProgressLine(command, "waiting for partitions")))
        session = PlanSession(settings, store, name, SystemClock(), metrics, stop, report)
        try:
            if made is not None:
                await create(settings, store, made, made.created_at)
            terms = {"max_cost_usd": options.max_cost, "rate": options.rate} if made is None else {}
            plan = await run_plan(session, {name: value for name, value in terms.items() if value is not None})
        finally:
            error = sys.exception()
            is_usage = isinstance(error, ReplayError) and not isinstance(error, ReplayTroubleError)
            if plan is None and (last := store.plans.get(name)) is not None and not is_usage:
                # Whatever failed, the plan exists by now: print its name and its progress.
                summarize(last, session)
    summarize(plan, session)
    if plan.state is ReplayState.FINISHED:
        return 0 if options.allow_missing or not stage_of(plan).deleted else 1
    return 130 if stop.is_set() else 1


def _summarize(plan: ReplayPlan, done: ReplayProgress, seconds: float, outdated: int, as_json: bool) -> None:
    deleted = max(done.deleted, count(stage_of(plan).deleted))
    topics = list(routes(plan).values())
    counts = {"replayed": done.replayed, "passed_over": done.passed_over, "dead": done.dead, "deleted": deleted}
    counts["outdated"] = outdated
    remaining = 0 if plan.is_done else done.remaining if done.handler else None
    left = {"remaining": remaining, "cost_usd": done.spent_usd, "seconds": round(seconds, 2), "topics": topics}
    where = {"plan": plan.plan, "run": plan.run, "state": plan.state, "detail": plan.detail}
    counted = f"{done.replayed:,} replayed" + (f", {done.passed_over:,} passed over" if done.passed_over else "")
    counted += f", {done.dead:,} dead" if done.dead else ""
    counted += f", {outdated:,} of {done.replayed:,} outdated" if outdated else ""
    counted += f", {in_money(done.spent_usd)}" if done.spent_usd else ""
    places = f": {places_of(stage_of(plan).deleted)}" if stage_of(plan).deleted else ""
    lost = f"{deleted:,} offsets were deleted (retention) before they could be read{places}"
    is_shadow = plan.state is ReplayState.FINISHED and plan.target is ReplayTarget.SHADOW
    notes = (
        plan.detail,
        f"why they are dead: `assay dlq list --each --plan {plan.plan}`" if done.dead else "",
        lost if deleted else "",
        f"continue with `assay replay resume {plan.plan}`" if plan.state in _GOES_ON else "",
        f"results: {', '.join(topics)}" if is_shadow else "",
    )
    head = f"{plan.plan} is {plan.state}: {counted}, in {in_time(seconds)} here"
    show(as_json, where | counts | left, head, *(f"  {note}" for note in notes if note))


async def tell_estimate(settings: Settings, plan: ReplayPlan, as_json: bool) -> int:
    with ProgressLine("replay", "estimating", offsets_read(settings, plan)) as advance:
        found = await estimate(settings, plan, advance)
    if as_json:
        say_json({"plan": plan.plan, "max_cost_usd": plan.max_cost_usd, **found.to_wire()})
    else:
        show_estimate(found, plan.max_cost_usd)
    for problem in cost_problems(settings, handler_of(plan)):
        tell("replay", f"it cannot be carried out yet: {problem}")
    return 0


def show_estimate(found: Estimate, max_cost_usd: float | None = None) -> None:
    console = table_console()
    records = f"{found.records:,} record{'' if found.records == 1 else 's'}"
    about = "about " if found.sampled is not None else ""
    took = f", {in_bytes(found.bytes)}, {in_time(found.seconds)} in one process"
    sampled = f", after a sample of {found.sampled:,}" if found.sampled is not None else ""
    console.print(Text.assemble((f"{about}{records}", "bold"), took, (sampled, "dim")))
    if not found.records:
        return
    console.print()
    _show_handlers(console, found)
    for handler in found.handlers:
        _show_notes(console, handler)
    if any(handler.paid is not None for handler in found.handlers):
        _show_money(console, found, max_cost_usd)


def _show_handlers(console: Screen, found: Estimate) -> None:
    table = plain_table("handler", numbers=("records", "bytes", "time"))
    table.add_column("basis", style="dim")
    for part in found.handlers:
        table.add_row(part.handler, f"{part.records:,}", in_bytes(part.bytes), in_time(part.seconds), part.because)
    console.print(table)
    paid = [(part.handler, part.paid) for part in found.handlers if part.paid is not None]
    if not paid:
        return
    console.print()
    numbers = ("calls", "kept", "tokens in", "tokens out", "cost", "saved")
    table = plain_table("asks", "model", numbers=numbers)
    table.add_column("basis", style="dim")
    for handler, asked in paid:
        counts = (asked.calls, asked.kept, asked.prompt_tokens, asked.completion_tokens)
        money = (in_money(asked.usd), in_money(asked.saved_usd))
        table.add_row(handler, asked.model or "-", *(f"{number:,.0f}" for number in counts), *money, asked.because)
    console.print(table)


def _show_notes(console: Screen, found: HandlerEstimate) -> None:
    notes = (
        (found.open, "records wait for unknown answers; their downstream records are not counted"),
        (found.offline, "questions for the offline judge, which costs nothing"),
        (found.pages, "pages to fetch at first; the records they lead to are not counted"),
        (found.points, "points for the index"),
    )
    for amount, words in notes:
        if amount:
            console.print(Text(f"{found.handler}: {amount:,} {words}", style="dim"))


def _show_money(console: Screen, found: Estimate, max_cost_usd: float | None) -> None:
    console.print()
    if found.usd is None:
        console.print(Text("the costs are not known: set price_in and price_out in models.limits", style="yellow"))
        return
    saved = f"; answers in the journal save {in_money(found.saved_usd)}" if found.saved_usd else ""
    console.print(Text.assemble("costs: about ", (in_money(found.usd), "bold"), saved))
    if max_cost_usd is not None and max_cost_usd < found.usd:
        warning = f"that is more than --max-cost {max_cost_usd:g}: the replay would pause before its end"
        console.print(Text(warning, style="yellow"))


async def tell_diff(settings: Settings, other: Settings, plan: ReplayPlan, limit: int, as_json: bool) -> int:
    handler, ranges = handler_of(plan), stage_of(plan).ranges
    if (comparison := comparison_of(handler, limit)) is None:
        raise CommandError(not_comparable(handler.name), 2)
    with ProgressLine("replay", f"comparing {handler.name}", count(ranges)) as advance:
        async with aclosing(read_selected(settings, plan, [ranges], advance)) as records:
            sources = (raw_record(record) async for record in records)
            await compare(settings, other, handler, sources, comparison)
    print_comparison(handler, comparison, settings, other, as_json=as_json)
    return 0
