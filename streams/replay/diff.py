"""What the comparisons of two configurations share: the first of many differences, dead letters, a migration matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from schemas.event import Event
from schemas.outcome import Dead, Emit, Outcome, Retry

T = TypeVar("T")
E = TypeVar("E", bound=Event)

NO_DECISION = ("dead", "drop", "retry")
"""The name of an outcome that is no decision."""


class Comparison(Protocol):
    """Counts what differs between outcomes of the same inputs, in bounded memory."""

    inputs: int

    def add(self, now: Outcome, then: Outcome) -> None:
        """Counts the outcomes of one input under the configuration now and under the other one."""
        ...

    def to_wire(self) -> dict[str, Any]:
        """The counts and the kept differences, as plain JSON types."""
        ...


@dataclass(slots=True)
class FirstFew(Generic[T]):
    """The first ``limit`` items of many, and how many there were."""

    limit: int
    items: list[T] = field(default_factory=list)
    count: int = 0

    def add(self, item: T) -> None:
        """Counts an item, and keeps it while there is room."""
        self.count += 1
        if len(self.items) < self.limit:
            self.items.append(item)

    @property
    def more(self) -> int:
        """How many were not kept."""
        return self.count - len(self.items)


@dataclass(slots=True)
class DeadTally:
    """Dead letters by reason, under the configuration now and under the other one."""

    now: Counter[str] = field(default_factory=Counter)
    then: Counter[str] = field(default_factory=Counter)

    def add(self, now: Outcome, then: Outcome) -> None:
        """Counts the dead ones of a pair of outcomes."""
        for outcome, counts in ((now, self.now), (then, self.then)):
            if isinstance(outcome, Dead):
                counts[outcome.reason.value] += 1

    @property
    def any(self) -> bool:
        """Whether an outcome was dead."""
        return bool(self.now or self.then)

    def to_wire(self) -> dict[str, dict[str, int]]:
        """Both sides, as plain JSON types."""
        return {"now": dict(self.now), "then": dict(self.then)}


def emitted(outcome: Outcome, kind: type[E]) -> E | None:
    """The first event of a type, where the outcome has one."""
    events = outcome.events if isinstance(outcome, Emit) else ()
    return next((event for event in events if isinstance(event, kind)), None)


def no_decision(outcome: Outcome) -> str:
    """The name in ``NO_DECISION`` of an outcome without the wanted event."""
    return "dead" if isinstance(outcome, Dead) else "retry" if isinstance(outcome, Retry) else "drop"


def migration(counts: Counter[tuple[str, str]], names: Iterable[str]) -> dict[str, dict[str, int]]:
    """A matrix as JSON: a row for each decision now, a column for each decision then, ``dead`` included.

    >>> migration(Counter({("A", "B"): 2}), "AB")["A"]
    {'A': 0, 'B': 2, 'dead': 0}
    """
    seen = {name for pair in counts for name in pair}
    shown = [*names, "dead", *(name for name in NO_DECISION[1:] if name in seen)]
    return {now: {then: counts[now, then] for then in shown} for now in shown}
