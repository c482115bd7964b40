"""What every measured process reports: records, CPU time, wall time, and memory over time.

Standard library only, so that a contestant with an environment of its own can use it. CPU and wall time run from the
first record's work to the last commit: what one more record costs, without imports and the joining of the group.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")

SAMPLE_SECONDS = 0.1


@dataclass
class Task:
    """What a measured process is to do, as JSON in its last argument.

    Attributes:
        bootstrap: The Kafka; "" without one.
        prefix: Before topics and groups.
        source: The topic to read, without prefix.
        target: The topic to write, without prefix.
        records: How many there are to read.
        mode: Which variant of the contestant.
        every: Take each n-th page only, where pages are read from the disk.
    """

    bootstrap: str = ""
    prefix: str = ""
    source: str = ""
    target: str = ""
    records: int = 0
    mode: str = ""
    every: int = 1

    @staticmethod
    def given() -> Task:
        """The task of this process."""
        return Task(**json.loads(sys.argv[-1]))


@dataclass
class Report:
    """What a measured process did. Seconds; MB of 2**20 bytes."""

    records: int
    cpu: float
    wall: float
    peak_mb: float
    rss_mb: list[float] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def tell(self) -> None:
        """One line on standard output, the last."""
        print(json.dumps(asdict(self)), flush=True)


class Meter:
    """Counts records, and samples memory in a thread from the first one on."""

    def __init__(self) -> None:
        self.seen = 0
        self._cpu = self._wall = 0.0
        self._rss: list[float] = []
        self._over = threading.Event()

    def count(self) -> None:
        """A record's work begins."""
        if not self.seen:
            self._cpu, self._wall = time.process_time(), time.monotonic()
            threading.Thread(target=self._sample, daemon=True).start()
        self.seen += 1

    def metered(self, work: Callable[[A, B], R]) -> Callable[[A, B], R]:
        """``work``, counted."""

        def counted(first: A, second: B) -> R:
            self.count()
            return work(first, second)

        return counted

    def report(self, **more: Any) -> Report:
        """The figures at the end."""
        self._over.set()
        cpu, wall = time.process_time() - self._cpu, time.monotonic() - self._wall
        return Report(self.seen, cpu, wall, memory("VmHWM"), self._rss, more)

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self._rss.append(round(memory("VmRSS"), 1))


def memory(name: str) -> float:
    """A figure of this process's memory in MB. Not ``ru_maxrss``: that is the parent's where the parent was larger."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return 0.0
