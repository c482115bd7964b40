"""Is there really nothing left to do? The end of a drain, for groups of one process that feed each other.

In: the groups. Out: a yes that can't come too early, or what is still in the way. Two facts make it more than "everyone
stands at the end": a broker confirms a commit before readers see what was committed, and a group that was looked at
first may have been fed while the others were looked at. So ends are those of what is *written* (the high watermark, at
which nobody stands before every open transaction has ended), and they are read twice, as in a double collect snapshot:
where nothing was written between a moment at which all groups were idle and both readings, nothing is on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.clock import Clock
from streams.kafka import make_reader, opened
from streams.kafka_settings import KafkaSettings
from streams.pipeline.group import ConsumerGroup

_LOOK_SECONDS = 0.3
_TELL_SECONDS = 1.0
"""A commit takes part of a second to become readable; what takes longer is worth a line."""

WrittenEnds = Callable[[Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, int]]]


class Quiescence:
    """Looks at the groups of a process together; remembers since when only open transactions are in the way."""

    def __init__(self, groups: Sequence[ConsumerGroup], ends: WrittenEnds, clock: Clock) -> None:
        """Takes whom to look at, and who knows the ends of partitions (``written_ends``); nothing is opened."""
        self._groups = groups
        self._ends = ends
        self._clock = clock
        self._unread: Mapping[TopicPartition, int] = {}
        self._since = self._seen = 0.0

    async def reached(self) -> bool:
        """Whether all that is written to the groups' partitions is done and committed. False where Kafka is silent.

        A transaction that is open on one of them counts as work that is not done, whoever writes in it.
        """
        try:
            reached, unread = await self._look()
        except (KafkaError, OSError):
            reached, unread = False, {}
        self._seen = self._clock.monotonic()
        if unread != self._unread:
            self._unread, self._since = unread, self._seen
        return reached

    async def wait(self, tell: Callable[[str], None]) -> None:
        """Waits until it is reached; ``tell`` is told once of each thing that holds it up for longer than a commit."""
        told = ""
        while not await self.reached():
            seconds, reason = self.held_up
            if seconds >= _TELL_SECONDS and reason != told:
                tell(reason)
                told = reason
            await self._clock.sleep(_LOOK_SECONDS)

    @property
    def held_up(self) -> tuple[float, str]:
        """For how long looks have found nothing but open transactions in the way, in seconds, and on which topics.

        (0, "") where there is other work, or none; the time begins anew with each transaction that ends.
        """
        if not self._unread:
            return 0.0, ""
        topics = sorted({place.topic for place in self._unread})
        return self._seen - self._since, f"a transaction is open on {', '.join(topics)}"

    async def _look(self) -> tuple[bool, Mapping[TopicPartition, int]]:
        """Whether it is reached, and the partitions where only an open transaction is in the way, with positions."""
        places = self._places()
        if not self._idle() or not places:
            return self._idle(), {}
        before = await self._ends(places)
        # At the same time, for each consumer's question waits behind its own long fetch.
        if not all(await asyncio.gather(*(group.caught_up() for group in self._groups))):
            return False, {}
        # No await in these lines: all groups are idle at the same moment, and that lies between the two readings.
        unread = self._unread_of(before)
        if unread or not self._idle() or self._places() != places:
            return False, unread
        return await self._ends(places) == before, {}

    def _idle(self) -> bool:
        return all(group.settled and not group.rebalancing for group in self._groups)

    def _places(self) -> set[TopicPartition]:
        return {place for group in self._groups for place in group.partitions}

    def _unread_of(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Where what is written can't be read yet, and how far it could."""
        return {
            place: partition.position()
            for group in self._groups
            for place, partition in group.partitions.items()
            if partition.position() < ends.get(place, 0)
        }


async def written_ends(kafka: KafkaSettings, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """The end of what is written to partitions, readable or not: records of open transactions and markers count.

    Raises:
        KafkaError: The cluster does not tell now.
    """
    async with opened(make_reader(kafka, client_id="assay-ends", uncommitted=True)) as reader:
        return dict(await reader.end_offsets(list(places)))
