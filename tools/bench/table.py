"""The results as tables for people, and in the page of the docs between its two marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.bench import promises

DOCS = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by the harness -->", "<!-- end of figures -->"
Results = dict[str, Any]
Rows = Mapping[str, Mapping[str, float]]


def tables(results: Results) -> str:
    """Everything that was measured, as Markdown."""
    parts = [_machine(results["machine"])]
    for name, make in _TABLES.items():
        if name in results:
            parts.append(make(results[name]))
    parts.append(
        _table(
            ["promise", "measured", "verdict"],
            ([row.promise, row.measured, row.verdict] for row in promises.promises(results)),
        )
    )
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)]) + "\n"


def _machine(machine: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"{machine['date']}, {machine['cores']} cores, load {machine['load']} at the start; {versions}.\n"


def _pages(pages: Rows) -> str:
    limit = pages[promises.PARSE]["per_cpu_second"]
    heads = ["pages", "pages/s of wall", "ms of CPU", "parent", "children", "broker", "share of the parse", "peak MB"]
    rows = (
        [
            name,
            f"{row['per_wall_second']:.0f}",
            f"{row['cpu_ms']:.2f}",
            f"{row['parent_ms']:.2f}",
            f"{row['children_ms']:.2f}",
            f"{row['broker_ms']:.2f}",
            f"{row['per_cpu_second'] / limit:.2f}",
            f"{row['peak_mb']:.0f} + {row['children_peak_mb']:.0f}",
        ]
        for name, row in pages.items()
    )
    absent = (
        ""
        if promises.RESILIPARSE in pages
        else "resiliparse is not measured: no wheel of it is installed (resiliparse-requirements.txt).\n"
    )
    under_load = {name: row for name, row in pages.items() if "rebalances" in row}
    return "\n".join([_table(heads, rows), absent, _event_loop(under_load)])


def _event_loop(rows: Rows) -> str:
    heads = [
        "event loop under load",
        "lag p50, ms",
        "p99, ms",
        "longest, ms",
        "longest gap between polls, s",
        "between heartbeats, s",
    ]
    names = ("lag_p50_ms", "lag_p99_ms", "lag_max_ms", "poll_gap_s", "heartbeat_gap_s")
    return _table(heads, ([name, *(f"{row[figure]:g}" for figure in names)] for name, row in rows.items()))


def _notes(notes: Rows) -> str:
    bare = notes[promises.BARE_NOTES]["per_cpu_second"]
    heads = [
        "messages of 1 KB",
        "messages/s of CPU",
        "µs of CPU",
        "messages/s of wall",
        "share of the bare loop",
    ]
    rows = (
        [
            name,
            f"{row['per_cpu_second']:.0f}",
            f"{row['cpu_ms'] * 1000:.1f}",
            f"{row['per_wall_second']:.0f}",
            f"{row['per_cpu_second'] / bare:.2f}",
        ]
        for name, row in notes.items()
    )
    return _table(heads, rows)


def _growth(growth: Results) -> str:
    few, many = growth["scales"]
    heads = [
        f"from {few:,} to {many:,} pages",
        "ms of CPU for one more page",
        "fixed, s of CPU",
        "delivered for each record",
        "fetched for 1,000 pages, MB",
        "garbage collector, ms a page",
    ]
    rows = ([name, *slope.values()] for name, slope in growth["slopes"].items())
    memory = growth["memory"]
    kinds = ("parent_rss", "parent_pss", "children_rss", "children_pss")
    return "\n".join(
        [
            _table(heads, rows),
            _table(
                [f"MB, {memory['records']:,} pages in one run", "second third", "last third"],
                ([kind.replace("_", ", "), *memory[kind]] for kind in kinds),
            ),
        ]
    )


def _hostile(hostile: Results) -> str:
    workers = ", ".join(f"{name} {value:g}" for name, value in hostile["workers"].items())
    dead = ", ".join(f"{count} {reason}" for reason, count in hostile["dead"].items())
    told = (
        f"The hostile mix ({workers}): {hostile['pages']} pages, {hostile['faulty']} of each fault."
        f" {hostile['processed']} other pages processed once, {hostile['lost']} lost, {hostile['twice']} twice."
        f" Dead letters: {dead}. Rebalances: {hostile['rebalances']:g}. The longest a hang cost beyond its deadline:"
        f" {hostile['hang_cost']:g} s. Rate without the hangs: {hostile['rate_ratio']:.2f} of the clean stream's.\n"
    )
    return "\n".join([told, _event_loop({"clean stream": hostile["clean"], "hostile mix": hostile["mixed"]})])


def _starts(starts: Rows) -> str:
    heads = ["start of `assay run`", "ready, s", "first result, s", "CPU until ready, s", "of it children, s"]
    return _table(heads, ([name, *(f"{figure:.2f}" for figure in row.values())] for name, row in starts.items()))


def _pace(pace: Results) -> str:
    return (
        f"A handler that waits as for a language model, {pace['asks']} asks under a limit of {pace['rate']} a"
        f" second: {pace['share']:.1%} of the permitted rate used, at most {pace['most_in_a_second']} in any second.\n"
    )


def _profiles(profiles: Results) -> str:
    return "\n".join(
        _table([f"CPU time by stage, {name}", "share"], ([stage, f"{share:.1%}"] for stage, share in shares.items()))
        for name, shares in profiles.items()
    )


_TABLES: dict[str, Callable[[Any], str]] = {
    "pages": _pages,
    "small messages": _notes,
    "growth": _growth,
    "hostile": _hostile,
    "start": _starts,
    "pace": _pace,
    "profile": _profiles,
}


def write(results: Results) -> None:
    """Replaces the figures in the docs."""
    text = DOCS.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}", "utf-8")
