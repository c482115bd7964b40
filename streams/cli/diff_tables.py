"""Prints the differences between two configurations: a matrix of counts, and the first changes with their reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from streams.cli.output import LABEL_STYLE, plain_table, table_console
from streams.demo.report import TIER_STYLE, TYPE_STYLE
from streams.replay.comparisons import Comparison, FirstFew, PageDifferences, PageMove, ResultsDifferences
from streams.runtime.terminal import printable
from streams.views.screen import Screen

_STYLES = TIER_STYLE | LABEL_STYLE | TYPE_STYLE | {"dead": "bold red"}
_SHOWN_CHARACTERS = 300


def show_differences(comparison: Comparison[Any], *, same_rules: bool = False) -> None:
    console = table_console()
    if same_rules:
        console.print(Text("the other configuration changes no rule of these decisions", style="yellow"))
    if isinstance(comparison, PageDifferences):
        _show_pages(console, comparison)
    elif isinstance(comparison, ResultsDifferences):
        _show_results(console, comparison)


def _show_pages(console: Screen, found: PageDifferences) -> None:
    _show_matrix(console, f"{_count(found.inputs, 'page')}, by tier", found.matrix)
    moved = found.moved.count
    ways = _parts((count, way) for way, count in found.ways.items())
    console.print(Text.assemble((f"{_count(moved, 'page')} with another tier or label", "bold"), ways))
    same = _parts(((found.rescored, "other score"), (found.reread, "other content"), (found.unchanged, "unchanged")))
    console.print(f"{_count(found.inputs - moved, 'page')} with the same tier and label{same}")
    if found.labels:
        changes = (Text.assemble(_change(*pair), f" {count:,}") for pair, count in sorted(found.labels.items()))
        console.print(Text.assemble("labels: ", Text(", ").join(changes)))
    _show_dead(console, found)
    for move in found.moved.items:
        _show_move(console, move)
    _show_more(console, found.moved)


def _show_move(console: Screen, move: PageMove) -> None:
    changes = (
        (move.tier_now, move.tier_then),
        (_or_dash(move.score_now), _or_dash(move.score_then)),
        (move.label_now or "-", move.label_then or "-"),
    )
    _show_heading(console, changes, move.url)
    for component in move.components:
        points = f"  {component.component} {component.points_now} → {component.points_then}: "
        _show_reason(console, points, component.because_now, component.because_then, "no such component")
    for when, detail in (("now", move.detail_now), ("then", move.detail_then)):
        if detail:
            console.print(Text(f"  {when} {_shown(detail)}", style="red"))
    if move.other_thresholds:
        console.print("  because a threshold changed")


def _show_results(console: Screen, found: ResultsDifferences) -> None:
    _show_matrix(console, f"{_count(found.inputs, 'batch', 'batches')}, results by type", found.matrix)
    results, moved = found.decisions.total(), found.moved.count
    console.print(Text(f"{_count(moved, 'result')} of another type", style="bold"))
    same = _parts(((found.rescored, "other score"), (results - moved - found.rescored, "unchanged")))
    console.print(f"{_count(results - moved, 'result')} of the same type{same}")
    others = found.extractions.count
    fetched = (f"{found.extractions_now:,} → {found.extractions_then:,}", "bold")
    different = f", different in {_count(others, 'batch', 'batches')}" if others else ""
    console.print(Text.assemble("extractions: ", fetched, different))
    _show_dead(console, found)
    for flip in found.moved.items:
        pairs = ((flip.type_now, flip.type_then), (_or_dash(flip.score_now), _or_dash(flip.score_then)))
        _show_heading(console, pairs, flip.url or "no address", f"  in {_shown(flip.batch_id)}")
        _show_reason(console, "  ", "; ".join(flip.because_now[:3]), "; ".join(flip.because_then[:3]), "dead")
    _show_more(console, found.moved)
    for change in found.extractions.items:
        query = (f"“{_shown(change.query)}”", "bold")
        console.print(Text.assemble("\nextractions for ", query, f" in {_shown(change.batch_id)}"))
        for sign, urls, style in (("+", change.more, "green"), ("-", change.fewer, "red")):
            for url in urls:
                console.print(Text(f"  {sign} {_shown(url)}", style=style))
    _show_more(console, found.extractions)


def _show_heading(console: Screen, changes: Iterable[tuple[str, str]], name: str, place: str = "") -> None:
    console.print()
    parts = [*(_change(now, then) for now, then in changes), Text(_shown(name), style="bold")]
    console.print(Text.assemble(Text("  ").join(parts), (place, "dim")))


def _show_reason(console: Screen, label: str, now: str, then: str, without: str) -> None:
    before = f" (before: {_shown(now)})" if now and then and now != then else ""
    console.print(Text.assemble(label, _shown(then or without), (before, "dim")))


def _parts(counts: Iterable[tuple[int, str]]) -> str:
    """Counts in words after a colon, without zeros.

    >>> _parts([(3, "up"), (0, "down"), (1200, "unchanged")])
    ': 3 up, 1,200 unchanged'
    """
    parts = ", ".join(f"{count:,} {words}" for count, words in counts if count)
    return f": {parts}" if parts else ""


def _show_matrix(console: Screen, title: str, matrix: Mapping[str, Mapping[str, int]]) -> None:
    """Prints a matrix: the rows are the decisions now, the columns those under the other configuration."""
    sums = {name: sum(row[name] for row in matrix.values()) for name in matrix}
    shown = [name for name in matrix if name != "dead" or any(matrix["dead"].values()) or sums["dead"]]
    console.print(Text(title, style="bold"))
    console.print()
    table = plain_table()
    table.add_column("now \\ then", style="dim", no_wrap=True)
    for name in shown:
        table.add_column(_styled(name), justify="right", no_wrap=True)
    table.add_column("all now", justify="right", no_wrap=True, style="dim")
    for now in shown:
        styles = ((then, "" if now == then else "bold cyan") for then in shown)
        counts = ((matrix[now][then], style) for then, style in styles)
        cells = [Text(f"{count:,}", style=style) if count else Text("·", style="dim") for count, style in counts]
        table.add_row(_styled(now), *cells, f"{sum(matrix[now].values()):,}")
    table.add_row("all then", *(Text(f"{sums[then]:,}", style="dim") for then in shown), "")
    console.print(table)
    console.print()


def _show_dead(console: Screen, found: Comparison[Any]) -> None:
    if any(found.dead.values()):
        now, then = (
            ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items())) or "none"
            for counts in found.dead.values()
        )
        console.print(Text(f"dead letters: {now}" if now == then else f"dead letters: {now} → {then}", style="red"))


def _show_more(console: Screen, found: FirstFew[Any]) -> None:
    if found.more:
        console.print()
        console.print(Text(f"and {found.more:,} more (--limit shows them)", style="dim"))


def _change(now: str, then: str) -> Text:
    return _styled(now) if now == then else Text.assemble(_styled(now), " → ", _styled(then))


def _styled(name: str) -> Text:
    return Text(name, style=_STYLES.get(name, ""))


def _or_dash(score: float | None) -> str:
    return "-" if score is None else f"{score:g}"


def _count(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _shown(text: str) -> str:
    return printable(text, _SHOWN_CHARACTERS)
