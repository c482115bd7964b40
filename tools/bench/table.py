"""The results as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.table import markdown

Rows = Mapping[str, Mapping[str, float]]
BARE_NOTES = "bare loop"


def tables(results: Mapping[str, Any]) -> str:
    """Everything that was measured, as Markdown."""
    made = {"alone": _alone, "pages": _pages, "small messages": _notes}
    return "\n".join(
        [_machine(results["machine"]), *(make(results[name]) for name, make in made.items() if name in results)]
    )


def _machine(machine: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"{machine['date']}, {machine['cores']} cores, load {machine['load']} at the start; {versions}.\n"


def _alone(rows: Rows) -> str:
    figures = ("mean_ms", "p50_ms", "p99_ms", "peak_mb")
    heads = ["ms of CPU for a page in memory", "mean", "p50", "p99", "peak MB"]
    return markdown("", heads, ([name, *(f"{row[figure]:.2f}" for figure in figures)] for name, row in rows.items()))


def _pages(rows: Rows) -> str:
    cells = (
        [
            name,
            f"{row['per_wall_second']:.0f}",
            *(f"{row[figure]:.2f}" for figure in ("cpu_ms", "parent_ms", "children_ms", "broker_ms")),
            f"{row['peak_mb']:.0f} + {row['children_peak_mb']:.0f}",
        ]
        for name, row in rows.items()
    )
    heads = ["pages", "pages/s of wall", "ms of CPU", "parent", "children", "broker", "peak MB"]
    return markdown("", heads, cells)


def _notes(rows: Rows) -> str:
    bare = rows[BARE_NOTES]["per_cpu_second"]
    cells = (
        [
            name,
            f"{row['per_cpu_second']:.0f}",
            f"{row['cpu_ms'] * 1000:.1f}",
            f"{row['per_wall_second']:.0f}",
            f"{row['per_cpu_second'] / bare:.2f}",
        ]
        for name, row in rows.items()
    )
    heads = ["messages of 1 KB", "messages/s of CPU", "µs of CPU", "messages/s of wall", "share of the bare loop"]
    return markdown("", heads, cells)
