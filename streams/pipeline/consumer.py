"""The consumer under FastStream's intake, with the facts that safe offsets need.

FastStream polls in a loop: ``getmany``, then our intake, then ``getmany`` again. So at the *start* of a poll everything
delivered before has been through intake, and ``position`` is what may be committed where nothing is in hand. Counting
polls tells intake which records were asked for before a partition was opened or set back.

A poll that raises has moved positions past records that nobody got: aiokafka drains one partition after another and
throws away what it has when the next one fails. So every partition is set back to what intake wants next, and a
record that the client can't read (a header name that is no UTF-8) is found, handed to intake as unreadable, and passed.
The client reads a producer's batch from its beginning, so what stands behind such a record in its batch is unreadable
too.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from streams.codec import UNREADABLE_HEADER

log = structlog.get_logger(__name__)

Polled = dict[TopicPartition, list[ConsumerRecord]]
_SINGLE_POLL_MS = 500
"""Long enough for what was fetched before to be fetched again."""


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
            records: Polled = await super().getmany(*partitions, timeout_ms=timeout_ms, max_records=max_records)
        except ValueError as error:
            log.warning("a record can't be read, looking for it", error=repr(error))
            self._set_back(list(self.wanted))
            return await self._poll_singly(max_records or 1)
        except BaseException:
            self._set_back(list(self.wanted))
            raise
        return records

    async def _poll_singly(self, max_records: int) -> Polled:
        """One partition after another, so that the one with the unreadable record is known; it is read up to there."""
        found: Polled = {}
        try:
            for partition in sorted(self.wanted.keys() - self.paused()):
                try:
                    records = (await self._poll_one(partition, max_records)).get(partition, [])
                except ValueError:
                    self._set_back((partition,))
                    records = await self._up_to_unreadable(partition, max_records)
                if records:
                    found[partition] = records
        except BaseException:
            # What was found is not handed over, so it is as if it had not been asked for.
            self._set_back(list(self.wanted))
            raise
        return found

    async def _up_to_unreadable(self, partition: TopicPartition, max_records: int) -> list[ConsumerRecord]:
        """Records one by one, and last the one that can't be read, without its contents; the position is behind it."""
        records: list[ConsumerRecord] = []
        while len(records) < max_records:
            try:
                polled = await self._poll_one(partition, 1)
            except ValueError as error:
                offset: int = await self.position(partition)
                self.seek(partition, offset + 1)
                log.warning("unreadable record", partition=str(partition), offset=offset, error=repr(error))
                return [*records, _unreadable(partition, offset, repr(error))]
            if not polled:
                break
            records += polled[partition]
        return records

    async def _poll_one(self, partition: TopicPartition, max_records: int) -> Polled:
        polled: Polled = await super().getmany(partition, timeout_ms=_SINGLE_POLL_MS, max_records=max_records)
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


def _unreadable(partition: TopicPartition, offset: int, error: str) -> ConsumerRecord:
    """Stands for a record whose bytes the client does not give out; it ends as a dead letter."""
    headers = ((UNREADABLE_HEADER, error.encode("utf-8", "replace")),)
    return ConsumerRecord(partition.topic, partition.partition, offset, -1, 0, None, None, None, -1, -1, headers)
