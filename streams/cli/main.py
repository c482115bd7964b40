"""Where ``assay`` begins: little is imported before a Ctrl-C is one that ends quietly."""

from __future__ import annotations

import sys

from streams.process import gc_paused

_INTERRUPTED = 130


def main() -> None:
    """Runs the command line; wrong usage exits 2 with one line that says what to do."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    try:
        # Some 0.1 s, in which somebody may already have seen that it is the wrong command.
        with gc_paused():
            from streams.cli.commands import run_command_line

        return run_command_line(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
