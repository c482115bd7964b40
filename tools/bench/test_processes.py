"""CPU time and memory of processes, read from the system."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tools.bench.processes import Memory, children_cpu, descendants, memory_of, own_cpu

BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\n"
CHILD_OF_A_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY + 'input()'!r}])"


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program from its first line of output until the end of the block."""
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.communicate(b"\n")


def test_cpu_of_a_process_and_of_those_below_it() -> None:
    here, before = os.getpid(), children_cpu(os.getpid())
    with running(BUSY + "input()") as process:
        assert process.pid in descendants(here)
        assert own_cpu(process.pid) >= 0.25
        assert children_cpu(process.pid) == 0
        assert children_cpu(here) - before >= 0.25
    # It has ended, and its time is not lost.
    assert process.pid not in descendants(here)
    assert children_cpu(here) - before >= 0.25
    assert own_cpu(process.pid) == children_cpu(process.pid) == 0


def test_a_child_of_a_child_counts() -> None:
    before = children_cpu(os.getpid())
    with running(CHILD_OF_A_CHILD) as process:
        assert len(descendants(process.pid)) == 1
        assert children_cpu(process.pid) >= 0.25
    assert children_cpu(os.getpid()) - before >= 0.25


def test_memory() -> None:
    # Children, because this process may have freed memory that a new object takes again.
    large = "held = b'\\1' * 2**25\nprint(flush=True)\ninput()"
    with running(large) as more_held, running("print(flush=True)\ninput()") as less_held:
        more, less = memory_of(more_held.pid), memory_of(less_held.pid)
    assert more.rss - less.rss > 24
    assert 0 < less.pss <= less.rss
    assert memory_of(2**22 + 1) == Memory()
    assert Memory(1, 2) + Memory(3, 4) == Memory(4, 6)


def test_own_cpu_is_that_of_the_clock() -> None:
    assert abs(own_cpu(os.getpid()) - time.process_time()) < 0.1
