"""The lag of each consumer group, stopped ones included: in records, in seconds and in retention.

Only the cluster knows partitions that no member holds. The number of requests does not grow with the lag: of a
partition that is behind, one batch is fetched for the age of its first unread record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiokafka import TopicPartition

from schemas.dead import dead_letter_topic
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import Extent, GroupState, TopicState, read_extents, read_groups, read_topics
from streams.kafka.settings import KafkaSettings
from streams.runtime.clock import Clock
from streams.topology import Handler


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The lag of a group on one partition.

    Attributes:
        committed: The group's offset; None if it has none and will begin at the first record.
        end: The last stable offset.
        records: Offsets from the first unread record to the end. Transaction markers and aborted records occupy offsets
            too, so there may be fewer records to read.
        seconds: Age of the first unread record by its timestamp; 0 without one.
        lost: Offsets that retention deleted before the group read them.
    """

    partition: int
    committed: int | None
    end: int
    records: int
    seconds: float
    lost: int


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


@dataclass(frozen=True, slots=True)
class _Reading:
    """A group and a topic that it reads; both with the prefix."""

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
    async with opened(make_admin(settings)) as admin:
        groups = await read_groups(admin, [reading.group for reading in readings])
        topics = await read_topics(admin, {reading.topic for reading in readings})
    places = {
        (reading.group, TopicPartition(reading.topic, number))
        for reading in readings
        for number in topics[reading.topic].partitions
    }
    starts = {place: groups[place[0]].offsets.get(place[1]) for place in places}
    extents = await read_extents(settings, starts)
    now = clock.now().timestamp()
    return [_lag(reading, prefix, topics[reading.topic], groups[reading.group], extents, now) for reading in readings]


async def read_dead_letters(
    settings: KafkaSettings, handlers: Sequence[Handler], clock: Clock
) -> list[DeadLettersStanding]:
    """The content of each handler's dead letter topic that exists. Raises KafkaError."""
    prefix = settings.topic_prefix
    names = {handler.name: dead_letter_topic(handler.consumes.name, handler.group) for handler in handlers}
    async with opened(make_admin(settings)) as admin:
        topics = await read_topics(admin, {prefix + name for name in names.values()})
    places = [("", TopicPartition(name, number)) for name, state in topics.items() for number in state.partitions]
    extents = await read_extents(settings, dict.fromkeys(places))
    now = clock.now().timestamp()
    found = []
    for handler, name in names.items():
        state = topics[prefix + name]
        own = [extents["", TopicPartition(prefix + name, number)] for number in state.partitions]
        if state.partitions:
            records, oldest = sum(part.unread for part in own), max((part.age(now) for part in own), default=0.0)
            found.append(DeadLettersStanding(handler, name, records, oldest))
    return found


def _lag(
    reading: _Reading,
    prefix: str,
    topic: TopicState,
    group: GroupState,
    extents: Mapping[tuple[str, TopicPartition], Extent],
    now: float,
) -> GroupLag:
    partitions = []
    for number in topic.partitions:
        place = TopicPartition(reading.topic, number)
        extent, committed = extents[reading.group, place], group.offsets.get(place)
        lost = max(0, extent.beginning - committed) if committed is not None else 0
        partitions.append(PartitionLag(number, committed, extent.end, extent.unread, extent.age(now), lost))
    seconds = max((partition.seconds for partition in partitions), default=0.0)
    records = sum(partition.records for partition in partitions)
    left = None if topic.retention_seconds is None or not records else max(0.0, topic.retention_seconds - seconds)
    return GroupLag(
        handler=reading.handler,
        topic=reading.topic.removeprefix(prefix),
        group=reading.group,
        exists=bool(topic.partitions),
        records=records,
        seconds=seconds,
        retention_left_seconds=left,
        members=group.members,
        delay_seconds=reading.delay_seconds,
        partitions=tuple(partitions),
    )
