"""What every measured process reports: records, CPU time of its parts, wall time, and memory.

CPU and wall time run from the first record's work to the last commit: what one more record costs, without imports and
the joining of the group.
"""

import contextlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Task:
    """What a measured process is to do, as JSON in its last argument; topics are named without the prefix.

    Attributes:
        broker: The broker's process, whose CPU time is reported too; 0 for none.
        children: Child processes of the pipeline.
    """

    mode: str = ""
    bootstrap: str = ""
    prefix: str = ""
    source: str = ""
    target: str = ""
    records: int = 0
    broker: int = 0
    children: int = 0

    @staticmethod
    def given() -> "Task":
        return Task(**json.loads(sys.argv[-1]))


class Meter:
    """Counts records, and measures from the first one on."""

    def __init__(self, broker: int = 0) -> None:
        self.seen = 0
        self._broker = broker
        self._begin: tuple[float, ...] = ()

    def count(self) -> None:
        self.seen += 1
        if not self._begin:
            self.begin()

    def begin(self) -> None:
        """Starts to measure; ``count`` does it where each record passes through this process's own function."""
        self._begin = self._clocks()

    def tell(self, **more: float) -> None:
        """Prints the figures on one line, the last, when all is committed.

        CPU is that of the process and its children; ``parent``, ``children`` and ``broker`` list it apart.
        """
        wall, parent, children, broker = (end - begin for begin, end in zip(self._begin, self._clocks(), strict=True))
        parts = {"cpu": parent + children, "parent": parent, "children": children, "broker": broker}
        figures = {f"{part}_ms": 1000 * seconds / self.seen for part, seconds in parts.items()}
        figures |= {"per_cpu_second": self.seen / parts["cpu"], "per_wall_second": self.seen / wall}
        figures |= {"records": self.seen, "began": self._begin[0], "peak_mb": peak_mb()}
        print(json.dumps(figures | more), flush=True)

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
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
