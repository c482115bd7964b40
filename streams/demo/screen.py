"""The screen of the demonstration: the inputs and outcomes of each handler, and the decisions so far.

It fits a terminal of 80 columns and 24 lines; on a wider one the two parts are side by side.
"""

from __future__ import annotations

from collections import Counter

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from streams.demo.report import TIER_STYLE, TYPE_STYLE
from streams.demo.run import Demo
from streams.demo.tally import Tally, faults
from streams.views.amounts import in_money

_SIDE_BY_SIDE = 112
"""The columns that both parts need side by side."""


def live_table(demo: Demo, width: int, done: bool) -> RenderableType:
    """The screen, so many columns wide; with ``done``, also whether every input has one outcome."""
    handlers, (pages, batches) = _handlers(demo), _decisions(demo.tally)
    ending = _account(demo) if done else Text("working …", style="dim")
    if width < _SIDE_BY_SIDE:
        return Group(handlers, _panel("decisions", Columns([pages, batches], padding=(0, 3))), ending)
    return Group(Columns([handlers, _panel("decisions", Group(pages, batches))]), ending)


def _handlers(demo: Demo) -> Panel:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column("handler", no_wrap=True)
    for name in ("in", "answered", "dead", "in flight", "waiting"):
        table.add_column(name, justify="right", no_wrap=True)
    held: Counter[str] = Counter()
    lag: Counter[str] = Counter()
    for group in demo.application.groups:
        # A handler's retry topics have groups of their own.
        held[group.handler.name] += sum(partition.held for partition in group.partitions.values())
        lag[group.handler.name] += group.lag
    for name, balance in demo.balances().items():
        dead = Text(str(balance.dead), style="red" if balance.dead else "")
        counts = (balance.taken, balance.answered, dead, held[name], max(lag[name] - held[name], 0))
        table.add_row(name, *(count if isinstance(count, Text) else str(count) for count in counts))
    where = f"http://{demo.address}/metrics" if demo.address else None
    return _panel(f"Assay, {demo.seconds:.1f} s", table, where)


def _decisions(tally: Tally) -> tuple[Table, Table]:
    """What was decided about pages, and about batches, claims and sources."""
    now = tally.figures()
    tiers = Text(" / ").join([Text(str(count), style=TIER_STYLE[tier]) for tier, count in now["tiers"].items()])
    kinds = Text(" / ").join([Text(str(count), style=TYPE_STYLE[kind]) for kind, count in now["result_types"].items()])
    judges = now["judged_by"]
    model = f" + model {judges['model']}" if judges["model"] else ""
    pages = _column(
        ("pages: A / B / C", tiers),
        ("points in the index", f"{now['index_points']}"),
        ("  planned / untiered", f"{now['index_points_estimated']} / {now['index_points_without_tiers']}"),
        ("utterances indexed", f"{now['utterances_indexed']}"),
        ("offline judge's answers", f"{judges['offline']}{model}"),
        ("spent on models", in_money(now["cost_usd"])),
    )
    batches = _column(
        ("items / listings / other", kinds),
        ("extractions done", f"{now['extractions_completed']} of {now['extractions_needed']}"),
        ("actionable", f"{now['actionable_before']:.2f} → {now['actionable_after']:.2f}"),
        ("answers the query", f"{now['overall_before']:.2f} → {now['overall_after']:.2f}"),
        ("batches passed", f"{now['batches_passed']} of {now['batches_evaluated']}"),
        ("searches done", f"{now['searches_satisfied']} of {now['searches_evaluated']}"),
        ("sources relevant", f"{now['sources_relevant']} of {now['sources_tried']}"),
        ("claims to promote", f"{now['claims_promotable']} of {now['claims_evaluated']}"),
    )
    return pages, batches


def _account(demo: Demo) -> Text:
    balances = demo.balances()
    if wrong := faults(balances):
        return Text(f"not every input is accounted for: {'; '.join(wrong)}", style="red")
    taken, answered, dead, dropped = (
        sum(getattr(balance, part) for balance in balances.values())
        for part in ("taken", "answered", "dead", "dropped")
    )
    aside = f", {dropped} dropped" if dropped else ""
    return Text(
        f"{taken} inputs: {answered} answered, {dead} dead letter{'' if dead == 1 else 's'}{aside}; "
        "none lost, none counted twice",
        style="green",
    )


def _column(*rows: tuple[str, str | Text]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _panel(title: str, inside: RenderableType, below: str | None = None) -> Panel:
    return Panel(
        inside,
        title=title,
        title_align="left",
        subtitle=below,
        subtitle_align="left",
        border_style="dim",
        expand=False,
    )
