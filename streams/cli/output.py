"""Prints tables, texts and amounts: a terminal's width cuts nothing off, and its encoding stops nothing."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LEAST_WIDTH = 120
_SHOWN_REFUSALS = 20
_NARROWEST = 24
"""Below so many columns, words would be broken everywhere."""


def printable(text: str, most: int | None = None, *, keep: str = "") -> str:
    """A text, or its first ``most`` characters, without control and format characters, which could steer a terminal.

    >>> printable("a" + chr(27) + "[31mb" + chr(0x202E)), printable("abcd", 2)
    ('a�[31mb�', 'ab…')
    """
    shown = "".join(sign if sign.isprintable() or sign in keep else "\ufffd" for sign in text[:most])
    return shown + ("…" if most is not None and len(text) > most else "")


def tell(command: str, message: str, status: int = 0) -> int:
    """Prints one line on standard error, and returns the exit status."""
    print(f"assay {command}: {message}", file=sys.stderr, flush=True)
    return status


@dataclass
class Refusals:
    """Counts what a command refuses, and reports the first ones."""

    command: str
    count: int = 0

    def add(self, message: str) -> None:
        self.count += 1
        if self.count <= _SHOWN_REFUSALS:
            tell(self.command, message)

    def tell_rest(self, what: str = "refused") -> int:
        """Reports how many were not shown; returns how many there were."""
        if self.count > _SHOWN_REFUSALS:
            tell(self.command, f"and {self.count - _SHOWN_REFUSALS} more {what}")
        return self.count


def table_console(narrowest: int = _LEAST_WIDTH) -> Console:
    """Standard output for tables and lines: long lines are wrapped, because a figure that is cut off is wrong.

    Args:
        narrowest: The width in columns that the caller's tables need on a terminal; pipes have no limit.
    """
    from rich.console import Console

    _replace_what_can_not_be_written()
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, narrowest if console.is_terminal else _LEAST_WIDTH)
    return console


def text_console() -> Console:
    """Standard output for texts, wrapped at the width of the terminal or of ``COLUMNS``, if there is one."""
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


def plain_table(*texts: str, numbers: Iterable[str] = (), apart: int = 2) -> Table:
    """A table without lines, with columns of texts and then columns of numbers, so many spaces apart."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, apart, 0, 0))
    for name in texts:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_rows(columns: Iterable[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> None:
    """Prints rows as a table on a terminal, else with tabs between their cells; ``right`` aligns columns of numbers."""
    from rich.console import Console
    from rich.text import Text

    _replace_what_can_not_be_written()
    console = Console()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(row))
        return
    table = plain_table()
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def dumped(value: Any) -> str:
    """JSON for any output: lone surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
