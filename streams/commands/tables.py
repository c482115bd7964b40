"""Tables and texts for people: nothing is cut off, whatever the terminal's width, and no encoding stops them."""

from __future__ import annotations

import io
import os
import sys

from rich.console import Console
from rich.table import Table

_LEAST_WIDTH = 120
_NARROWEST = 24
"""Columns below which words are broken everywhere."""


def table_console(narrowest: int = _LEAST_WIDTH) -> Console:
    """Standard output for tables and lines.

    A narrow terminal breaks long lines, for a figure that is cut off is a wrong one. A character that the output's
    encoding does not have becomes a question mark.

    Args:
        narrowest: The terminal's width from which on the caller's tables fit it; elsewhere there is room for all.
    """
    _replace_what_can_not_be_written()
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, narrowest if console.is_terminal else _LEAST_WIDTH)
    return console


def text_console() -> Console:
    """Standard output for texts, which break where the reader's lines end.

    Those end with the terminal, or where ``COLUMNS`` says so. Of a pipe's reader nothing is known without it: lines of
    text stay whole there, and tables have room.
    """
    _replace_what_can_not_be_written()
    console = Console(highlight=False)
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        console.width = max(console.width, _NARROWEST)
        return console
    return table_console()


def _replace_what_can_not_be_written() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def plain_table(apart: int = 2) -> Table:
    """A table of columns alone, so many spaces apart."""
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, apart, 0, 0))
