"""Prints the differences between two configurations: a matrix of counts, and the first changes with their reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text

from streams.cli.output import LABEL_STYLE, TIER_STYLE, plain_table, say_json, table_console
from streams.replay.comparisons import Change, Comparison
from streams.runtime.terminal import printable
from streams.settings.model import Settings
from streams.topology import Handler
from streams.views.screen import Screen

_TYPE_STYLE = {"SPECIFIC_CONTENT": "green", "AGGREGATOR": "yellow", "NAVIGATION": "blue"}
_STYLES = TIER_STYLE | LABEL_STYLE | _TYPE_STYLE | {"dead": "bold red"}
_SHOWN_CHARACTERS = 300


def print_comparison(
    handler: Handler, found: Comparison, settings: Settings, other: Settings, *, as_json: bool
) -> None:
    """Prints what differs between two configurations; rules of the same version decide alike."""
    now, then = (configuration.rules(handler.rules).config_version for configuration in (settings, other))
    if as_json:
        head = {"handler": handler.name, "config_version_now": now, "config_version_then": then}
        say_json(head | found.to_wire())
        return
    console = table_console()
    if now == then:
        console.print(Text("the other configuration changes no rule of these decisions", style="yellow"))
    console.print(Text(f"{found.inputs:,} {found.kind.unit}", style="bold"))
    console.print()
    _show_matrix(console, found.matrix)
    console.print(Text(f"{found.changed:,} decided otherwise", style="bold"))
    same = _counts(((found.rescored, "other score"), (found.reread, "other content"), (found.unchanged, "unchanged")))
    console.print(f"decided alike: {same or 'none'}")
    if found.labels:
        pairs = (Text.assemble(_change(*pair), f" {count:,}") for pair, count in sorted(found.labels.items()))
        console.print(Text.assemble("labels: ", Text(", ").join(pairs)))
    if any(found.fetches.values()):
        console.print(f"extractions: {found.fetches['now']:,} → {found.fetches['then']:,}")
    if any(found.dead.values()):
        dead = [
            _counts((count, reason) for reason, count in counts.items()) or "none" for counts in found.dead.values()
        ]
        console.print(Text(f"dead letters: {' → '.join(dict.fromkeys(dead))}", style="red"))
    for change in found.changes:
        _show_change(console, change)
    if found.more:
        console.print(Text(f"\nand {found.more:,} more (--limit shows them)", style="dim"))


def _show_change(console: Screen, change: Change) -> None:
    now, then = change
    pairs = [(now.decision, then.decision), (_score(now.score), _score(then.score))]
    if now.label or then.label:
        pairs.append((now.label or "-", then.label or "-"))
    place = f"  in {_shown(change.batch_id)}" if change.batch_id else ""
    parts = [*(_change(*pair) for pair in pairs), Text(_shown(change.url) or "no address", style="bold")]
    console.print()
    console.print(Text.assemble(Text("  ").join(parts), (place, "dim")))
    for component in change.components:
        label = f"  {component.component} {component.points_now} → {component.points_then}: "
        _show_reason(console, label, component.because_now, component.because_then or "no such component")
    if now.because or then.because:
        _show_reason(console, "  ", now.because, then.because or then.decision)
    if change.by_threshold:
        console.print("  because a threshold changed")


def _show_reason(console: Screen, label: str, now: str, then: str) -> None:
    before = f" (before: {_shown(now)})" if now and now != then else ""
    console.print(Text.assemble(label, _shown(then), (before, "dim")))


def _show_matrix(console: Screen, matrix: Mapping[str, Mapping[str, int]]) -> None:
    """Prints a matrix: the rows are the decisions now, the columns those under the other configuration."""
    sums = {name: sum(row[name] for row in matrix.values()) for name in matrix}
    shown = [name for name in matrix if name != "dead" or any(matrix["dead"].values()) or sums["dead"]]
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


def _counts(counts: Iterable[tuple[int, str]]) -> str:
    """Counts in words, without zeros.

    >>> _counts([(3, "up"), (0, "down"), (1200, "unchanged")])
    '3 up, 1,200 unchanged'
    """
    return ", ".join(f"{count:,} {words}" for count, words in counts if count)


def _change(now: str, then: str) -> Text:
    return _styled(now) if now == then else Text.assemble(_styled(now), " → ", _styled(then))


def _styled(name: str) -> Text:
    return Text(name, style=_STYLES.get(name, ""))


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:g}"


def _shown(text: str) -> str:
    return printable(text, _SHOWN_CHARACTERS)
