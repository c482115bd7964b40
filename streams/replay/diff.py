"""Decides anew on the selected records of a topic, under two configurations, and counts what differs.

Nothing is written.

What the comparisons share: the first few of many differences, dead letters by reason, a migration matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from schemas.event import Event
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Emit, Outcome, Retry, finished
from schemas.replays import ReplaySelection, ReplayStage
from schemas.rules import Rules
from streams.codec import decode, timestamp
from streams.kafka.log_reader import read_log
from streams.replay.plan import ReplayError, handler_of
from streams.replay.selection import make_selector
from streams.settings import Settings
from streams.topology import Handler

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


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared.

    Attributes:
        handler: The handler's name.
        records: That were decided on.
        dead: Those of them that are dead under either configuration.
        version_now: Of the handler's rules under the configuration in force.
        version_then: Under the other one; equal versions decide alike.
    """

    handler: str
    records: int
    dead: int
    version_now: str
    version_then: str


async def compare(
    settings: Settings,
    other: Settings,
    stage: ReplayStage,
    selection: ReplaySelection,
    comparison: Comparison,
    advance: Callable[[int], None] = lambda _: None,
) -> Compared:
    """Decides on every record of a stage's ranges under both configurations, and feeds the comparison.

    Args:
        settings: The configuration in force.
        other: The other one.
        stage: A handler that asks for nothing of the world, with the ranges of its topic.
        selection: Which of the records are meant.
        comparison: For what the handler emits.
        advance: Told of each record that was passed, for a bar.

    Raises:
        ReplayError: The handler needs the world, or the selection what the handler does not have.
        SettingsError: Sections of a configuration that are right by themselves don't go together.
        KafkaError: The cluster can't be read.
    """
    handler = handler_of(stage)
    if handler.read is not None:
        raise ReplayError(f"{handler.name} asks for what a comparison does not provide; leave --diff out")
    now, then = settings.rules(handler.rules), other.rules(handler.rules)
    means = await make_selector(settings, handler, selection, stage.decisions)
    records = dead = 0
    async with aclosing(read_log(settings.kafka, stage.topic, stage.ranges)) as source:
        async for record in source:
            advance(1)
            if not means(record):
                continue
            event = decode(handler.consumes, record.value, record.headers, timestamp(record.timestamp))
            outcomes = [_decided(handler, event, rules) for rules in (now, then)]
            comparison.add(*outcomes)
            records += 1
            dead += any(isinstance(outcome, Dead) for outcome in outcomes)
    return Compared(handler.name, records, dead, now.config_version, then.config_version)


def _decided(handler: Handler, event: Event | Dead, rules: Rules) -> Outcome:
    if isinstance(event, Dead):
        return event
    try:
        answer: Outcome | Ask = finished(handler.fn(event, rules))
    except Exception as error:
        return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}")
    if isinstance(answer, Ask):
        return Dead(DeadReason.HANDLER_BUG, f"{handler.name} has no reader and asks")
    return answer
