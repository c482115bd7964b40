"""Records of a range that retention, or an operator, deleted before they could be read: a replay tells of them.

A consumer whose offset is gone goes on at the first record there is, without a word. So the group notes where intake
jumped, and what of such a gap stands before the partition's first offset was deleted; the rest are markers of
transactions. Ranges go to the ledger, where those of several processes are put together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from schemas.replays import OffsetRange
from streams.pipeline.group import ConsumerGroup

Gap = tuple[TopicPartition, int, int]


class WatchedGroup(ConsumerGroup):
    """A consumer group that knows which offsets went by without a record."""

    def __init__(self, *arguments: Any) -> None:
        """Takes what ``ConsumerGroup`` takes."""
        super().__init__(*arguments)
        self._gaps: list[Gap] = []

    def intake(self, records: Sequence[ConsumerRecord]) -> None:
        """Notes where the records of one poll leave a gap, and takes them in."""
        consumer, seen = self.consumer, set()
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            if consumer is None or place in seen:
                continue
            wanted = consumer.wanted.get(place)
            if wanted is not None and record.offset >= wanted:
                seen.add(place)
                if record.offset > wanted:
                    self._gaps.append((place, wanted, record.offset))
        super().intake(records)

    async def deleted(self, ends: Mapping[TopicPartition, int]) -> list[OffsetRange]:
        """What was deleted since this was last asked, before it could be read here.

        Args:
            ends: Where the ranges end.

        Returns:
            Ranges by partition; none where the cluster does not answer now, what was noted is kept then.
        """
        consumer = self.consumer
        if consumer is None:
            return []
        # Where nothing is left there is no record that tells of the jump.
        at_last = [
            (place, consumer.wanted.get(place), consumer.delivered_to.get(place, 0)) for place in self.partitions
        ]
        gaps = self._gaps + [(place, start, end) for place, start, end in at_last if start is not None and start < end]
        if not gaps:
            return []
        with contextlib.suppress(KafkaError, OSError):
            begins = await consumer.beginning_offsets(list({place for place, _, _ in gaps}))
            self._gaps = [gap for gap in self._gaps if gap not in gaps]
            return merged(
                OffsetRange(partition=place.partition, start=start, end=last)
                for place, start, end in gaps
                if start < (last := min(end, begins.get(place, 0), ends.get(place, 0)))
            )
        return []


def merged(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """The same offsets in ranges that don't overlap, in their order."""
    found: list[OffsetRange] = []
    for its in sorted(ranges, key=lambda its: (its.partition, its.start)):
        last = found[-1] if found else None
        if last is not None and last.partition == its.partition and its.start <= last.end:
            found[-1] = last.model_copy(update={"end": max(last.end, its.end)})
        else:
            found.append(its)
    return found
