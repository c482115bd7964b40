"""The screen of the demonstration: the inputs and outcomes of each handler."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from streams.demo.run import Demo
from streams.demo.tally import faults


def live_table(demo: Demo, *, done: bool) -> RenderableType:
    """The screen; with ``done``, also whether every input has one outcome."""
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
        waiting = max(lag[name] - held[name], 0)
        table.add_row(name, str(balance.taken), str(balance.answered), dead, str(held[name]), str(waiting))
    panel = Panel(
        table,
        title=f"Assay, {demo.seconds:.1f} s",
        title_align="left",
        subtitle=f"http://{demo.address}/metrics" if demo.address else None,
        subtitle_align="left",
        border_style="dim",
        expand=False,
    )
    return Group(panel, _account(demo) if done else Text("working …", style="dim"))


def _account(demo: Demo) -> Text:
    balances = demo.balances()
    if wrong := faults(balances):
        return Text(f"not every input is accounted for: {'; '.join(wrong)}", style="red")
    taken, answered, dead, dropped = (
        sum(getattr(balance, part) for balance in balances.values())
        for part in ("taken", "answered", "dead", "dropped")
    )
    counts = f"{taken} inputs: {answered} answered, {dead} dead letter{'' if dead == 1 else 's'}"
    aside = f", {dropped} dropped" if dropped else ""
    return Text(f"{counts}{aside}; none lost, none counted twice", style="green")
