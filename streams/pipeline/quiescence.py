"""Is there really nothing left to do? The end of a drain, for groups of one process that feed each other.

In: the groups. Out: a yes that can't come too early, or what is still in the way. Three facts make it more than
"everyone stands at the end": a broker confirms a commit before readers see what was committed; a group that was looked
at first may have been fed while the others were looked at; and other members may feed the partitions that are held
here. So ends are those of what is *written* (the high watermark, at which nobody stands before every open transaction
has ended), offsets of other members are asked for, and ends are read twice, as in a double collect snapshot: where all
groups were idle between two readings that agree, nothing is on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.clock import Clock
from streams.kafka import make_reader, opened
from streams.kafka_settings import KafkaSettings
from streams.pipeline.group import ConsumerGroup

_LOOK_SECONDS = 0.3
_TELL_SECONDS = 1.0
"""A commit takes part of a second to become readable; what takes longer is worth a line."""
_ANSWER_SECONDS = 20.0
"""How long a group coordinator may take to tell an offset; aiokafka asks without an end."""

WrittenEnds = Callable[[Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, int]]]


@dataclass(frozen=True, slots=True)
class _Hindrance:
    """What is in the way, and how far it has come: where that changes, the time begins anew."""

    reason: str = ""
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    is_transaction: bool = False


_WORK = _Hindrance()
"""Something is going on in this process, or Kafka is silent."""


class Quiescence:
    """Looks at the groups of a process together; remembers since when the same thing is in the way."""

    def __init__(self, groups: Sequence[ConsumerGroup], ends: WrittenEnds, clock: Clock) -> None:
        """Takes whom to look at, and who knows the ends of partitions (``written_ends``); nothing is opened."""
        self._groups = groups
        self._ends = ends
        self._clock = clock
        self._hindrance: _Hindrance | None = _WORK
        self._since = self._seen = 0.0

    async def reached(self) -> bool:
        """Whether all that is written to the topics of the groups is done and committed, by whichever member.

        A transaction that is open on one of them counts as work that is not done, whoever writes in it. False where
        Kafka is silent.
        """
        try:
            hindrance = await self._look()
        except (KafkaError, OSError):
            hindrance = _WORK
        self._seen = self._clock.monotonic()
        if hindrance != self._hindrance:
            self._hindrance, self._since = hindrance, self._seen
        return hindrance is None

    async def wait(self, tell: Callable[[str], None]) -> None:
        """Waits until it is reached; ``tell`` is told once of each thing that holds it up for longer than a commit."""
        told = ""
        while not await self.reached():
            reason = self._hindrance.reason if self._hindrance else ""
            if reason not in {"", told} and self._seen - self._since >= _TELL_SECONDS:
                tell(reason)
                told = reason
            await self._clock.sleep(_LOOK_SECONDS)

    @property
    def held_up(self) -> tuple[float, str]:
        """For how long looks have found nothing but open transactions in the way, in seconds, and on which topics.

        (0, "") where there is other work, or none; the time begins anew with each transaction that ends.
        """
        if self._hindrance is None or not self._hindrance.is_transaction:
            return 0.0, ""
        return self._seen - self._since, self._hindrance.reason

    async def _look(self) -> _Hindrance | None:
        if not self._idle():
            return _WORK
        held, places = self._held(), {place for group in self._groups for place in _places_of(group)}
        before = await self._ends(places)
        # At the same time, for each consumer's question waits behind its own long fetch.
        if not all(await asyncio.gather(*(group.caught_up() for group in self._groups))):
            return _WORK
        if behind := await self._behind_elsewhere(before):
            return _Hindrance(f"other members of the group are not done with {_topics_of(behind)}", behind)
        # No await in these lines: all groups are idle at the same moment, and that lies between the two readings.
        if unread := self._unread(before):
            return _Hindrance(f"a transaction is open on {_topics_of(unread)}", unread, is_transaction=True)
        if not self._idle() or self._held() != held:
            return _WORK
        return None if await self._ends(places) == before else _WORK

    def _idle(self) -> bool:
        """Whether nothing is in hand, and every group knows what there is to read."""
        return all(group.settled and not group.rebalancing and _places_of(group) for group in self._groups)

    def _held(self) -> list[set[TopicPartition]]:
        return [set(group.partitions) for group in self._groups]

    def _unread(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Where what is written can't be read yet, and how far it could."""
        return {
            place: partition.position()
            for group in self._groups
            for place, partition in group.partitions.items()
            if partition.position() < ends.get(place, 0)
        }

    async def _behind_elsewhere(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Partitions of other members that are not done, and what is committed."""
        behind = {}
        for group in self._groups:
            for place in _places_of(group) - group.partitions.keys():
                committed = await _committed(group.consumer, place)
                if committed < ends.get(place, 0):
                    behind[place] = committed
        return behind


async def written_ends(kafka: KafkaSettings, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
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
    async with asyncio.timeout(_ANSWER_SECONDS):
        committed = await consumer.committed(place)
        return int((await consumer.beginning_offsets([place]))[place] if committed is None else committed)


def _topics_of(places: Collection[TopicPartition]) -> str:
    return ", ".join(sorted({place.topic for place in places}))
