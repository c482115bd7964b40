"""Compares the decisions of a replay on its shadow topic with the live decisions on the same inputs.

Both name their input in ``ce_causationid``. The live decision is the newest one on the live topic that no replay or
backfill wrote; it is looked for under the key of the replay's decision.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from aiokafka import ConsumerRecord

from schemas.event import RUN_HEADER, Event
from schemas.outcome import Emit
from schemas.replays import OffsetRange, ReplayPlan, ReplayStage
from streams.kafka.key_history import read_newest_first
from streams.kafka.log_reader import committed_ranges, read_log
from streams.replay.comparisons import comparison_of
from streams.replay.diff import Comparison
from streams.replay.plan import handler_of, is_root
from streams.settings.model import Settings
from streams.topology import Topic, topic_named
from streams.topology.codec import decode, timestamp
from streams.topology.names import shadow_topic


@dataclass(frozen=True, slots=True)
class ShadowDiff:
    """What a replay would change.

    Attributes:
        handler: The handler whose decisions were compared.
        comparison: The differences; ``now`` is the live decision, ``then`` that of the replay.
        records: Decisions of the replay that were read.
        kept: All decisions of the replay on its shadow topic, as offsets.
        without_live: Those that were read and have no live decision: its record is gone, or has another key.
    """

    handler: str
    comparison: Comparison
    records: int
    kept: int
    without_live: int


def comparable_stage(plan: ReplayPlan) -> tuple[ReplayStage, Topic] | None:
    """The stage of a plan whose decisions can be compared, and its topic; None if there is no such stage."""
    for stage in plan.stages:
        comparison = comparison_of(handler_of(stage), 0)
        if is_root(stage) and comparison is not None and stage.rewritten:
            topic = topic_named(stage.rewritten[0])
            if topic is not None:
                return stage, topic
    return None


async def shadow_diff(
    settings: Settings, stage: ReplayStage, topic: Topic, plan: str, *, most: int, limit: int
) -> ShadowDiff | None:
    """Compares the first ``most`` decisions of a stage, and keeps ``limit`` differences; None without results.

    Raises:
        KafkaError: The cluster can't be read.
    """
    handler = handler_of(stage)
    comparison = comparison_of(handler, limit)
    shadow = shadow_topic(topic.name, plan)
    standing = await committed_ranges(settings.kafka, [shadow])
    if comparison is None or not standing:
        return None
    replayed, keys = await _replayed(settings, topic, shadow, standing[0].ranges, most)
    records = len(replayed)
    await _compare(settings, topic, replayed, keys, comparison)
    kept = sum(its.end - its.start for its in standing[0].ranges)
    return ShadowDiff(handler.name, comparison, records, kept, len(replayed))


async def _replayed(
    settings: Settings, topic: Topic, shadow: str, ranges: tuple[OffsetRange, ...], most: int
) -> tuple[dict[str, Event], set[bytes]]:
    """The decisions of a replay by the identity of their input, and their keys."""
    found: dict[str, Event] = {}
    keys: set[bytes] = set()
    async with aclosing(read_log(settings.kafka, shadow, ranges)) as records:
        async for record in records:
            event, cause = _event(topic, record), _header(record, "ce_causationid")
            if event is not None and cause and record.key is not None:
                found[cause] = event
                keys.add(record.key)
            if len(found) >= most:
                break
    return found, keys


async def _compare(
    settings: Settings, topic: Topic, replayed: dict[str, Event], keys: set[bytes], comparison: Comparison
) -> None:
    """Feeds the comparison, and removes what it has compared."""
    if not replayed:
        return
    async with aclosing(read_newest_first(settings.kafka, {topic.name: keys}, None)) as steps:
        async for records in steps:
            for record in records:
                cause = _header(record, "ce_causationid")
                if (
                    cause in replayed
                    and not _header(record, RUN_HEADER)
                    and (live := _event(topic, record)) is not None
                ):
                    comparison.add(Emit((live,)), Emit((replayed.pop(cause),)))
            if not replayed:
                return


def _event(topic: Topic, record: ConsumerRecord) -> Event | None:
    event = decode(topic, record.value, record.headers, timestamp(record.timestamp))
    return event if isinstance(event, topic.event) else None


def _header(record: ConsumerRecord, name: str) -> str:
    value = next((value for header, value in record.headers if header == name and value), b"")
    return value.decode("utf-8", "replace")
