"""What a process and those below it use, read from ``/proc``. Standard library only.

A process that ended has its CPU time in the process that waited for it. So the sum over a tree keeps the time of
children that were replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _CUTIME = 11, 13
"""Fields of ``/proc/PID/stat`` after the name of the program; ``stime`` follows ``utime``, ``cstime`` ``cutime``."""


def descendants(pid: int) -> Iterator[int]:
    """All processes below one, at this moment."""
    try:
        listed = [tasks.read_text("ascii") for tasks in (_PROC / str(pid) / "task").glob("*/children")]
    except OSError:  # it has ended meanwhile
        return
    for child in map(int, " ".join(listed).split()):
        yield child
        yield from descendants(child)


def own_cpu(pid: int) -> float:
    """CPU seconds of a process, without its children; 0 if it is gone."""
    fields = _stat(pid)
    return _seconds(fields, _UTIME) if fields else 0.0


def children_cpu(pid: int) -> float:
    """CPU seconds of all processes below one, also of those that ended."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    below = [stat for child in descendants(pid) if (stat := _stat(child))]
    return _seconds(fields, _CUTIME) + sum(_seconds(stat, _UTIME) + _seconds(stat, _CUTIME) for stat in below)


def memory_of(pid: int) -> float:
    """MB of 2**20 bytes of a process: PSS, which shares out what several processes map; 0 if it is gone."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _stat(pid: int) -> list[str]:
    """The fields after the program's name, which may have blanks; empty if the process is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _seconds(fields: list[str], at: int) -> float:
    return (int(fields[at]) + int(fields[at + 1])) / _TICKS
