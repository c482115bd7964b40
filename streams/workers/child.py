"""The child process: takes jobs from a socket, one after another, and writes their results.

A message is its length in bytes, a big-endian ``uint32``, and a pickle. The kernel enforces the limits, so they also
hold in C code: it ends the process with SIGPROF after the CPU seconds of a job, with SIGALRM after its wall-clock
seconds, and refuses memory above the limit. The exit status tells the parent which limit a job exceeded. As no limit
needs the parent, no child outlives a parent that was killed for longer than one job. A child that is stopped gets no
signal but SIGKILL, which the parent sends after its own deadline (``deadlines``).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from schemas.outcome import Dead, DeadReason
from streams.topology.codec import MAX_DETAIL

Work = Callable[[Any], Any]
"""Takes a job and returns its result. Both can be pickled. A job that raises has the result ``Dead(handler_bug)``."""
LENGTH = struct.Struct(">I")
SOCKET_BYTES = 1 << 20  # of a socket's buffer: most pages fit, so that neither side waits until the other one reads
OUT_OF_MEMORY = 77  # exit status of a child that got no memory
_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one job may use. The wall-clock time, for a job that waits, must allow for a busy machine.

    The memory is address space beyond that of the started child; systems without ``/proc`` do not limit it. The parent
    kills a child that is silent for ``silent_seconds`` after the wall-clock time of its job, or for so long at its
    start, and a template that does not answer for so long.
    """

    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    silent_seconds: float = 5.0


def run_child(connection: socket.socket, work: Work, limits: JobLimits) -> None:
    """Runs jobs until the parent closes its end of the connection."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF, signal.SIGALRM})
    with connection, open(connection.fileno(), "rb", SOCKET_BYTES, closefd=False) as incoming:
        _limit_memory(limits.memory_bytes)
        _send(connection, b"")
        while job := _receive(incoming):
            signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)
            signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds)
            result = _result(work, job)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(connection, result)


def _result(work: Work, job: bytes) -> bytes:
    try:
        return pickle.dumps(work(pickle.loads(job)), pickle.HIGHEST_PROTOCOL)  # noqa: S301  # from the parent
    except MemoryError:
        # What this process holds is unknown now, so it takes no other job.
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        bug = Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])
        return pickle.dumps(bug, pickle.HIGHEST_PROTOCOL)


def _receive(incoming: BinaryIO) -> bytes:
    try:
        length = incoming.read(LENGTH.size)
        return incoming.read(LENGTH.unpack(length)[0]) if length else b""
    except ConnectionError:
        return b""


def _send(connection: socket.socket, message: bytes) -> None:
    # A parent that was killed has closed its end; the next read ends this process.
    with contextlib.suppress(ConnectionError):
        connection.sendall(LENGTH.pack(len(message)) + message)


def _limit_memory(more: int) -> None:
    if _STATM.exists():
        used = int(_STATM.read_text("ascii").split()[0]) * resource.getpagesize()
        most = used + more
        for own in resource.getrlimit(resource.RLIMIT_AS):
            most = most if own == resource.RLIM_INFINITY else min(most, own)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
