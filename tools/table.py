"""Tables of figures: as Markdown, and in a page of the docs between two marks."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def markdown(title: str, heads: Iterable[object], rows: Iterable[Iterable[object]], texts: int = 1) -> str:
    """A table below its title; the first columns are texts, the others figures.

    >>> markdown("### Cats", ["name", "legs"], [["Tom", 4]])
    '### Cats\\n\\n| name | legs |\\n|---|---:|\\n| Tom | 4 |\\n'
    """
    first, *others = ([*map(str, row)] for row in (heads, *rows))
    alignment = "|---" * texts + "|---:" * (len(first) - texts) + "|"
    head, *lines = [f"| {' | '.join(row)} |" for row in (first, *others)]
    return "\n".join([*([title, ""] if title else ()), head, alignment, *lines, ""])


def share(part: float, whole: float) -> str:
    """A part of a whole; a dash where there is nothing."""
    return f"{part / whole:.3f}" if whole else "–"


def machine() -> str:
    """The day, and how many cores have which load."""
    return f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def marks(name: str = "") -> tuple[str, str]:
    """The marks around the figures of a section.

    >>> marks("results")[1]
    '<!-- end of figures of results -->'
    """
    figures = f"figures of {name}" if name else "figures"
    return f"<!-- {figures}: written by the harness -->", f"<!-- end of {figures} -->"


def write(text: str, marks: tuple[str, str], page: str = "accuracy.md") -> None:
    """Replaces the figures between the marks of a page."""
    begin, end = marks
    path = DOCS / page
    old = path.read_text("utf-8")
    before, after = old[: old.index(begin) + len(begin)], old[old.index(end) :]
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", "utf-8")
