"""Tables, texts and amounts for people: no terminal width cuts them off, and no encoding stops them."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LEAST_WIDTH = 120
_NARROWEST = 24
"""Columns below which words are broken everywhere."""


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    print(f"assay {command}: {message}", file=sys.stderr, flush=True)


def table_console(narrowest: int = _LEAST_WIDTH) -> Console:
    """Standard output for tables and lines.

    A narrow terminal breaks long lines, for a figure that is cut off is a wrong one. A character that the output's
    encoding does not have becomes a question mark.

    Args:
        narrowest: The terminal's width from which on the caller's tables fit it; elsewhere there is room for all.
    """
    from rich.console import Console

    _replace_what_can_not_be_written()
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, narrowest if console.is_terminal else _LEAST_WIDTH)
    return console


def text_console() -> Console:
    """Standard output for texts, which break where the reader's lines end.

    Those end with the terminal, or where ``COLUMNS`` says so. Of a pipe's reader nothing is known without it: lines of
    text stay whole there, and tables have room.
    """
    from rich.console import Console

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
    from rich.table import Table

    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, apart, 0, 0))


_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def in_time(seconds: float | None) -> str:
    """A length of time with about two digits; "-" for none.

    >>> in_time(0.004), in_time(2.34), in_time(75), in_time(5400), in_time(604800), in_time(None)
    ('4 ms', '2.3 s', '75 s', '90 min', '7.0 d', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds > 0 else "0 s"
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{seconds:.{0 if seconds >= 10 else 1}f} s"


def in_rate(per_second: float | None) -> str:
    """Records a second; "-" where it is not known yet.

    >>> in_rate(0), in_rate(0.25), in_rate(12.34), in_rate(1234.5), in_rate(None)
    ('0', '0.25', '12.3', '1,234', '-')
    """
    if per_second is None:
        return "-"
    if per_second >= 100:
        return f"{per_second:,.0f}"
    return f"{per_second:.3g}"


def in_money(usd: float | None) -> str:
    """US dollars, with as many places as a small sum needs; "-" where none is known.

    >>> in_money(0), in_money(0.00042), in_money(3.5), in_money(None)
    ('0', '$0.00042', '$3.50', '-')
    """
    if usd is None:
        return "-"
    if not usd:
        return "0"
    return f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.2g}"
