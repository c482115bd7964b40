"""The consumer under FastStream's intake, with the facts that safe offsets need.

FastStream polls in a loop: ``getmany``, then our intake, then ``getmany`` again. So at the *start* of a poll everything
delivered before has been through intake, and ``position`` is what may be committed where nothing is in hand. Counting
polls tells intake which records were asked for before a partition was opened or set back.

A poll that raises has moved positions past records that were not delivered: aiokafka drains one partition after another
and throws away what it has when the next one fails. So every partition is set back to what intake wants next. No poll
raises because of what a producer wrote: see ``streams.unpacking``.
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
