"""Figures in a page of the docs, between two marks."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs" / "accuracy.md"


def marks(name: str = "") -> tuple[str, str]:
    """The marks around the figures of a section.

    >>> marks("results")[1]
    '<!-- end of figures of results -->'
    """
    figures = f"figures of {name}" if name else "figures"
    return f"<!-- {figures}: written by the harness -->", f"<!-- end of {figures} -->"


def write(text: str, marks: tuple[str, str], path: Path = DOCS) -> None:
    """Replaces the figures between the marks."""
    begin, end = marks
    page = path.read_text("utf-8")
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", "utf-8")
