"""The reports of ``assay replay``: ``--dry-run`` estimates a replay, ``--diff`` compares two configurations."""

from __future__ import annotations

from contextlib import aclosing

from rich.text import Text

from schemas.replays import ReplayPlan
from streams.cli.output import plain_table, say_json, table_console, tell
from streams.cli.progress import ProgressLine
from streams.cli.try_diff import not_comparable, print_comparison
from streams.llm.journal import JournalError
from streams.replay.budget import cost_problems
from streams.replay.comparisons import compare, comparison_of
from streams.replay.estimate import Estimate, HandlerEstimate, estimate, offsets_read
from streams.replay.plan import ReplayError, handler_of, stage_of
from streams.replay.ranges import count
from streams.replay.selection import raw_record, read_selected
from streams.settings.model import Settings
from streams.views.amounts import in_bytes, in_money, in_time
from streams.views.screen import Screen


async def tell_estimate(settings: Settings, plan: ReplayPlan, as_json: bool) -> int:
    """Estimates a plan whose ranges are resolved, and prints the figures."""
    try:
        with ProgressLine("replay", "estimating", offsets_read(settings, plan)) as advance:
            found = await estimate(settings, plan, advance)
    except JournalError as error:
        raise ReplayError(f"the journal of answers can't be read: {error}") from error
    if as_json:
        say_json({"plan": plan.plan, "max_cost_usd": plan.max_cost_usd, **found.to_wire()})
    else:
        show_estimate(found, plan.max_cost_usd)
    for problem in cost_problems(settings, handler_of(plan)):
        tell("replay", f"it cannot be carried out yet: {problem}")
    return 0


def show_estimate(found: Estimate, max_cost_usd: float | None = None) -> None:
    """Prints an estimate, and warns if the costs exceed the limit."""
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
    """Compares the decisions of a plan's handler under two configurations, and prints up to ``limit`` differences."""
    handler, ranges = handler_of(plan), stage_of(plan).ranges
    if (comparison := comparison_of(handler, limit)) is None:
        return tell("replay", not_comparable(handler.name), 2)
    with ProgressLine("replay", f"comparing {handler.name}", count(ranges)) as advance:
        async with aclosing(read_selected(settings, plan, [ranges], advance)) as records:
            sources = (raw_record(record) async for record in records)
            await compare(settings, other, handler, sources, comparison)
    print_comparison(handler, comparison, settings, other, as_json=as_json)
    return 0
