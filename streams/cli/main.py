"""The entry point of ``assay``; it imports little before it handles Ctrl-C."""

from __future__ import annotations

import gc
import sys

from streams.runtime.process import gc_paused

_INTERRUPTED = 130


def main() -> None:
    status = _run(sys.argv[1:])
    # The interpreter would collect modules and models at its end, which takes a tenth of a short command.
    gc.freeze()
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    try:
        # The import takes about 0.1 s, in which the user may press Ctrl-C.
        with gc_paused():
            from streams.cli.commands import run_command_line

        return run_command_line(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        # A model is built at its first use, and pydantic reports a Ctrl-C of that moment as a fault of the model.
        if type(error).__name__ == "SchemaError" and "KeyboardInterrupt" in str(error):
            return _INTERRUPTED
        from traceback import format_exc

        from streams.cli.output import say

        say(*format_exc().rstrip().split("\n"), to=sys.stderr)
        return 1
