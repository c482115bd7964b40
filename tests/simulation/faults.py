"""What goes wrong in a run: each fault waits for the n-th request of a kind, of any worker."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tests.simulation import codes
from tests.simulation.broker import KEYS
from tests.simulation.network import Connection, Network
from tests.simulation.world import OUTSIDE, Process

KINDS = (
    "killed",
    "killed_sent",
    "killed_handled",
    "frozen",
    "frozen_sent",
    "request_lost",
    "answer_lost",
    "late",
    "silent",
    "slow",
    "error",
    "outage",
    "moved",
    "joined",
    "left",
)
_LASTING = ("frozen", "frozen_sent", "late", "slow", "outage")
_REQUESTS = {
    "EndTxn": 8,
    "TxnOffsetCommit": 5,
    "Produce": 5,
    "OffsetCommit": 4,
    "AddPartitionsToTxn": 3,
    "AddOffsetsToTxn": 3,
    "InitProducerId": 3,
    "OffsetFetch": 3,
    "JoinGroup": 2,
    "SyncGroup": 2,
    "Heartbeat": 2,
    "Fetch": 2,
    "FindCoordinator": 1,
    "Metadata": 1,
}
"""Requests that faults wait for, and how often."""
_COORDINATOR = (codes.NOT_COORDINATOR_FOR_GROUP, codes.GROUP_COORDINATOR_NOT_AVAILABLE,
                codes.GROUP_LOAD_IN_PROGRESS)  # fmt: skip
_ERRORS = {
    "Produce": (codes.NOT_LEADER_FOR_PARTITION, codes.REQUEST_TIMED_OUT),
    "Fetch": (codes.NOT_LEADER_FOR_PARTITION, codes.UNKNOWN_TOPIC_OR_PARTITION),
    **dict.fromkeys(
        ("EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "InitProducerId", "TxnOffsetCommit", "JoinGroup",
         "SyncGroup", "Heartbeat", "OffsetFetch", "OffsetCommit"), _COORDINATOR,
    ),
    "LeaveGroup": _COORDINATOR,
}  # fmt: skip


@dataclass
class Fault:
    """One thing that goes wrong."""

    kind: str
    key: str
    nth: int
    """Of the requests of this kind, counted from when the fault is armed."""
    armed_at: float
    seconds: float
    """How long it lasts, if it lasts."""
    code: int = 0

    @classmethod
    def drawn(cls, chance: random.Random, session: float) -> Fault:
        """A fault by chance."""
        kind = chance.choice(KINDS)
        key = chance.choices(tuple(_REQUESTS), tuple(_REQUESTS.values()))[0]
        if kind == "error" and key not in _ERRORS:
            key = "Produce"
        long = kind.startswith("frozen") and chance.random() < 0.8
        seconds = session * chance.uniform(1.0, 2.0) if long else chance.uniform(0.05, 1.5) * session
        if kind == "late":
            # The next transaction of the producer is open a moment after the connection is back.
            seconds *= 0.15
        code = chance.choice(_ERRORS.get(key, (0,)))
        return cls(kind, key, chance.randint(1, 5), chance.uniform(0, 0.6), seconds, code)


class Workers(Protocol):
    """What faults do to workers."""

    def kill(self, process: Process) -> None:
        """Kills one; another one replaces it."""
        ...

    def add(self) -> None:
        """Starts one more."""
        ...

    def dismiss(self, process: Process) -> None:
        """Asks one to end in good order."""
        ...


class PlannedFaults:
    """The faults of a run."""

    def __init__(self, faults: list[Fault], network: Network, workers: Workers) -> None:
        """Arms them as time passes."""
        self._network = network
        self._workers = workers
        self._left = list(faults)
        self._after: dict[Connection, Fault] = {}
        self.done: list[str] = []
        self.quiet_at = 0.0
        """After this time no effect of a fault is pending."""

    @property
    def pending(self) -> bool:
        """Whether a fault has not happened yet."""
        return bool(self._left)

    def give_up(self) -> None:
        """Faults that were not reached do not happen any more."""
        self._left.clear()

    def on_request(self, connection: Connection, key: str, frame: bytes) -> bool:
        """As ``network.Faults``."""
        process, now = connection.process, self._network.world.time()
        if process is None or not process.alive:
            return False
        for fault in self._left:
            if fault.key == key and fault.armed_at <= now:
                fault.nth -= 1
                if not fault.nth:
                    self._left.remove(fault)
                    return self._happen(fault, connection, process, frame)
        return True

    def on_handled(self, connection: Connection, key: str) -> bool:
        """As ``network.Faults``."""
        fault = self._after.get(connection)
        if fault is None or fault.key != key:
            return True
        del self._after[connection]
        if fault.kind == "killed_handled":
            assert connection.process is not None
            self._workers.kill(connection.process)
        elif fault.kind == "answer_lost":
            connection.cut()
        elif fault.kind == "silent":
            connection.silent = True
        return False

    def _happen(self, fault: Fault, connection: Connection, process: Process, frame: bytes) -> bool:
        network, world = self._network, self._network.world
        network.note(process, fault.key, fault.kind)
        self.done.append(f"{fault.kind} {fault.key}")
        if fault.kind in _LASTING:
            self.quiet_at = max(self.quiet_at, world.time() + fault.seconds)
        act: dict[str, Callable[[], bool]] = {
            "killed": lambda: self._kill(process, delivered=False),
            "killed_sent": lambda: self._kill(process, delivered=True),
            "frozen": lambda: self._freeze(process, fault, connection, frame),
            "frozen_sent": lambda: self._freeze(process, fault),
            "request_lost": lambda: self._cut(connection),
            "late": lambda: self._cut(connection, frame, fault.seconds),
            "slow": lambda: self._hold(connection, frame, fault.seconds),
            "error": lambda: self._fail(fault),
            "outage": lambda: self._break(fault.seconds),
            "moved": self._move,
            "joined": self._join,
            "left": lambda: self._leave(process),
        }
        if fault.kind in act:
            return act[fault.kind]()
        self._after[connection] = fault
        return True

    def _kill(self, process: Process, delivered: bool) -> bool:
        self._workers.kill(process)
        return delivered

    def _freeze(self, process: Process, fault: Fault, connection: Connection | None = None, frame: bytes = b"") -> bool:
        self._network.world.freeze(process, fault.seconds)
        if connection is not None:
            connection.send(frame, after=fault.seconds)
        return connection is None

    def _cut(self, connection: Connection, late: bytes | None = None, seconds: float = 0.0) -> bool:
        connection.cut()
        if late is not None:
            connection.send_late(late, seconds)
        return False

    def _hold(self, connection: Connection, frame: bytes, seconds: float) -> bool:
        connection.send(frame, after=seconds)
        return False

    def _fail(self, fault: Fault) -> bool:
        self._network.brokers.failing[KEYS[fault.key]] = fault.code
        return True

    def _break(self, seconds: float) -> bool:
        network = self._network
        network.down = True
        network.cut_all()
        network.world.call_at(network.world.time() + seconds, self._mend, context=OUTSIDE)
        return False

    def _mend(self) -> None:
        self._network.down = False
        self._network.brokers.groups.restart()

    def _move(self) -> bool:
        self._network.brokers.move()
        return True

    def _join(self) -> bool:
        self._workers.add()
        return True

    def _leave(self, process: Process) -> bool:
        self._workers.dismiss(process)
        return True
