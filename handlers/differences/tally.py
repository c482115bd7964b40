"""What every comparison counts: the first few of many differences, and outcomes that are no decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from schemas.event import Event
from schemas.outcome import Dead, Drop, Emit, Outcome, Retry

T = TypeVar("T")
E = TypeVar("E", bound=Event)

NO_DECISION = ("dead", "drop", "retry")
"""What stands in the place of a decision where there is none."""


@dataclass(slots=True)
class FirstFew(Generic[T]):
    """The first items of many, and how many there were: memory is bounded whatever comes."""

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
        """Counts a pair of outcomes, as far as they are dead."""
        for outcome, counts in ((now, self.now), (then, self.then)):
            if isinstance(outcome, Dead):
                counts[outcome.reason.value] += 1

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self.now or self.then)

    def to_wire(self) -> dict[str, dict[str, int]]:
        """Plain JSON types."""
        return {"now": dict(self.now), "then": dict(self.then)}


def emitted(outcome: Outcome, kind: type[E]) -> E | None:
    """The first event of a type, where the outcome has one."""
    events = outcome.events if isinstance(outcome, Emit) else ()
    return next((event for event in events if isinstance(event, kind)), None)


def no_decision(outcome: Outcome) -> str:
    """The name in ``NO_DECISION`` of an outcome without the event that was looked for."""
    match outcome:
        case Dead():
            return "dead"
        case Retry():
            return "retry"
        case Drop() | Emit():
            return "drop"


def migration(counts: Counter[tuple[str, str]], names: Iterable[str]) -> dict[str, dict[str, int]]:
    """A matrix as JSON: rows are what is now, columns what is then. Every name and ``dead`` has a row and a column.

    >>> migration(Counter({("A", "B"): 2}), "AB")["A"]
    {'A': 0, 'B': 2, 'dead': 0}
    """
    seen = {name for pair in counts for name in pair}
    shown = [*names, "dead", *(name for name in NO_DECISION[1:] if name in seen)]
    return {now: {then: counts[now, then] for then in shown} for now in shown}
