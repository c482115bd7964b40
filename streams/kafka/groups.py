"""Reads the state of groups and topics in few requests, and the lag of each group, stopped ones included.

Only the cluster knows partitions that no member holds. The number of requests does not grow with the lag: of a
partition that is behind, one batch is fetched for the age of its first unread record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from schemas.dead import dead_letter_topic
from streams.kafka.clients import make_admin, opened
from streams.kafka.log_reader import patiently, paused_reader, records_between
from streams.kafka.settings import KafkaSettings
from streams.runtime.clock import Clock
from streams.topology import Handler

_SECONDS = 20.0  # the longest time for one of these requests
_WAIT_MS = 100
RECORD_FETCH = {"fetch_wait_ms": _WAIT_MS, "fetch_bytes": 65_536}
"""For a single record: its whole batch at least, and little of what follows it."""

Place = tuple[str, TopicPartition]  # a group and a partition that it reads


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group's members and committed offsets; a group that does not exist has none."""

    members: int = 0
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic's partitions, none if it does not exist, and its retention; None if age deletes no records."""

    partitions: tuple[int, ...] = ()
    retention_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The lag of a group on one partition.

    Attributes:
        committed: The group's offset; None if it has none and will begin at the first record.
        end: The last stable offset.
        records: Offsets from the first unread record to the end. Transaction markers and aborted records occupy offsets
            too, so there may be fewer records to read.
        seconds: Age of the first unread record by its timestamp; 0 without one, or if its producer's clock is ahead.
        lost: Offsets that retention deleted before the group read them.
    """

    partition: int
    committed: int | None
    end: int
    records: int
    seconds: float
    lost: int


async def read_groups(admin: Any, groups: Sequence[str]) -> dict[str, GroupState]:
    """Offsets and members of each group. Raises KafkaError."""
    states = await asyncio.gather(*(patiently(partial(_read_group, admin, group)) for group in groups))
    return dict(zip(groups, states, strict=True))


async def read_topics(admin: Any, topics: Collection[str]) -> dict[str, TopicState]:
    """Partitions and retention of each topic. Raises KafkaError."""
    there = sorted(set(topics) & set(await patiently(lambda: admin.list_topics())))
    states = {topic: TopicState() for topic in topics}
    if not there:
        return states
    retention = await _retention(admin, there)
    for described in await patiently(lambda: admin.describe_topics(there)):
        numbers = tuple(sorted(partition["partition"] for partition in described["partitions"]))
        states[described["topic"]] = TopicState(numbers, retention.get(described["topic"]))
    return states


async def _read_partitions(
    kafka: KafkaSettings, committed: Mapping[Place, int | None], clock: Clock
) -> dict[Place, PartitionLag]:
    """The lag of each group on each of its partitions, by its committed offsets.

    Transaction markers and aborted records occupy offsets and cannot be read: a group is caught up if nothing else is
    between its offset and the last stable one. Raises KafkaError.
    """
    if not committed:
        return {}
    partitions = sorted({partition for _, partition in committed})
    # One batch of each partition is enough.
    async with paused_reader(kafka, partitions, "assay-lag", fetch_wait_ms=_WAIT_MS, fetch_bytes=1) as reader:
        ends, begins = await reader.end_offsets(partitions), await reader.beginning_offsets(partitions)
        starts = {place: max(begins[place[1]], offset or 0) for place, offset in committed.items()}
        behind = {(partition, start) for (_, partition), start in starts.items() if start < ends[partition]}
        firsts = await _first_records(reader, behind, ends)
    now, found = clock.now().timestamp(), {}
    for place, offset in committed.items():
        partition = place[1]
        end, first = ends[partition], firsts.get((partition, starts[place]))
        found[place] = PartitionLag(
            partition.partition,
            offset,
            end,
            records=0 if first is None else end - first[0],
            seconds=0.0 if first is None else max(0.0, now - first[1]),
            lost=0 if offset is None else max(0, begins[partition] - offset),
        )
    return found


async def _first_records(
    reader: Any, behind: Collection[tuple[TopicPartition, int]], ends: Mapping[TopicPartition, int]
) -> dict[tuple[TopicPartition, int], tuple[int, float]]:
    """The first record at or after each offset and before the end; places without one are left out."""
    found = {}
    left = set(behind)
    while left:
        # A reader has one position in a partition, so the offsets of several groups are read one after another.
        turn = dict(left)
        spans = {partition: (start, ends[partition]) for partition, start in turn.items()}
        async for record in records_between(reader, spans, limit_seconds=_SECONDS, first_only=True):
            partition = TopicPartition(record.topic, record.partition)
            found[partition, turn[partition]] = record.offset, record.timestamp / 1000
        left -= set(turn.items())
    return found


async def _read_group(admin: Any, group: str) -> GroupState:
    coordinator = await admin.find_coordinator(group)
    offsets = await admin.list_consumer_group_offsets(group, coordinator)
    [response] = await admin.describe_consumer_groups([group], coordinator)
    [(code, _, _, _, _, members, *_)] = response.groups
    if code:
        raise for_code(code)(f"can't describe the group {group}")
    return GroupState(len(members), {partition: at.offset for partition, at in offsets.items() if at.offset >= 0})


async def _retention(admin: Any, topics: Sequence[str]) -> dict[str, float]:
    """Seconds, for each topic whose records are deleted by age."""
    wanted = {"cleanup.policy": "", "retention.ms": ""}
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic, wanted) for topic in topics]
    found = {}
    for response in await patiently(lambda: admin.describe_configs(resources)):
        for code, message, _, topic, entries in response.resources:
            if code:
                raise for_code(code)(f"can't read the configuration of {topic}: {message or ''}")
            values = {entry[0]: entry[1] for entry in entries}
            milliseconds = int(values.get("retention.ms") or -1)
            if "delete" in (values.get("cleanup.policy") or "delete") and milliseconds >= 0:
                found[topic] = milliseconds / 1000
    return found


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The lag of a group on one topic.

    Attributes:
        topic: Before the prefix.
        group: The group's name on the cluster.
        seconds: Of the partition with the oldest unread record.
        retention_left_seconds: Until Kafka may delete the first unread record by ``retention.ms``; None if there is no
            such record, or records are not deleted by age. Kafka deletes whole segments, so it may stay longer.
        members: Subscriptions in the group.
        delay_seconds: Delay of a retry topic; 0 for other topics.
    """

    handler: str
    topic: str
    group: str
    exists: bool
    records: int
    seconds: float
    retention_left_seconds: float | None
    members: int
    delay_seconds: int = 0
    partitions: tuple[PartitionLag, ...] = ()

    @property
    def late_seconds(self) -> float:
        """``seconds`` beyond the delay of a retry topic."""
        return max(0.0, self.seconds - self.delay_seconds)

    @property
    def lost(self) -> int:
        """Offsets that retention deleted before the group read them."""
        return sum(partition.lost for partition in self.partitions)


@dataclass(frozen=True, slots=True)
class DeadLettersStanding:
    """The content of a handler's dead letter topic.

    Attributes:
        topic: Before the prefix.
        records: Offsets from the first dead letter to the end, markers included; ``assay dlq list`` counts exactly.
        oldest_seconds: Age of the first dead letter; 0 without one.
    """

    handler: str
    topic: str
    records: int
    oldest_seconds: float


class _Reading(NamedTuple):
    """A group and a topic that it reads, both with the prefix; "" is a group that has read nothing."""

    handler: str
    group: str
    topic: str
    delay_seconds: int = 0


async def read_lags(settings: KafkaSettings, handlers: Sequence[Handler], clock: Clock) -> list[GroupLag]:
    """The lag of each handler's group on its own topic and of its retry topics' groups, in the handlers' order.

    Raises KafkaError.
    """
    prefix = settings.topic_prefix
    readings = []
    for handler in handlers:
        readings.append(_Reading(handler.name, prefix + handler.group, prefix + handler.consumes.name))
        readings += [
            _Reading(handler.name, prefix + retry.group, prefix + retry.topic, retry.delay_seconds)
            for retry in handler.retry_topics
        ]
    return await _read_lags(settings, readings, clock)


async def read_dead_letters(
    settings: KafkaSettings, handlers: Sequence[Handler], clock: Clock
) -> list[DeadLettersStanding]:
    """The content of each handler's dead letter topic that exists. Raises KafkaError."""
    letters = {handler.name: dead_letter_topic(handler.consumes.name, handler.group) for handler in handlers}
    readings = [_Reading(handler, "", settings.topic_prefix + topic) for handler, topic in letters.items()]
    lags = await _read_lags(settings, readings, clock)
    return [DeadLettersStanding(lag.handler, lag.topic, lag.records, lag.seconds) for lag in lags if lag.exists]


async def _read_lags(settings: KafkaSettings, readings: Sequence[_Reading], clock: Clock) -> list[GroupLag]:
    async with opened(make_admin(settings)) as admin:
        groups = await read_groups(admin, [reading.group for reading in readings if reading.group])
        topics = await read_topics(admin, {reading.topic for reading in readings})
    groups[""] = GroupState()
    places = {
        (reading.group, TopicPartition(reading.topic, number))
        for reading in readings
        for number in topics[reading.topic].partitions
    }
    committed = {(group, partition): groups[group].offsets.get(partition) for group, partition in places}
    found = await _read_partitions(settings, committed, clock)
    lags = []
    for reading in readings:
        topic, group = topics[reading.topic], groups[reading.group]
        partitions = [found[reading.group, TopicPartition(reading.topic, number)] for number in topic.partitions]
        seconds = max((partition.seconds for partition in partitions), default=0.0)
        records = sum(partition.records for partition in partitions)
        left = None if topic.retention_seconds is None or not records else max(0.0, topic.retention_seconds - seconds)
        lags.append(
            GroupLag(
                handler=reading.handler,
                topic=reading.topic.removeprefix(settings.topic_prefix),
                group=reading.group,
                exists=bool(topic.partitions),
                records=records,
                seconds=seconds,
                retention_left_seconds=left,
                members=group.members,
                delay_seconds=reading.delay_seconds,
                partitions=tuple(partitions),
            )
        )
    return lags
