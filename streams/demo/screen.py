"""What the demonstration shows: a live table while it runs, and at the end the decisions that tell most."""

from __future__ import annotations

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from schemas.dead import DeadLetter
from schemas.extraction import ExtractionCompleted
from schemas.pages import ScoredPage
from schemas.retrieval import ResultsClassified, ResultType
from streams.demo.run import Demo
from streams.demo.tally import Tally
from streams.topology import TOPICS

_TIER_STYLE = {"A": "green", "B": "yellow", "C": "red"}
_TYPE_STYLE = {"SPECIFIC_CONTENT": "green", "AGGREGATOR": "yellow", "NAVIGATION": "blue"}


def live_table(demo: Demo) -> RenderableType:
    """Everything at a glance: events by topic, handlers, and what was decided."""
    tally = demo.tally
    return Group(
        Text.assemble(
            ("Assay", "bold"), f"  {demo.seconds:5.1f} s", (f"   http://{demo.metrics_address}/metrics", "dim")
        ),
        Columns([_topics(tally), _handlers(demo), _decisions(tally)], padding=(0, 2)),
    )


def _topics(tally: Tally) -> Panel:
    table = _plain_table()
    for topic in TOPICS:
        table.add_row(topic.name, str(tally.events[topic.name]))
    table.add_row(Text("dead letters", style="red" if tally.dead else ""), str(len(tally.dead)))
    return Panel(table, title="events", border_style="dim")


def _handlers(demo: Demo) -> Panel:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("handler", "held", "lag"):
        table.add_column(name, justify="left" if name == "handler" else "right")
    totals: dict[str, list[int]] = {}
    for group in demo.application.groups:
        # A handler's retry topics have groups of their own.
        total = totals.setdefault(group.handler.name, [0, 0])
        total[0] += sum(partition.held for partition in group.partitions.values())
        total[1] += group.lag
    for name, (held, lag) in totals.items():
        table.add_row(name, str(held), str(lag))
    return Panel(table, title="consumer groups", border_style="dim")


def _decisions(tally: Tally) -> Panel:
    table = _plain_table()
    for tier in "ABC":
        table.add_row(Text(f"tier {tier}", style=_TIER_STYLE[tier]), str(tally.tiers[tier]))
    for kind in ResultType:
        table.add_row(Text(kind.value.lower(), style=_TYPE_STYLE[kind]), str(tally.result_types[kind]))
    before, after = tally.improvement()
    estimate = tally.estimate()
    table.add_row("points in the index", str(tally.index_points()))
    table.add_row("  as estimated", str(estimate.points_with_articles), style="dim")
    table.add_row("  without tiers", str(estimate.full_chunks), style="dim")
    table.add_row("extractions", f"{len(tally.completed)}/{len(tally.needed)}")
    table.add_row("actionable", f"{before:.2f} → {after:.2f}")
    return Panel(table, title="decisions", border_style="dim")


def _plain_table() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    return table


def tell_decisions(console: Console, tally: Tally) -> None:
    """The decisions that tell most, each with its reasons."""
    pages = sorted(tally.pages.values(), key=lambda page: -(page.cts_score or 0))
    for page in [*pages[:1], *[p for p in pages[1:] if p.tier == "B"][:1], *pages[-1:]]:
        _tell_page(console, page)
    roots = [batch for batch in tally.classified.values() if batch.parent_batch_id is None]
    for batch in sorted(roots, key=lambda batch: batch.batch_id):
        _tell_batch(console, tally, batch)
    for letter in tally.dead:
        _tell_dead(console, letter)


def _tell_page(console: Console, page: ScoredPage) -> None:
    head = Text.assemble(
        (f"tier {page.tier} ", f"bold {_TIER_STYLE[page.tier]}"),
        ("  – " if page.cts_score is None else f"{page.cts_score:3} ", "bold"),
        page.title or page.url,
    )
    console.print()
    console.print(head)
    console.print(Text(f"  {page.url}", style="dim"))
    for component in page.cts_breakdown:
        if component.points:
            console.print(Text(f"  +{component.points:<3} {component.component}: {component.because}"))
    missing = [component.component for component in page.cts_breakdown if not component.points]
    if missing:
        console.print(Text(f"  nothing for {', '.join(missing)}", style="dim"))


def _tell_batch(console: Console, tally: Tally, batch: ResultsClassified) -> None:
    evaluated = tally.evaluated.get(batch.batch_id)
    verdict = ("passed", "bold green") if evaluated and evaluated.passed else ("not passed", "bold red")
    console.print()
    console.print(Text.assemble(("“", "dim"), (batch.query, "bold"), ("” ", "dim"), verdict))
    for result in batch.results:
        console.print(
            Text.assemble(
                "  ",
                (result.result_type.value, _TYPE_STYLE[result.result_type]),
                f" {result.actionable_score:.2f}  {result.url}",
            )
        )
        console.print(Text(f"    because {'; '.join(result.because[:3])}", style="dim"))
    if batch.extraction_reason:
        console.print(Text(f"  {batch.extraction_reason}", style="yellow"))
    for done in tally.completed:
        if done.batch_id == batch.batch_id:
            _tell_extraction(console, done)
    if batch.needs_extraction:
        console.print(
            Text.assemble(
                "  actionable ",
                f"{batch.actionable_information:.2f}",
                " → ",
                (f"{tally.after(batch):.2f}", "bold green"),
            )
        )


def _tell_extraction(console: Console, done: ExtractionCompleted) -> None:
    console.print(
        Text(f"  fetched {len(done.fetched)} of {len(done.fetched) + len(done.skipped)} pages: {done.status.value}")
    )
    for source in done.fetched:
        console.print(Text(f"    + {source.title or source.url}", style="green"))
    for skipped in done.skipped:
        console.print(Text(f"    - {skipped.url}  ({skipped.reason.value})", style="red"))


def _tell_dead(console: Console, letter: DeadLetter) -> None:
    console.print()
    console.print(Text.assemble(("dead letter ", "bold red"), f"{letter.reason} in {letter.handler}: {letter.error}"))
    console.print(
        Text(f"  {letter.topic}, partition {letter.partition}, offset {letter.offset}; its bytes are kept", style="dim")
    )
