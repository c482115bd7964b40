"""What every measured process reports: records, CPU time of its parts, wall time, and memory.

CPU and wall time run from the
first record's work to the last commit: what one more record costs, without imports and the joining of the group. Where
a contestant has several processes, they run from the moment when each has its first record.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.bench.processes import children_cpu, own_cpu

_COUNT = struct.Struct("=q")
TOTAL_BYTES = 2 * _COUNT.size


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
        place: Which of several processes of one contestant this is.
        processes: How many those are.
        shared: The file in which they count.
    """

    bootstrap: str = ""
    prefix: str = ""
    source: str = ""
    target: str = ""
    records: int = 0
    mode: str = ""
    broker: int = 0
    workers: dict[str, Any] = field(default_factory=dict)
    place: int = 0
    processes: int = 1
    shared: str = ""

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


class Total:
    """How many records the processes of one contestant have handled and committed, in a file that they share."""

    def __init__(self, task: Task) -> None:
        """Opens the file, which has ``TOTAL_BYTES`` zero bytes for each process."""
        self._place = task.place * TOTAL_BYTES
        if task.shared:
            with Path(task.shared).open("r+b") as file:
                self._map: mmap.mmap = mmap.mmap(file.fileno(), 0)
        else:
            self._map = mmap.mmap(-1, task.processes * TOTAL_BYTES)

    def handle(self, count: int) -> None:
        """This process has begun the work on so many records."""
        _COUNT.pack_into(self._map, self._place, count)

    def commit(self, count: int) -> None:
        """This process has committed so many records."""
        _COUNT.pack_into(self._map, self._place + _COUNT.size, count)

    @property
    def handled(self) -> list[int]:
        """Of each process."""
        return [count for (count,) in _COUNT.iter_unpack(self._map[:])][::2]

    @property
    def committed(self) -> int:
        """Of all processes."""
        return sum(count for (count,) in list(_COUNT.iter_unpack(self._map[:]))[1::2])


class Meter:
    """Counts records, and measures from the first one on."""

    def __init__(self, task: Task | None = None) -> None:
        """Without a task: one process, no broker."""
        task = task or Task()
        self.total = Total(task)
        self.seen = 0
        self._broker = task.broker
        self._before = 0
        self._begin: tuple[float, ...] = ()
        self._end: tuple[float, ...] = ()
        self._alone = task.processes == 1

    def count(self, records: int = 1) -> None:
        """The work on records begins."""
        self.seen += records
        self.total.handle(self.seen)
        if not self._begin and all(self.total.handled):
            self.begin()
            self._before = self.seen - records

    def begin(self) -> None:
        """Starts to measure; ``count`` does it where each record passes through this process's own function."""
        self._begin = self._clocks()

    def commit(self) -> None:
        """What was counted is committed. One of several processes may wait for the others after its last commit."""
        self.total.commit(self.seen)
        self._end = () if self._alone or not self._begin else self._clocks()

    def report(self, **more: Any) -> Report:
        """The figures at the end."""
        if not self._begin:
            raise RuntimeError(f"records by process: {self.total.handled}; each must have some")
        ends = self._end or self._clocks()
        wall, cpu, children, broker = (end - begin for begin, end in zip(self._begin, ends, strict=True))
        records = self.seen - self._before
        return Report(records, cpu, wall, peak_mb(), more, children, broker, self._begin[0])

    def _clocks(self) -> tuple[float, ...]:
        broker = own_cpu(self._broker) if self._broker else 0.0
        return time.monotonic(), time.process_time(), children_cpu(os.getpid()), broker


def until_all(meter: Meter, records: int, then: Callable[[], None]) -> None:
    """Waits, in a thread, until all processes of the contestant have handled the records together."""
    while sum(meter.total.handled) < records:
        time.sleep(0.02)
    then()


def peak_mb() -> float:
    """This process's peak of memory. Not ``ru_maxrss``: that is the parent's where the parent was larger."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
