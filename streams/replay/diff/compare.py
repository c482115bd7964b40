"""Decides anew on the selected records of a topic, under two configurations, and counts what differs.

Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from schemas.event import Event
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Outcome, finished
from schemas.replays import ReplaySelection, ReplayStage
from schemas.rules import Rules
from streams.codec import decode, timestamp
from streams.replay.diff.tally import Comparison
from streams.replay.plan import ReplayError, handler_of
from streams.replay.selection import make_selector
from streams.replay.source import read_range
from streams.settings import Settings
from streams.topology import Handler


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
    async with aclosing(read_range(settings, stage.topic, stage.ranges)) as source:
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
