"""Runs the broker's Java process and ends it when the process that started the broker is gone.

Input: a Java command line as arguments, one-byte orders on standard input. Output: Java's process id as one line, then
its exit status; Java's output goes to standard error.

A process that is killed with SIGKILL can't clean up. This small process outlives it, sees the pipe between them close,
stops Java and removes temporary files. It has one thread, so it can use Linux's parent death signal for the opposite
case, in which the guard itself is killed: the signal fires when the thread that started the child ends. It runs in an
isolated interpreter and imports only the standard library, to start in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

STOP, KILL = b"s", b"k"  # the orders: stop cleanly; kill
ORPHAN_SECONDS = 5.0  # time limit of a clean stop of Java after the parent has ended
_PARENT_CHECK_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Runs ``[folder to remove when orphaned, or "", java, argument…]``; returns Java's exit status."""
    folder, *command = arguments
    parent = os.getppid()
    alive, held_by_java = os.pipe()
    java = subprocess.Popen(  # noqa: S603 - the command line is the caller's own
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        pass_fds=(held_by_java,),
        preexec_fn=_die_with_the_guard if sys.platform == "linux" else None,  # one thread, so safe
    )
    os.close(held_by_java)
    os.write(1, f"{java.pid}\n".encode())
    os.close(1)
    if _orphaned(java, alive, parent):
        java.terminate()
        try:
            java.wait(ORPHAN_SECONDS)
        except subprocess.TimeoutExpired:
            java.kill()
        java.wait()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return java.wait() & 0xFF


def _orphaned(java: subprocess.Popen[bytes], alive: int, parent: int) -> bool:
    """Executes orders until Java ends (returns False) or the parent ends (returns True)."""
    while True:
        readable, _, _ = select.select([0, alive], [], [], _PARENT_CHECK_SECONDS)
        if alive in readable:  # only Java holds the other end, so Java has ended
            return False
        if 0 in readable:
            order = os.read(0, 1)
            if not order:
                return True
            java.send_signal(signal.SIGKILL if order == KILL else signal.SIGTERM)
        elif os.getppid() != parent:  # a forked sibling may hold our pipe open for longer than the parent lives
            return True


def _die_with_the_guard() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
