"""The consumer under FastStream, and a cursor for each of its partitions: the offset of intake, pauses and seeks.

FastStream polls in a loop: ``getmany``, then our intake, then ``getmany`` again. At the *start* of a poll everything
delivered before has been through intake, so ``position`` may be committed if nothing is in flight. Counting polls
shows which records were requested before a partition was opened or set back.

A poll that raises has moved positions past records that were not delivered: aiokafka drains one partition after another
and discards what it has when the next one fails. Therefore every partition is set back to the next record that intake
expects. Records of a producer never make a poll raise: see ``streams.kafka.aiokafka_fixes.batches``.

Under back pressure a partition is not polled. It is neither paused nor set back: both would discard what the consumer
has fetched ahead, to fetch and decompress it again.

The consumer fetches ahead, so a record may have been requested before the last seek. Invariant: a record is admitted
only if it was requested after the last seek, and only in offset order from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from streams.kafka.aiokafka_fixes.connections import raise_offset_errors

Polled = dict[TopicPartition, list[ConsumerRecord]]
_POLL_RECORDS = 500  # of a poll without a number: Kafka's own default


class CountingConsumer(AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is not typed
    """An ``AIOKafkaConsumer`` that polls partitions with room, counts polls, and loses nothing when one fails."""

    def __init__(self, *topics: str, **options: Any) -> None:
        super().__init__(*topics, **options)
        raise_offset_errors(self._client)
        self.polls = 0  # number of polls, the present one included
        self.polled_at = time.monotonic()  # start of the last poll
        self.trouble: Exception | None = None  # the error of the last poll; None if it worked
        self._cursors: dict[TopicPartition, PartitionCursor] = {}  # of the partitions that take records in
        self._room_made = asyncio.Event()

    async def getmany(self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None) -> Polled:
        """Polls the partitions that have room, at most for so many records as each has room for.

        If the poll fails, the positions are as before.
        """
        for cursor in list(self._cursors.values()):
            await cursor.note_position()
        self.polls += 1
        self.polled_at = time.monotonic()
        assigned = self.assignment()
        rooms = {key: cursor.room for key, cursor in self._cursors.items() if cursor.room and key in assigned}
        if self._cursors and not rooms:
            # A poll without partitions would be a poll of all.
            self._room_made.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._room_made.wait()
            return {}
        most = min((max_records or _POLL_RECORDS, *rooms.values()))
        # Step 1. Poll the partitions that have room.
        try:
            polled: Polled = await super().getmany(*(partitions or rooms), timeout_ms=timeout_ms, max_records=most)
        except BaseException as error:
            # Also those that were opened during the poll.
            for cursor in self._cursors.values():
                cursor.set_back()
            self.trouble = error if isinstance(error, Exception) else None
            raise
        self.trouble = None
        return polled


class PartitionCursor:
    """The intake of one partition for one assignment: its next offset, and how many records it has room for.

    It is paused until ``start_at``. It has no room while the window is full, and while the handler's circuit breaker is
    open.
    """

    def __init__(self, partition: TopicPartition, consumer: CountingConsumer) -> None:
        """For a partition that was just assigned and is paused; replaces an earlier cursor when it starts."""
        self._partition = partition
        self._consumer = consumer
        self.next_offset = 0  # the first offset that was not taken in
        self._delivered_to = 0  # every record below this offset has been through intake
        self._valid_from_poll = 0
        self._room = 0
        self.breaker_open = False
        self.closed = False

    @property
    def position(self) -> int:
        """Every record below this offset is taken in. Transaction markers occupy offsets, so there may be none."""
        # After ``close`` records are still delivered and no longer taken in.
        return self.next_offset if self.closed else max(self.next_offset, self._delivered_to)

    @property
    def room(self) -> int:
        return 0 if self.breaker_open else self._room

    def start_at(self, offset: int, room: int) -> None:
        """Seeks to an offset and takes records in; records that were requested before are discarded."""
        self.next_offset, self._delivered_to = offset, 0
        if not self.closed:
            self._consumer._cursors[self._partition] = self
        self._seek(offset)
        self.set_room(room)
        self._consumer.resume(self._partition)

    def set_room(self, records: int) -> None:
        """Sets how many records intake may accept."""
        self._room = records
        if self.room:
            self._consumer._room_made.set()

    def advance(self, offset: int) -> None:
        """The record at an offset is taken in; a poll that fails continues after it."""
        self.next_offset = offset + 1

    def discard_old_poll(self) -> bool:
        """Requests the records of the present poll again if it began before the last seek. Returns whether it did."""
        if self._consumer.polls >= self._valid_from_poll:
            return False
        self._seek(self.next_offset)
        return True

    def take_again(self, offset: int) -> None:
        """The record at an offset is not taken in now: it is fetched again when there is room."""
        self._seek(offset)
        self._room = 0

    def end_at(self, offset: int) -> None:
        """Takes nothing in from an offset on."""
        self._consumer.pause(self._partition)
        self._consumer.seek(self._partition, offset)

    def set_breaker(self, is_open: bool) -> None:
        """Takes nothing in while the handler's circuit breaker is open. Records in flight stay."""
        self.breaker_open = is_open
        self.set_room(self._room)

    def close(self) -> None:
        """Takes no further record in; the next owner of the partition does."""
        self.closed = True
        self._consumer._cursors.pop(self._partition, None)

    async def note_position(self) -> None:
        """Called at the start of a poll: everything that was delivered before has been through intake."""
        # A valid position is there at once; one that is being reset is not worth waiting for.
        with contextlib.suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(0.05):
                self._delivered_to = await self._consumer.position(self._partition)

    def set_back(self) -> None:
        """Requests again what a failed poll has passed over."""
        # A partition that was revoked during the poll belongs to its next owner.
        with contextlib.suppress(IllegalStateError):
            self._consumer.seek(self._partition, self.next_offset)

    def _seek(self, offset: int) -> None:
        self._consumer.seek(self._partition, offset)
        self._valid_from_poll = self._consumer.polls + 1
