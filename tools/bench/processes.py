"""What a process and those below it use, read from ``/proc``. Standard library only.

A process that ended has its CPU time in the process that waited for it. So the sum over a tree keeps the time of
children that were replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _CUTIME = 11, 13
"""Fields of ``/proc/PID/stat`` after the name of the program; ``stime`` follows ``utime``, ``cstime`` ``cutime``."""


@dataclass(frozen=True)
class Memory:
    """MB of 2**20 bytes of one process, or of several together. PSS shares out what several processes map."""

    rss: float = 0.0
    pss: float = 0.0

    def __add__(self, other: Memory) -> Memory:
        return Memory(self.rss + other.rss, self.pss + other.pss)


def descendants(pid: int) -> list[int]:
    """All processes below one, at this moment."""
    return list(_below(pid))


def _below(pid: int) -> Iterator[int]:
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text("ascii").split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _below(child)


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


def memory_of(pid: int) -> Memory:
    """RSS and PSS of one process; 0 if it is gone."""
    found = {"Rss:": 0, "Pss:": 0}
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return Memory()
    for line in lines:
        name, _, rest = line.partition(" ")
        if name in found:
            found[name] = int(rest.split()[0])
    return Memory(found["Rss:"] / 1024, found["Pss:"] / 1024)


def _stat(pid: int) -> list[str]:
    """The fields after the program's name, which may have blanks; empty if the process is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _seconds(fields: list[str], at: int) -> float:
    return (int(fields[at]) + int(fields[at + 1])) / _TICKS
