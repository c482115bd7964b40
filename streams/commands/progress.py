"""How far a command is through a file, on the terminal of whoever waits for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def with_progress(source: BinaryIO, file: Path | None) -> Iterator[BinaryIO]:
    """The source, with a bar on standard error while it is read; none where that is no terminal or the end is unknown.

    Args:
        source: Open for reading.
        file: What it was opened from; None for standard input.
    """
    if file is None or not file.is_file() or not sys.stderr.isatty():
        yield source
        return
    from rich.console import Console
    from rich.progress import wrap_file

    total, console = file.stat().st_size, Console(stderr=True)
    with wrap_file(source, total, description=file.name, console=console, transient=True) as watched:
        yield watched
