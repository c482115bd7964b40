"""The process itself: a watchdog of the event loop, and the garbage collector in workers and at the start of commands.

A handler that never returns holds the event loop. Heartbeats stop, and the group gives the partitions to another
process, but this process would stay. The watchdog therefore ends the process, with its stacks on standard error. The
timer is faulthandler's: its thread is C code and needs no interpreter lock, so it also fires while C code, such as a
regular expression, holds that lock.

The timer counts monotonic time. On Linux, that clock stops while the machine sleeps. It does not stop for a process
that is stopped (SIGSTOP, Ctrl-Z). A process that was stopped for longer than the patience may therefore be ended when
it continues.
"""

from __future__ import annotations

import faulthandler
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

_TICK_SECONDS = 1.0
_STANDARD_ERROR = 2
"""The descriptor: the timer's thread cannot use a Python object."""


@asynccontextmanager
async def watchdog(patience_seconds: float) -> AsyncIterator[None]:
    """Watches the running event loop while the block runs.

    A process has one such timer: entering the block replaces a timer that other code has set.

    Args:
        patience_seconds: How long the event loop may not turn. Then faulthandler writes the stacks of all threads to
            standard error, and the process exits with status 1, without clean-up.
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
    """For imports, and what is built once: all of it stays, so looking through it again and again finds nothing.

    An eighth of the start of a command was that. Nothing is frozen here: what is garbage meanwhile has to go as well,
    and whoever calls a command within a process of their own has a heap that is not this module's. A collector that
    was off stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def freeze_gc() -> None:
    """Leaves out what is there now, which stays for good. Called once, after a start.

    How often it looks stays as it is: records that the Kafka client has fetched and then set aside, as back pressure
    has it do, hang in cycles. Looking 20,000 objects apart instead of 700 was faster, and grew by 100 KB a page.
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
