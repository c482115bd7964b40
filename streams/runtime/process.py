"""The process: a watchdog of the event loop, the garbage collector, the log, and the installed version.

A handler that never returns blocks the event loop. Heartbeats stop, and the group assigns the partitions to another
process, but this process would stay. The watchdog therefore ends the process, with its stacks on standard error. The
timer is faulthandler's: its thread is C code and needs no interpreter lock, so it also fires while C code, such as a
regular expression, holds that lock.

The timer counts monotonic time. On Linux that clock stops while the machine sleeps, but not while the process is
stopped (SIGSTOP, Ctrl-Z). The watchdog may therefore end a process that continues after a long stop.
"""

from __future__ import annotations

import faulthandler
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

_TICK_SECONDS = 1.0
_STANDARD_ERROR = 2  # a descriptor, because the timer's thread cannot use a Python object


def structlog_to_logging() -> None:
    """Sends the log to the standard library's logging, unless a command has set it up.

    By default structlog writes to standard output, which is for the results of a command or of the user's program.
    """
    import structlog  # not at the top: most commands that need this log nothing

    if not structlog.is_configured():
        structlog.configure(logger_factory=structlog.stdlib.LoggerFactory())


@asynccontextmanager
async def watchdog(patience_seconds: float) -> AsyncIterator[None]:
    """Watches the running event loop while the block runs.

    If the loop is blocked for ``patience_seconds``, faulthandler writes the stacks of all threads to standard error,
    and the process exits with status 1, without clean-up. A process has one such timer; this replaces an earlier one.
    """
    _start_timer(patience_seconds)
    import asyncio  # not at the top, because `assay --help` needs no event loop

    restarting = asyncio.create_task(_restart_timer(patience_seconds), name="watchdog")
    try:
        yield
    finally:
        restarting.cancel()
        faulthandler.cancel_dump_traceback_later()


async def _restart_timer(patience_seconds: float) -> None:
    import asyncio

    while True:
        await asyncio.sleep(_TICK_SECONDS)
        _start_timer(patience_seconds)


def _start_timer(patience_seconds: float) -> None:
    faulthandler.dump_traceback_later(patience_seconds, exit=True, file=_STANDARD_ERROR)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disables the garbage collector for imports and other objects that live as long as the process.

    Collections without garbage took an eighth of the start of a command. Objects are not frozen: the caller's process
    may have other objects, and those that become garbage must be collected.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def freeze_gc() -> None:
    """Excludes all present objects from collections. Called once, after the start.

    The thresholds are unchanged: records that the Kafka client has fetched and discarded, as under back pressure, are
    in reference cycles. With a threshold of 20,000 objects instead of 700 memory grew by 100 KB a page.
    """
    gc.collect()
    gc.freeze()


def installed_version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("assay")
    except PackageNotFoundError:
        return "0+unknown"
