"""The screen of the demonstration: the inputs and outcomes of each handler, and the decisions so far.

It fits a terminal of 80 columns and 24 lines; on a wider one the two parts are side by side.
"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from schemas.retrieval import ResultType
from streams.demo.run import Demo
from streams.demo.tally import Tally, faults

TIER_STYLE = {"A": "green", "B": "yellow", "C": "red"}
TYPE_STYLE = {"SPECIFIC_CONTENT": "green", "AGGREGATOR": "yellow", "NAVIGATION": "blue"}
_SIDE_BY_SIDE = 112
"""The columns that both parts need side by side."""

Row = tuple[str | Text, str | Text]


def live_table(demo: Demo, width: int, done: bool) -> RenderableType:
    """The screen, so many columns wide; with ``done``, also whether every input has one outcome."""
    pages, batches = _pages(demo.tally), _batches(demo.tally)
    if width >= _SIDE_BY_SIDE:
        parts = Table.grid(padding=(0, 1))
        parts.add_row(_handlers(demo), _panel("decisions", _column([*pages, *batches])))
    else:
        beside = Table.grid(padding=(0, 3))
        beside.add_row(_column(pages), _column(batches))
        parts = Table.grid()
        parts.add_row(_handlers(demo))
        parts.add_row(_panel("decisions", beside))
    return Group(parts, _account(demo) if done else Text("working …", style="dim"))


def _handlers(demo: Demo) -> Panel:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column("handler", no_wrap=True)
    for name in ("in", "answered", "dead", "in flight", "waiting"):
        table.add_column(name, justify="right", no_wrap=True)
    now: dict[str, list[int]] = {}
    for group in demo.application.groups:
        # A handler's retry topics have groups of their own.
        held_and_lag = now.setdefault(group.handler.name, [0, 0])
        held_and_lag[0] += sum(partition.held for partition in group.partitions.values())
        held_and_lag[1] += group.lag
    for name, balance in demo.balances().items():
        held, lag = now[name]
        dead = Text(str(balance.dead), style="red" if balance.dead else "")
        table.add_row(name, str(balance.taken), str(balance.answered), dead, str(held), str(max(lag - held, 0)))
    where = f"http://{demo.metrics_address}/metrics" if demo.metrics_address else None
    return _panel(f"Assay, {demo.seconds:.1f} s", table, where)


def _pages(tally: Tally) -> list[Row]:
    tiers = Text(" / ").join([Text(str(tally.tiers[tier]), style=TIER_STYLE[tier]) for tier in "ABC"])
    estimate = tally.estimate()
    cost = "cost unknown" if tally.cost_usd is None else f"${tally.cost_usd:.2f}"
    model = f" + model {tally.judges['model']}" if tally.judges["model"] else ""
    return [
        ("pages: A / B / C", tiers),
        ("points in the index", str(tally.index_points())),
        ("  planned / untiered", f"{estimate.points_with_articles} / {estimate.full_chunks}"),
        ("utterances indexed", str(len(tally.utterances))),
        ("offline judge's answers", f"{tally.judges['offline']}{model}"),
        ("spent on models", cost),
    ]


def _batches(tally: Tally) -> list[Row]:
    before, after = tally.improvement()
    overall_before, overall_after = tally.answered()
    done = sum(search.satisfied for search in tally.searches.values())
    promotable = sum(claim.promotable for claim in tally.claims_evaluated.values())
    kinds = Text(" / ").join([Text(str(tally.result_types[kind]), style=TYPE_STYLE[kind]) for kind in ResultType])
    return [
        ("items / listings / other", kinds),
        ("extractions done", f"{len(tally.completed)} of {len(tally.needed)}"),
        ("actionable", f"{before:.2f} → {after:.2f}"),
        ("answers the query", f"{overall_before:.2f} → {overall_after:.2f}"),
        ("batches passed", f"{tally.passed()} of {len(tally.evaluated)}"),
        ("searches done", f"{done} of {len(tally.searches)}"),
        ("sources relevant", "{} of {}".format(*tally.sources())),
        ("claims to promote", f"{promotable} of {len(tally.claims_evaluated)}"),
    ]


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


def _column(rows: list[Row]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _panel(title: str, inside: Table, below: str | None = None) -> Panel:
    return Panel(
        inside,
        title=title,
        title_align="left",
        subtitle=below,
        subtitle_align="left",
        border_style="dim",
        expand=False,
    )
