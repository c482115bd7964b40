"""What goes wrong in a run: each fault waits for the n-th request of a kind, of any worker."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tests.simulation import codes
from tests.simulation.broker import Failure
from tests.simulation.network import Connection, Network
from tests.simulation.world import OUTSIDE, Process
from tests.tables import tables

TABLES = tables(__file__)

KINDS = TABLES["kinds"]
"""What happens, and how often. There are many errors, each with its own path through the client."""
_CUT_OFF_SECONDS = 2.5
"""A move that would last longer leaves a broker behind that still answers for this time."""
_LASTING = ("cut_off", "frozen", "frozen_sent", "late", "slow", "outage")
_REQUESTS = TABLES["requests"]
"""Requests that faults wait for, and how often."""
_LATE = TABLES["late"]
"""Requests that change something if they arrive late, and how often."""
_LATE_SECONDS = (0.05, 0.7)
"""The next transaction of the producer is open a moment after the connection is back."""
_COORDINATOR = tuple(
    map(Failure, (codes.NOT_COORDINATOR_FOR_GROUP, codes.GROUP_COORDINATOR_NOT_AVAILABLE, codes.GROUP_LOAD_IN_PROGRESS))
)
_LATE_REPLICAS = Failure(codes.GROUP_COORDINATOR_NOT_AVAILABLE, handled=True)
"""A coordinator has written a change, and its replicas did not confirm it in time."""
_TRANSACTION = (*_COORDINATOR, _LATE_REPLICAS, Failure(codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
_NOT_LEADER = Failure(codes.NOT_LEADER_FOR_PARTITION)
_NO_TOPIC = Failure(codes.UNKNOWN_TOPIC_OR_PARTITION)
_NO_RIGHT_TO_TOPIC = Failure(codes.TOPIC_AUTHORIZATION_FAILED)
_NO_RIGHT_TO_GROUP = Failure(codes.GROUP_AUTHORIZATION_FAILED)
"""After one of the last two in a transaction, aiokafka allows only to abort: other operations are illegal."""
_ERRORS: dict[str, tuple[Failure, ...]] = {
    "Produce": (
        _NOT_LEADER, Failure(codes.REQUEST_TIMED_OUT), Failure(codes.REQUEST_TIMED_OUT, handled=True),
        Failure(codes.NOT_ENOUGH_REPLICAS), Failure(codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND, handled=True),
        _NO_RIGHT_TO_TOPIC,
    ),
    "Fetch": (_NOT_LEADER, _NO_TOPIC, _NO_RIGHT_TO_TOPIC),
    "Offset": (_NOT_LEADER, _NO_TOPIC),
    "Metadata": (_NO_TOPIC, Failure(codes.LEADER_NOT_AVAILABLE), Failure(codes.BROKER_NOT_AVAILABLE)),
    "FindCoordinator": (Failure(codes.GROUP_COORDINATOR_NOT_AVAILABLE),),
    "EndTxn": _TRANSACTION,
    "InitProducerId": (*_COORDINATOR, Failure(codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)),
    "AddPartitionsToTxn": (*_TRANSACTION, _NO_RIGHT_TO_TOPIC, _NO_RIGHT_TO_TOPIC),
    "AddOffsetsToTxn": (*_TRANSACTION, _NO_RIGHT_TO_GROUP, _NO_RIGHT_TO_GROUP),
    "TxnOffsetCommit": (*_TRANSACTION, _NO_RIGHT_TO_GROUP, _NO_RIGHT_TO_GROUP),
    "OffsetCommit": (*_COORDINATOR, _LATE_REPLICAS),
    **dict.fromkeys(("JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch"), _COORDINATOR),
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
    failure: Failure | None = None
    after: int = 0
    """A late request arrives behind so many others of its kind and process; 0 for a time."""

    @classmethod
    def drawn(cls, chance: random.Random, session: float) -> Fault:
        """A fault by chance."""
        kind = chance.choices(tuple(KINDS), tuple(KINDS.values()))[0]
        weights = _LATE if kind == "late" else _REQUESTS
        key = chance.choices(tuple(weights), tuple(weights.values()))[0]
        long = kind.startswith("frozen") and chance.random() < 0.8
        seconds = session * chance.uniform(1.0, 2.0) if long else chance.uniform(0.05, 1.5) * session
        after = 0
        if kind == "late":
            seconds, after = chance.uniform(*_LATE_SECONDS), chance.choice((0, 1, 2, 2, 3))
        if kind == "moved" and seconds > _CUT_OFF_SECONDS:
            kind = "cut_off"
        failure = chance.choice(_ERRORS[key]) if kind == "error" else None
        return cls(kind, key, chance.randint(1, 5), chance.uniform(0, 0.6), seconds, failure, after)


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
        self._held: list[tuple[Fault, Connection, bytes]] = []
        """Late requests that arrive behind others."""
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
        for held in list(self._held):
            late, earlier, frame = held
            if late.key == key and earlier.process is connection.process:
                late.after -= 1
                if not late.after:
                    self._held.remove(held)
                    earlier.send_late(frame, 0.001)
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
            "late": lambda: self._hold_back(fault, connection, frame),
            "slow": lambda: self._hold(connection, frame, fault.seconds),
            "error": lambda: self._fail(fault),
            "outage": lambda: self._break(fault.seconds),
            "moved": self._move,
            "cut_off": lambda: self._cut_off(connection, fault.seconds),
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

    def _cut(self, connection: Connection) -> bool:
        connection.cut()
        return False

    def _hold_back(self, fault: Fault, connection: Connection, frame: bytes) -> bool:
        connection.cut()
        if fault.after:
            self._held.append((fault, connection, frame))
        else:
            connection.send_late(frame, fault.seconds)
        return False

    def _hold(self, connection: Connection, frame: bytes, seconds: float) -> bool:
        connection.send(frame, after=seconds)
        return False

    def _fail(self, fault: Fault) -> bool:
        assert fault.failure is not None
        self._network.brokers.failing[fault.key] = fault.failure
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

    def _cut_off(self, connection: Connection, seconds: float) -> bool:
        brokers, world = self._network.brokers, self._network.world
        brokers.cut_off(connection.port)
        world.call_at(world.time() + seconds, brokers.take_back, context=OUTSIDE)
        return True

    def _join(self) -> bool:
        self._workers.add()
        return True

    def _leave(self, process: Process) -> bool:
        self._workers.dismiss(process)
        return True
