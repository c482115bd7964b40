"""Detects the end of a drain: every group of this process is caught up and no transaction is open on their topics.

"Every group is at its end" is not enough. A broker confirms a commit before readers see it. A group that was checked
first may get records while the others are checked. Other members may write to the partitions that this process holds.
Therefore the ends are high watermarks, which no group reaches before every open transaction has ended; the offsets of
other members are read; and the ends are read twice, as in a double collect snapshot. If all groups were idle between
two equal readings, no record is on its way.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.clock import Clock
from streams.kafka.clients import make_reader, opened
from streams.kafka.settings import KafkaSettings
from streams.pipeline.group import ConsumerGroup

_LOOK_SECONDS = 0.3
_LOOKS_TO_TELL = 4
"""A commit takes part of a second to become readable; what is met at more looks than that is worth a line."""
_ANSWER_SECONDS = 20.0
"""How long a group coordinator may take to tell an offset; aiokafka asks without an end."""

HighWatermarks = Callable[[Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, int]]]

_WORK = ""
"""Something is going on in this process, or Kafka is silent: no reason that anybody has to be told."""


class DrainDetector:
    """Looks at the groups of a process together, and remembers since when a transaction is open."""

    def __init__(self, groups: Sequence[ConsumerGroup], ends: HighWatermarks, clock: Clock) -> None:
        """Takes whom to look at, and who knows the ends of partitions (``high_watermarks``); nothing is opened."""
        self._groups = groups
        self._ends = ends
        self._clock = clock
        self._open: dict[tuple[TopicPartition, int], float] = {}
        """Where a transaction begins, and when it was first seen."""
        self._seen = 0.0

    async def reached(self) -> bool:
        """Whether all that is written to the topics of the groups is done and committed, by whichever member.

        A transaction that is open on one of them counts as work that is not done, whoever writes in it. False where
        Kafka is silent.
        """
        return await self._hindrance() is None

    async def wait(self, tell: Callable[[str], None]) -> None:
        """Waits until it is reached; ``tell`` is told once of each reason that keeps it waiting.

        Where others write without a pause, there is no such moment.
        """
        met = Counter[str]()
        while (reason := await self._hindrance()) is not None:
            met[reason] += 1
            if reason != _WORK and met[reason] == _LOOKS_TO_TELL:
                tell(reason)
            await self._clock.sleep(_LOOK_SECONDS)

    @property
    def held_up(self) -> tuple[float, str]:
        """For how long the oldest open transaction has been in the way, in seconds, and on which topic.

        (0, "") where the last look at them found none. A look that does not come as far as transactions, for there is
        other work, changes nothing about them.
        """
        if not self._open:
            return 0.0, ""
        (place, _), since = min(self._open.items(), key=lambda item: item[1])
        return self._seen - since, _transaction_on({place})

    async def _hindrance(self) -> str | None:
        try:
            return await self._look()
        except (KafkaError, OSError):
            return _WORK

    async def _look(self) -> str | None:
        """Why it is not reached; None where it is."""
        if unknown := [group for group in self._groups if group.consumer is not None and not _places_of(group)]:
            return f"the cluster tells of no partitions of {', '.join(group.subscription.topic for group in unknown)}"
        if not self._idle():
            return _WORK
        held, places = self._held(), {place for group in self._groups for place in _places_of(group)}
        before = await self._ends(places)
        # At the same time, for each consumer's question waits behind its own long fetch.
        if not all(await asyncio.gather(*(group.caught_up() for group in self._groups))):
            return _WORK
        elsewhere = await self._readable_elsewhere()
        if behind := {place for place, (committed, readable) in elsewhere.items() if committed < readable}:
            return f"other members of the group are not done with {_topics_of(behind)}"
        # No await in these lines: all groups are idle at the same moment, and that lies between the two readings.
        positions = self._positions() | {place: readable for place, (_, readable) in elsewhere.items()}
        if transactions := self._transactions(positions, before):
            return _transaction_on(transactions)
        if not self._idle() or self._held() != held:
            return _WORK
        after = await self._ends(places)
        grown = {place for place in places if after[place] != before[place]}
        return f"records still come in on {_topics_of(grown)}" if grown else None

    def _idle(self) -> bool:
        """Whether nothing is in hand, and every group knows what there is to read."""
        return all(group.settled and not group.rebalancing and _places_of(group) for group in self._groups)

    def _held(self) -> list[set[TopicPartition]]:
        return [set(group.partitions) for group in self._groups]

    def _positions(self) -> dict[TopicPartition, int]:
        return {place: one.position() for group in self._groups for place, one in group.partitions.items()}

    def _transactions(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> set[TopicPartition]:
        """Where what is written can't be read yet; remembers since when."""
        self._seen = self._clock.monotonic()
        found = [(place, position) for place, position in positions.items() if position < ends.get(place, 0)]
        self._open = {one: self._open.get(one, self._seen) for one in found}
        return {place for place, _ in found}

    async def _readable_elsewhere(self) -> dict[TopicPartition, tuple[int, int]]:
        """Of the partitions that other members hold: what is committed, and the end of what can be read."""
        told: dict[TopicPartition, tuple[int, int]] = {}
        for group in self._groups:
            others, consumer = _places_of(group) - group.partitions.keys(), group.consumer
            if others and consumer is not None:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    ends = await consumer.end_offsets(list(others))
                    told |= {place: (await _committed(consumer, place), ends[place]) for place in others}
        return told


async def high_watermarks(kafka: KafkaSettings, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """The end of what is written to partitions, readable or not: records of open transactions and markers count.

    Raises:
        KafkaError: The cluster does not tell now.
    """
    async with opened(make_reader(kafka, client_id="assay-ends", uncommitted=True)) as reader:
        # All topics are asked for at once: those that a consumer only meets cost it 0.1 s each.
        reader.assign(list(places))
        reader.pause(*places)
        return dict(await reader.end_offsets(list(places)))


def _places_of(group: ConsumerGroup) -> set[TopicPartition]:
    """All partitions of what a group reads, as far as its consumer has been told of them."""
    consumer = group.consumer
    if consumer is None:
        return set()
    known = {topic: consumer.partitions_for_topic(topic) or () for topic in consumer.subscription()}
    return {TopicPartition(topic, number) for topic, numbers in known.items() for number in numbers}


async def _committed(consumer: AIOKafkaConsumer, place: TopicPartition) -> int:
    """The group's offset of a partition, the beginning where it has none."""
    committed = await consumer.committed(place)
    return int((await consumer.beginning_offsets([place]))[place] if committed is None else committed)


def _transaction_on(places: Collection[TopicPartition]) -> str:
    return f"a transaction is open on {_topics_of(places)}"


def _topics_of(places: Collection[TopicPartition]) -> str:
    return ", ".join(sorted({place.topic for place in places}))
