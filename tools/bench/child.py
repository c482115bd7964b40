"""What every measured process reports: records, CPU time of its parts, wall time, and memory.

CPU and wall time run from the first record's work to the last commit: what one more record costs, without imports and
the joining of the group.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil


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
        broker: The broker's process, whose CPU time is reported too; 0 for none.
        workers: Settings of the section ``workers``.
    """

    bootstrap: str = ""
    prefix: str = ""
    source: str = ""
    target: str = ""
    records: int = 0
    mode: str = ""
    broker: int = 0
    workers: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def given() -> Task:
        """The task of this process."""
        return Task(**json.loads(sys.argv[-1]))


@dataclass
class Report:
    """What a measured process did. Seconds; MB of 2**20 bytes.

    Attributes:
        records: How many it handled.
        cpu: Of the process, without its children.
        wall: From the first record to the last commit.
        peak_mb: Of the process, without its children.
        children_cpu: Of all processes below it.
        broker_cpu: Of the broker meanwhile.
        began: When the first record came, by the monotonic clock of the machine.
        more: Figures of one kind of contestant.
    """

    records: int
    cpu: float
    wall: float
    peak_mb: float
    more: dict[str, Any] = field(default_factory=dict)
    children_cpu: float = 0.0
    broker_cpu: float = 0.0
    began: float = 0.0

    @property
    def all_cpu(self) -> float:
        """CPU seconds of the process and its children."""
        return self.cpu + self.children_cpu

    def tell(self) -> None:
        """One line on standard output, the last."""
        print(json.dumps(asdict(self)), flush=True)


class Meter:
    """Counts records, and measures from the first one on."""

    def __init__(self, broker: int = 0) -> None:
        """Takes the broker's process; 0 without one."""
        self.seen = 0
        self._broker = broker
        self._begin: tuple[float, ...] = ()

    def count(self) -> None:
        """The work on a record begins."""
        self.seen += 1
        if not self._begin:
            self.begin()

    def begin(self) -> None:
        """Starts to measure; ``count`` does it where each record passes through this process's own function."""
        self._begin = self._clocks()

    def report(self, **more: Any) -> Report:
        """The figures at the end, when all is committed."""
        wall, cpu, children, broker = (end - begin for begin, end in zip(self._begin, self._clocks(), strict=True))
        return Report(self.seen, cpu, wall, peak_mb(), more, children, broker, self._begin[0])

    def _clocks(self) -> tuple[float, ...]:
        broker = sum(psutil.Process(self._broker).cpu_times()[:2]) if self._broker else 0.0
        return time.monotonic(), time.process_time(), children_cpu(), broker


def children_cpu() -> float:
    """CPU seconds of all processes below this one. That of a process that ended is its parent's."""
    own = psutil.Process()
    found: float = sum(own.cpu_times()[2:4])
    for child in own.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += sum(child.cpu_times()[:4])
    return found


def peak_mb() -> float:
    """This process's peak of memory. Not ``ru_maxrss``: that is the parent's where the parent was larger."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
