"""The consumer under FastStream, and the flow of one partition: the position of intake, pauses and seeks.

FastStream polls in a loop: ``getmany``, then our intake, then ``getmany`` again. At the *start* of a poll everything
delivered before has been through intake, so ``position`` may be committed where nothing is in flight. Counting polls
shows which records were requested before a partition was opened or set back.

A poll that raises has moved positions past records that were not delivered: aiokafka drains one partition after another
and discards what it has when the next one fails. Therefore every partition is set back to the next record that intake
expects. Records of a producer never make a poll raise: see ``streams.kafka.decompression``.

The consumer fetches ahead, so a record may have been requested before the last seek. Invariant: a record is admitted
only if it was requested after the last seek, and only in offset order from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

Polled = dict[TopicPartition, list[ConsumerRecord]]


class CountingConsumer(AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is not typed
    """An ``AIOKafkaConsumer`` that counts polls, notes positions at their start, and loses nothing when one fails."""

    def __init__(self, *topics: str, **options: Any) -> None:
        """Takes what ``AIOKafkaConsumer`` takes."""
        super().__init__(*topics, **options)
        self.polls = 0
        """Polls begun."""
        self.polled_at = time.monotonic()
        """When the last one began."""
        self.delivered_to: dict[TopicPartition, int] = {}
        """For each open partition: every record below this offset has been through intake."""
        self.wanted: dict[TopicPartition, int] = {}
        """For each open partition: the first offset that intake has not taken in. Kept by the partitions."""

    async def getmany(self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None) -> Polled:
        """Polls as the parent does, after noting the positions; where that fails, positions are as before."""
        await self._note_positions(list(self.wanted))
        self.polls += 1
        self.polled_at = time.monotonic()
        try:
            polled: Polled = await super().getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
        except BaseException:
            self._set_back(list(self.wanted))
            raise
        return polled

    def _set_back(self, partitions: Iterable[TopicPartition]) -> None:
        """What was polled and not handed over is asked for again, also of partitions that were opened meanwhile."""
        for partition in partitions:
            if (offset := self.wanted.get(partition)) is not None:
                # A partition that was revoked meanwhile is its next owner's business.
                with contextlib.suppress(IllegalStateError):
                    self.seek(partition, offset)

    async def _note_positions(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            # A valid position is there at once; one that is being reset is not worth waiting for.
            with contextlib.suppress(KafkaError, TimeoutError):
                async with asyncio.timeout(0.05):
                    self.delivered_to[partition] = await self.position(partition)


class PartitionFlow:
    """The flow of one input partition: seeks, and pauses for back pressure and for an open circuit breaker."""

    def __init__(self, partition: TopicPartition, consumer: CountingConsumer) -> None:
        """Starts paused, as a partition is on its assignment."""
        self._partition = partition
        self._consumer = consumer
        self._next = 0
        self._valid_from_poll = 0
        self._full = True
        self._resting = False
        self._ended = False

    @property
    def next_offset(self) -> int:
        """The first offset that is not taken in."""
        return self._next

    @property
    def position(self) -> int:
        """Every record below this offset is taken in, or there is none: transaction markers take offsets too."""
        if self._ended:
            # Records are still delivered and no longer taken in, so the consumer's position says nothing.
            return self._next
        return max(self._next, self._consumer.delivered_to.get(self._partition, 0))

    @property
    def shut(self) -> bool:
        """Whether nothing more is to be taken in for now."""
        return self._full or self._resting

    def took(self, offset: int) -> None:
        """The record at an offset is taken in; a poll that fails goes on behind it."""
        self._want(offset + 1)

    def start_over(self, offset: int, rest: bool) -> None:
        """Begins anew at an offset; whatever was asked for before is not taken in."""
        self._want(offset)
        self._consumer.delivered_to.pop(self._partition, None)
        self._consumer.seek(self._partition, offset)
        self._valid_from_poll = self._consumer.polls + 1
        self._full, self._resting = False, rest
        if not rest and not self._ended:
            self._consumer.resume(self._partition)

    def outdated(self) -> bool:
        """Whether the present poll was asked for before the last seek; then it is asked for again."""
        if self._consumer.polls >= self._valid_from_poll:
            return False
        self._consumer.seek(self._partition, self._next)
        self._valid_from_poll = self._consumer.polls + 1
        return True

    def refuse(self, offset: int) -> None:
        """The record at an offset is not taken in now: the partition waits and goes on with it later."""
        # While it rests nothing needs to be released before it goes on.
        self._full = self._full or not self._resting
        self._consumer.pause(self._partition)
        self._consumer.seek(self._partition, offset)

    def make_room(self) -> None:
        """There is room again."""
        if self._full:
            self._full = False
            self._resume()

    def rest(self, resting: bool) -> None:
        """Takes nothing in while what the handler needs is down."""
        if resting == self._resting:
            return
        self._resting = resting
        if resting:
            self._consumer.pause(self._partition)
        else:
            self._resume()

    def end(self) -> None:
        """Nothing more is taken in: what comes from now on is the next owner's."""
        self._ended = True
        self._consumer.wanted.pop(self._partition, None)

    def _resume(self) -> None:
        if not self.shut:
            self._consumer.resume(self._partition)

    def _want(self, offset: int) -> None:
        self._next = offset
        if not self._ended:
            self._consumer.wanted[self._partition] = offset
