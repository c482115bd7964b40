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
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.kafka.clients import make_reader, opened
from streams.kafka.settings import KafkaSettings
from streams.pipeline.group import ConsumerGroup
from streams.runtime.clock import Clock

_CHECK_SECONDS = 0.3
_CHECKS_BEFORE_REPORT = 4
"""A commit takes part of a second to become readable, so a reason is reported only after this number of checks."""
_ANSWER_SECONDS = 20.0  # the longest time for a group coordinator to return an offset; aiokafka asks without a limit

HighWatermarks = Callable[[Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, int]]]

_WORK = ""  # this process has work, or Kafka does not answer: not reported


@dataclass(eq=False, repr=False)
class DrainDetector:
    """Checks all groups of a process together, and remembers since when a transaction is open."""

    groups: Sequence[ConsumerGroup]
    ends: HighWatermarks
    clock: Clock
    _open: dict[tuple[TopicPartition, int], float] = field(default_factory=dict, init=False)
    """The position in front of each open transaction, and when it was first seen."""
    _checked_at: float = field(default=0.0, init=False)

    async def reached(self) -> bool:
        """Whether all records of the groups' topics are processed and committed, by this or another member.

        An open transaction of any producer counts as work. False if Kafka does not answer.
        """
        return await self._reason() is None

    async def wait(self, report: Callable[[str], None]) -> None:
        """Waits until it is reached; calls ``report`` once for each reason that holds it up.

        Never returns while other processes write without a pause.
        """
        seen = Counter[str]()
        while (reason := await self._reason()) is not None:
            seen[reason] += 1
            if reason != _WORK and seen[reason] == _CHECKS_BEFORE_REPORT:
                report(reason)
            await self.clock.sleep(_CHECK_SECONDS)

    @property
    def held_up(self) -> tuple[float, str]:
        """Seconds for which the oldest open transaction has held up the drain, and its topic; (0, "") without one.

        As of the last check that came as far as transactions; a check ends earlier while there is other work.
        """
        if not self._open:
            return 0.0, ""
        (place, _), since = min(self._open.items(), key=lambda item: item[1])
        return self._checked_at - since, _transaction_on({place})

    async def _reason(self) -> str | None:
        """Why it is not reached; None if it is."""
        try:
            return await self._check()
        except (KafkaError, OSError):
            return _WORK

    async def _check(self) -> str | None:
        if unknown := [group for group in self.groups if group.consumer is not None and not _partitions_of(group)]:
            topics = ", ".join(group.subscription.topic for group in unknown)
            return f"the cluster does not report the partitions of {topics}"
        if not self._idle():
            return _WORK
        held, places = self._held(), {place for group in self.groups for place in _partitions_of(group)}
        before = await self.ends(places)
        # At the same time, because each consumer's request waits behind its own long fetch.
        if not all(await asyncio.gather(*(group.caught_up() for group in self.groups))):
            return _WORK
        elsewhere = await self._other_members()
        if behind := {place for place, (committed, readable) in elsewhere.items() if committed < readable}:
            return f"other members of the group still process {_topics_of(behind)}"
        # No await in these lines: all groups are idle at the same moment, and that lies between the two readings.
        positions = {place: part.position() for group in self.groups for place, part in group.partitions.items()}
        positions |= {place: readable for place, (_, readable) in elsewhere.items()}
        if transactions := self._transactions(positions, before):
            return _transaction_on(transactions)
        if not self._idle() or self._held() != held:
            return _WORK
        after = await self.ends(places)
        grown = {place for place in places if after[place] != before[place]}
        return f"producers still write to {_topics_of(grown)}" if grown else None

    def _idle(self) -> bool:
        """Whether no record is held, and every group knows its partitions."""
        return all(group.settled and not group.rebalancing and _partitions_of(group) for group in self.groups)

    def _held(self) -> list[set[TopicPartition]]:
        return [set(group.partitions) for group in self.groups]

    def _transactions(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> set[TopicPartition]:
        """The partitions with records that are written and not readable yet; notes since when."""
        self._checked_at = self.clock.monotonic()
        found = [(place, position) for place, position in positions.items() if position < ends.get(place, 0)]
        self._open = {partition: self._open.get(partition, self._checked_at) for partition in found}
        return {place for place, _ in found}

    async def _other_members(self) -> dict[TopicPartition, tuple[int, int]]:
        """For each partition that another member holds: the committed offset, and the end of what can be read."""
        found: dict[TopicPartition, tuple[int, int]] = {}
        for group in self.groups:
            others, consumer = _partitions_of(group) - group.partitions.keys(), group.consumer
            if others and consumer is not None:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    ends = await consumer.end_offsets(list(others))
                    found |= {place: (await _committed(consumer, place), ends[place]) for place in others}
        return found


async def high_watermarks(kafka: KafkaSettings, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """The ends of partitions, with transaction markers and the records of open transactions. Raises KafkaError."""
    async with opened(make_reader(kafka, client_id="assay-ends", uncommitted=True)) as reader:
        # All at once: a consumer takes 0.1 s for each topic that it learns of one by one.
        reader.assign(list(places))
        reader.pause(*places)
        return dict(await reader.end_offsets(list(places)))


def _partitions_of(group: ConsumerGroup) -> set[TopicPartition]:
    """All partitions of the group's topic that its consumer knows."""
    consumer = group.consumer
    if consumer is None:
        return set()
    known = {topic: consumer.partitions_for_topic(topic) or () for topic in consumer.subscription()}
    return {TopicPartition(topic, number) for topic, numbers in known.items() for number in numbers}


async def _committed(consumer: AIOKafkaConsumer, place: TopicPartition) -> int:
    """The group's offset of a partition; the first offset if it has none."""
    committed = await consumer.committed(place)
    return int((await consumer.beginning_offsets([place]))[place] if committed is None else committed)


def _transaction_on(places: Collection[TopicPartition]) -> str:
    return f"a transaction is open on {_topics_of(places)}"


def _topics_of(places: Collection[TopicPartition]) -> str:
    return ", ".join(sorted({place.topic for place in places}))
