"""The transaction coordinator, with the rules of Kafka's first transaction version, which aiokafka speaks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from tests.simulation import codes
from tests.simulation.world import OUTSIDE, World

Place = tuple[str, int]
"""A topic and the number of a partition."""


class Stage(Enum):
    """Where a transaction is."""

    EMPTY = auto()
    ONGOING = auto()
    ENDING = auto()
    """Its end is decided and not yet known to all partitions."""
    ENDED = auto()


@dataclass
class Transaction:
    """What the coordinator knows of a transactional id."""

    pid: int
    timeout: float
    epoch: int = 0
    stage: Stage = Stage.EMPTY
    committed: bool = False
    places: set[Place] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    number: int = 0
    """Of the transactions of this id, so that a time limit ends no later one."""
    left: int = 0
    """Markers that are not written yet."""


Mark = Callable[[Place | str, int, int, bool], None]
"""Ends a transaction at a partition or a group: which one, producer, epoch, whether it is committed."""


class Transactions:
    """The coordinator of all transactional ids. Markers arrive after a while, each at its own time."""

    def __init__(self, world: World, chance: random.Random, mark: Mark) -> None:
        """Knows no id yet."""
        self._world = world
        self._chance = chance
        self._mark = mark
        self._by_id: dict[str, Transaction] = {}
        self._pids = 1000
        self.slowest_marker = 0.02
        """Seconds until a marker arrives, at most."""

    def init(self, name: str | None, timeout: float) -> tuple[int, int, int]:
        """Fences earlier producers of the id; returns an error code, the producer id and the epoch."""
        found = self._by_id.get(name) if name is not None else None
        if found is None:
            self._pids += 1
            found = Transaction(self._pids, timeout)
            if name is not None:
                self._by_id[name] = found
            return 0, found.pid, 0
        if found.stage is Stage.ONGOING:
            found.epoch += 1
            self._end(found, committed=False)
        if found.stage is Stage.ENDING:
            return codes.CONCURRENT_TRANSACTIONS, -1, -1
        found.epoch, found.stage, found.timeout = found.epoch + 1, Stage.EMPTY, timeout
        return 0, found.pid, found.epoch

    def add(self, name: str, pid: int, epoch: int, places: list[Place], group: str | None = None) -> int:
        """Adds partitions or a group to the transaction, which begins with the first; returns an error code."""
        found, error = self._of(name, pid, epoch)
        if found is None:
            return error
        if found.stage is Stage.ENDING:
            return codes.CONCURRENT_TRANSACTIONS
        if found.stage is not Stage.ONGOING:
            found.stage, found.number = Stage.ONGOING, found.number + 1
            found.places, found.groups = set(), set()
            self._later(found.timeout, self._expire, found, found.number)
        found.places.update(places)
        if group is not None:
            found.groups.add(group)
        return 0

    def end(self, name: str, pid: int, epoch: int, committed: bool) -> int:
        """Ends the transaction; returns an error code. Which of the producer's transactions is meant, it can't know."""
        found, error = self._of(name, pid, epoch)
        if found is None:
            return error
        if found.stage is Stage.ONGOING:
            self._end(found, committed)
            return 0
        if found.stage is Stage.EMPTY or found.committed != committed:
            return codes.INVALID_TXN_STATE
        return 0 if found.stage is Stage.ENDED else codes.CONCURRENT_TRANSACTIONS

    def verify(self, name: str | None, pid: int, epoch: int, where: Place | str) -> int:
        """Whether a write belongs to an open transaction of its producer; returns an error code."""
        if name is None:
            return codes.INVALID_TXN_STATE
        found, error = self._of(name, pid, epoch)
        if found is None:
            return error
        known = found.groups if isinstance(where, str) else found.places
        return 0 if found.stage is Stage.ONGOING and where in known else codes.INVALID_TXN_STATE

    def _of(self, name: str, pid: int, epoch: int) -> tuple[Transaction | None, int]:
        found = self._by_id.get(name)
        if found is None or found.pid != pid:
            return None, codes.INVALID_PRODUCER_ID_MAPPING
        return (found, 0) if found.epoch == epoch else (None, codes.INVALID_PRODUCER_EPOCH)

    def _expire(self, transaction: Transaction, number: int) -> None:
        if transaction.stage is Stage.ONGOING and transaction.number == number:
            transaction.epoch += 1
            self._end(transaction, committed=False)

    def _end(self, transaction: Transaction, committed: bool) -> None:
        transaction.stage, transaction.committed = Stage.ENDING, committed
        wheres: list[Place | str] = [*sorted(transaction.places), *sorted(transaction.groups)]
        transaction.left = len(wheres)
        for where in wheres:
            self._later(self._chance.uniform(0, self.slowest_marker), self._arrive, transaction, where)

    def _arrive(self, transaction: Transaction, where: Place | str) -> None:
        self._mark(where, transaction.pid, transaction.epoch, transaction.committed)
        transaction.left -= 1
        if not transaction.left:
            transaction.stage = Stage.ENDED

    def _later(self, seconds: float, callback: Callable[..., None], *args: object) -> None:
        self._world.call_at(self._world.time() + seconds, callback, *args, context=OUTSIDE)
