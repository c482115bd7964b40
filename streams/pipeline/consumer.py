"""The consumer under FastStream's intake, with the two facts that safe offsets need.

FastStream polls in a loop: ``getmany``, then our intake, then ``getmany`` again. So at the *start* of a poll everything
delivered before has been through intake, and ``position`` is what may be committed where nothing is in hand. Counting
polls tells intake which records were asked for before a partition was opened or set back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError


class CountingConsumer(AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is not typed
    """An ``AIOKafkaConsumer`` that counts polls and notes positions at their start."""

    def __init__(self, *topics: str, **options: Any) -> None:
        """Takes what ``AIOKafkaConsumer`` takes."""
        super().__init__(*topics, **options)
        self.polls = 0
        """Polls begun."""
        self.delivered_to: dict[TopicPartition, int] = {}
        """For each watched partition: every record below this offset has been through intake."""
        self.watched: frozenset[TopicPartition] = frozenset()
        """Partitions whose positions are noted; they have a valid one."""

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Polls as the parent does, after noting the positions."""
        await self._note_positions(self.watched)
        self.polls += 1
        records: dict[TopicPartition, list[ConsumerRecord]] = await super().getmany(
            *partitions, timeout_ms=timeout_ms, max_records=max_records
        )
        return records

    async def _note_positions(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            # A valid position is there at once; one that is being reset is not worth waiting for.
            with contextlib.suppress(KafkaError, TimeoutError):
                async with asyncio.timeout(0.05):
                    self.delivered_to[partition] = await self.position(partition)
