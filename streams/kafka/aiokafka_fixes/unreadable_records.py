"""aiokafka raises an error for a batch that it cannot parse; the poll that meets it loses other partitions' records.

This file replaces the class that iterates over a fetch. A batch that cannot be parsed to its end then gives a record
without contents for each offset that is left of it; the header ``assay_unreadable`` of that record says why. So a poll
never fails because of what a producer wrote. No upstream issue is known. Delete this file if a poll skips such a batch
and reports its offsets.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Self

from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecord

from streams.topology.codec import MAX_DETAIL, UNREADABLE_HEADER

log = logging.getLogger(__name__)
"""Not structlog's, which writes to standard output in a command that has not configured it."""

_MOST_RECORDS = 100_000
"""Of one batch. It is parsed from its beginning again each time that intake sets the partition back."""
_PartitionRecords = fetcher.PartitionRecords


def replace_unreadable_records() -> None:
    """For all consumers of this process."""
    fetcher.PartitionRecords = _ReadableRecords


class _ReadableRecords:
    """In place of aiokafka's ``PartitionRecords``: the records of one partition in one fetch.

    ``PartitionRecords`` is part of a reference cycle with its own generator. A fetch that is dropped, as by a seek,
    would keep its unpacked batch until the garbage collector finds it; so the generator is closed here.
    """

    def __init__(self, partition: TopicPartition, records: Any, *arguments: Any) -> None:
        batches = _Batches(records, partition)
        self._records = _PartitionRecords(partition, batches, *arguments)
        batches.of = weakref.ref(self._records)

    def __del__(self) -> None:
        if self._records._records_iterator is not None:
            self._records._records_iterator.close()

    @property
    def next_fetch_offset(self) -> int:
        return int(self._records.next_fetch_offset)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        return next(self._records)


class _Batches:
    """aiokafka's ``MemoryRecords``, with batches that can be read to their ends."""

    def __init__(self, records: Any, partition: TopicPartition) -> None:
        self._next_batch = records.next_batch
        self.has_next = records.has_next
        self.partition = partition
        self.of: Callable[[], Any] = lambda: None
        """The ``PartitionRecords`` that reads these batches."""

    def next_batch(self) -> _Batch:
        return _Batch(self._next_batch(), self)


class _Batch:
    """A batch of aiokafka's; a record that cannot be read is replaced by one that says why."""

    def __init__(self, batch: Any, batches: _Batches) -> None:
        self._batch = batch
        self._batches = batches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._in_order()
        except Exception as error:  # the checksum is right, so every read would fail in the same way
            yield from self._unreadable(error)

    def _in_order(self) -> Iterator[Any]:
        """The batch's own records, with offsets that increase within the batch.

        aiokafka reads longer numbers than the broker, so a producer can make it see another offset than the broker
        does. Intake would skip all records up to an offset that is too large.
        """
        # The format before Kafka 0.11 has no first offset.
        begin, end = getattr(self._batch, "base_offset", None), self._batch.next_offset
        if begin is not None and end - begin > _MOST_RECORDS:
            raise ValueError(f"{end - begin} records in one batch, {_MOST_RECORDS} at most")
        previous = -1 if begin is None else begin - 1
        for record in self._batch:
            if not previous < record.offset < end:
                raise ValueError(f"offset {record.offset} behind {previous} in a batch that ends before {end}")
            previous = record.offset
            yield record

    def _unreadable(self, error: Exception) -> Iterator[DefaultRecord]:
        # The records that were yielded have moved this offset.
        first, end = self._batches.of().next_fetch_offset, self._batch.next_offset
        why = (str(error) or type(error).__name__)[:MAX_DETAIL]
        place = self._batches.partition
        log.warning("%s/%s: the records from %s to %s cannot be read: %s", *place, first, end - 1, why)
        produced = getattr(self._batch, "max_timestamp", -1)
        headers = [(UNREADABLE_HEADER, why.encode("utf-8", "replace"))]
        for offset in range(first, end):
            yield DefaultRecord(offset, produced, 0, None, None, headers)
