"""The results as tables for people, and in the page of the docs between its two marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by the harness -->", "<!-- end of figures -->"
Results = dict[str, Any]
Rows = Mapping[str, Mapping[str, float]]
QUIX, QUIX_TWO = "Quix Streams, exactly once", "Quix Streams, exactly once, two processes"
BARE_NOTES = "bare loop"


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
    return "\n".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)]) + "\n"


def _machine(machine: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"{machine['date']}, {machine['cores']} cores, load {machine['load']} at the start; {versions}.\n"


def _alone(alone: Rows) -> str:
    names = ("mean_ms", "p50_ms", "p99_ms", "peak_mb")
    rows = ([name, *(f"{row[figure]:.2f}" for figure in names)] for name, row in alone.items())
    return _table(["ms of CPU for a page in memory", "mean", "p50", "p99", "peak MB"], rows)


def _pages(pages: Rows) -> str:
    heads = ["pages", "pages/s of wall", "ms of CPU", "parent", "children", "broker", "peak MB"]
    rows = (
        [
            name,
            f"{row['per_wall_second']:.0f}",
            *(f"{row[figure]:.2f}" for figure in ("cpu_ms", "parent_ms", "children_ms", "broker_ms")),
            f"{row['peak_mb']:.0f} + {row['children_peak_mb']:.0f}",
        ]
        for name, row in pages.items()
    )
    return _table(heads, rows)


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


_TABLES: dict[str, Callable[[Any], str]] = {"alone": _alone, "pages": _pages, "small messages": _notes}


def write(results: Results) -> None:
    """Replaces the figures in the docs."""
    text = DOCS.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}", "utf-8")
