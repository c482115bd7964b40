"""The watchdog in separate processes, which it ends."""

import asyncio
import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from streams.runtime.process import freeze_gc, gc_paused

PROGRAM = """
import asyncio, re, time
from streams.runtime.process import watchdog

async def main():
    async with watchdog({seconds}):
        {body}
    time.sleep(4)  # the timer is off
    print("done")

def stuck():
    re.match("(a+)+$", "a" * 64 + "!")  # about 2**64 steps in C code that never releases the interpreter lock

asyncio.run(main())
"""


async def run(body: str, seconds: int) -> tuple[int | None, str, str]:
    """Runs the program with ``body`` under a watchdog of so many seconds; returns its status, output and errors."""
    program = PROGRAM.format(body=body, seconds=seconds)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(60):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode(), errors.decode()


async def test_running_loop_is_not_ended() -> None:
    assert await run("await asyncio.sleep(5)", 3) == (0, "done\n", "")


async def test_process_stuck_in_a_regular_expression_prints_its_stack() -> None:
    status, output, errors = await run("stuck()", 2)
    assert (status, output) == (1, "")
    assert "Timeout (0:00:02)!" in errors
    assert errors.index("/re/__init__.py") < errors.index("in stuck") < errors.index("in main")


# --- the garbage collector -------------------------------------------------------------------------------------------


class Knot:
    """Holds itself, so only the collector lets go of it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("before", [True, False])
def test_gc_is_as_before_after_a_failed_start(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    with pytest.raises(ZeroDivisionError), gc_paused():
        1 / (0 if not gc.isenabled() else 1)
    assert gc.isenabled() is before


def test_frozen_objects_are_not_collected() -> None:
    with gc_paused():
        knot, kept = weakref.ref(Knot()), Knot()
    before = gc.get_freeze_count()
    freeze_gc()
    assert knot() is None
    assert kept.itself is kept
    assert gc.get_freeze_count() > before
