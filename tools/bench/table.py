"""The results as tables for people, and in the page of the docs between its two marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by the harness -->", "<!-- end of figures -->"
Results = dict[str, Any]
Rows = Mapping[str, Mapping[str, float]]
PARSE, SCORE_PAGE, TRAFILATURA = "parse alone", "`score_page` alone", "trafilatura, every 8th page"
RESILIPARSE = "resiliparse, main content"
QUIX, QUIX_TWO = "Quix Streams, exactly once", "Quix Streams, exactly once, two processes"
BASE = "Assay, exactly once, before"
BARE_NOTES, NOTES = "bare loop", "Assay, exactly once"


def assay_name(children: int) -> str:
    """The name of the pipeline with a number of children; 0 is inline.

    >>> assay_name(0), assay_name(1), assay_name(2)
    ('Assay, exactly once, inline', 'Assay, exactly once, 1 child', 'Assay, exactly once, 2 children')
    """
    how = {0: "inline", 1: "1 child"}.get(children, f"{children} children")
    return f"Assay, exactly once, {how}"


def tables(results: Results) -> str:
    """Everything that was measured, as Markdown."""
    parts = [_machine(results["machine"])]
    parts += [make(results[name]) for name, make in _TABLES.items() if name in results]
    if "pages" in results:
        parts.append(_ratios(results["pages"]))
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)]) + "\n"


def _machine(machine: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"{machine['date']}, {machine['cores']} cores, load {machine['load']} at the start; {versions}.\n"


def _pages(pages: Rows) -> str:
    limit = pages[PARSE]["per_cpu_second"]
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
        if RESILIPARSE in pages
        else "resiliparse is not measured: no wheel of it is installed (resiliparse-requirements.txt).\n"
    )
    under_load = {name: row for name, row in pages.items() if "rebalances" in row}
    return "\n".join([_table(heads, rows), absent, _event_loop(under_load)])


def _ratios(pages: Rows) -> str:
    """What is compared: both must have been measured in this run."""
    compared = [
        ("`score_page` against the parse, CPU", SCORE_PAGE, PARSE, "per_cpu_second"),
        ("`score_page` against trafilatura, CPU", SCORE_PAGE, TRAFILATURA, "per_cpu_second"),
        ("one worker with two children against one Quix Streams, wall", assay_name(2), QUIX, "per_wall_second"),
        ("one worker with two children against two Quix Streams, wall", assay_name(2), QUIX_TWO, "per_wall_second"),
        ("two children against one, wall", assay_name(2), assay_name(1), "per_wall_second"),
        ("before against now, one child, CPU", BASE, assay_name(1), "per_cpu_second"),
    ]
    rows = (
        [what, f"{pages[one][unit] / pages[other][unit]:.2f}"]
        for what, one, other, unit in compared
        if one in pages and other in pages
    )
    return _table(["ratio", "measured"], rows)


def _event_loop(rows: Rows) -> str:
    heads = ["event loop under load", "lag p50, ms", "p99, ms", "longest, ms"]
    heads += ["longest gap between polls, s", "between heartbeats, s"]
    names = ("lag_p50_ms", "lag_p99_ms", "lag_max_ms", "poll_gap_s", "heartbeat_gap_s")
    return _table(heads, ([name, *(f"{row[figure]:g}" for figure in names)] for name, row in rows.items()))


def _notes(notes: Rows) -> str:
    bare = notes[BARE_NOTES]["per_cpu_second"]
    heads = ["messages of 1 KB", "messages/s of CPU", "µs of CPU", "messages/s of wall", "share of the bare loop"]
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


def _profiles(profiles: Results) -> str:
    return "\n".join(
        _table([f"CPU time by stage, {name}", "share"], ([stage, f"{share:.1%}"] for stage, share in shares.items()))
        for name, shares in profiles.items()
    )


_TABLES: dict[str, Callable[[Any], str]] = {"pages": _pages, "small messages": _notes, "profile": _profiles}


def write(results: Results) -> None:
    """Replaces the figures in the docs."""
    text = DOCS.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}", "utf-8")
