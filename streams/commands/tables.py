"""Tables for people: nothing is cut off, whatever the terminal's width, and no encoding stops them."""

from __future__ import annotations

import io
import sys

from rich.console import Console
from rich.table import Table

_LEAST_WIDTH = 120


def table_console(narrowest: int = _LEAST_WIDTH) -> Console:
    """Standard output for tables and lines.

    A narrow terminal breaks long lines, for a figure that is cut off is a wrong one. A character that the output's
    encoding does not have becomes a question mark.

    Args:
        narrowest: The terminal's width from which on the caller's tables fit it; elsewhere there is room for all.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, narrowest if console.is_terminal else _LEAST_WIDTH)
    return console


def plain_table(apart: int = 2) -> Table:
    """A table of columns alone, so many spaces apart."""
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, apart, 0, 0))
