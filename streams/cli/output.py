"""What commands print. A terminal's width cuts nothing off, and its encoding stops nothing."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from streams.runtime.terminal import dumped, escaped, printable

if TYPE_CHECKING:
    from rich.table import Table

    from streams.views.screen import Screen

LABEL_STYLE = {"HIGH": "green", "MEDIUM": "yellow", "LOW": "red"}
TIER_STYLE = {"A": "green", "B": "yellow", "C": "red"}
_LEAST_WIDTH = 120
_SHOWN_REFUSALS = 20
_TAB = "\t"
_NARROWEST = 24  # below so many columns, words would be broken everywhere


def say(*lines: str, to: TextIO | None = None) -> None:
    """Prints lines for people; a character within a line that is no part of it, such as a line break, is U+FFFD."""
    target = to or sys.stdout
    text, encoding = "".join(f"{printable(line, keep=_TAB)}\n" for line in lines), target.encoding or "utf-8"
    target.write(text.encode(encoding, "replace").decode(encoding))
    target.flush()


def say_json(value: Any, to: TextIO | None = None, *, indent: int | None = None) -> None:
    """Prints a value, or the bytes of a document, as JSON for programs: UTF-8, whatever the terminal's encoding is."""
    document = escaped(value.decode()) if isinstance(value, bytes) else dumped(value, indent=indent)
    target = to or sys.stdout
    target.flush()
    target.buffer.write(document.encode() + b"\n")
    target.buffer.flush()


@dataclass
class Exact:
    """Writes bytes as they are to a file or a pipe, and as text for people to a terminal."""

    target: BinaryIO = field(default_factory=lambda: sys.stdout.buffer)  # noqa: TID251 - guarded below

    def write(self, content: bytes) -> None:
        if self.target.isatty():
            content = printable(content.decode("utf-8", "replace"), keep="\t\n").encode()
        self.target.write(content)


def show(as_json: bool, document: Any, *lines: str) -> int:
    """Prints a document for programs or lines for people, and returns the exit status 0."""
    say_json(document) if as_json else say(*lines)
    return 0


def tell(command: str, message: str, status: int = 0) -> int:
    """Prints one line on standard error, and returns the exit status."""
    say(f"{f'assay {command}'.strip()}: {' '.join(message.split())}", to=sys.stderr)
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
        if self.count > _SHOWN_REFUSALS:
            tell(self.command, f"and {self.count - _SHOWN_REFUSALS} more {what}")
        return self.count


def table_console(narrowest: int = _LEAST_WIDTH) -> Screen:
    """Standard output for tables and lines: long lines are wrapped, because a figure that is cut off is wrong."""
    from streams.views.screen import Screen

    _replace_what_can_not_be_written()
    console = Screen(soft_wrap=True)
    console.width = max(console.width, narrowest if console.is_terminal else _LEAST_WIDTH)
    return console


def text_console() -> Screen:
    """Standard output for texts, wrapped at the width of the terminal or of ``COLUMNS``, if there is one."""
    from streams.views.screen import Screen

    _replace_what_can_not_be_written()
    console = Screen()
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
    from rich.text import Text

    from streams.views.screen import Screen

    _replace_what_can_not_be_written()
    if not (console := Screen()).is_terminal:
        say(*("\t".join(map(printable, row)) for row in rows))
        return
    table = plain_table()
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
