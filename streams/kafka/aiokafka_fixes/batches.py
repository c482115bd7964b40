"""The batches that aiokafka's consumers read. Two defects; no upstream issue of them is known.

1. It unpacks a whole batch at once, however large it becomes: 22 KB of zstd can become 700 MB. Here the names by which
   its parser calls its codecs are replaced, so that each batch is unpacked into a bounded buffer. Delete this if a
   consumer has a limit for an unpacked batch.
2. It raises an error for a batch that it cannot parse, and the poll that meets it loses other partitions' records. Here
   the class that iterates over a fetch is replaced. A batch that cannot be parsed to its end gives a record without
   contents for each offset that is left of it; the header ``assay_unreadable`` of that record says why. So a poll never
   fails because of what a producer wrote. Delete this if a poll skips such a batch and reports its offsets.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import struct
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import cramjam
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.codec import _detect_xerial_stream
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecord, DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatch

from streams.topology.codec import MAX_DETAIL, UNREADABLE_HEADER

Buffer = bytearray | memoryview | mmap.mmap
Unpack = Callable[[bytes, Buffer], int]
"""Unpacks into a buffer and returns the number of bytes written; raises ``cramjam.DecompressionError``."""
_USUAL_RATIO = 16  # pages become 5 to 8 times smaller
_SMALL_BYTES = 4 * 1024 * 1024
_XERIAL_HEADER_BYTES = 16


def limit_unpacking(most: int) -> None:
    """Limits one unpacked batch to ``most`` bytes, for all consumers of this process; the last call counts.

    A batch that does not fit can't be read, so this also replaces unreadable records.
    """
    for batch in (DefaultRecordBatch, LegacyRecordBatch):
        for name, unpack in _CODECS.items():
            setattr(sys.modules[batch.__module__], f"{name}_decode", partial(_unpacked, unpack, most))
    fetcher.PartitionRecords = _ReadableRecords


def _unpacked(unpack: Unpack, most: int, packed: bytes) -> memoryview:
    """The unpacked data. Raises ValueError if it is damaged, or does not fit."""
    usual = _USUAL_RATIO * len(packed)
    if usual <= min(_SMALL_BYTES, most):
        # Faster than a new mapping.
        with contextlib.suppress(cramjam.DecompressionError):
            return _filled(unpack, packed, bytearray(usual))
    try:
        # A page of a mapping takes memory when it is first written, so unused pages cost nothing.
        return _filled(unpack, packed, mmap.mmap(-1, most, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except cramjam.DecompressionError as error:
        raise ValueError(
            f"{len(packed)} bytes cannot be unpacked into {most} bytes (kafka.max_unpacked_bytes): {error}"
        ) from None


def _filled(unpack: Unpack, packed: bytes, buffer: bytearray | mmap.mmap) -> memoryview:
    return memoryview(buffer)[: unpack(packed, buffer)]


def _unpack_snappy(packed: bytes, buffer: Buffer) -> int:
    """Snappy as Kafka's clients write it: blocks in the Java library's frame, or one block without a frame."""
    if not _detect_xerial_stream(packed):
        return int(cramjam.snappy.decompress_raw_into(packed, buffer))
    free, at = memoryview(buffer), _XERIAL_HEADER_BYTES
    while at < len(packed):
        (size,) = struct.unpack_from("!i", packed, at)
        begin, at = at + 4, at + 4 + size
        if size <= 0 or at > len(packed):
            raise cramjam.DecompressionError("a block of snappy has a wrong size")
        free = free[cramjam.snappy.decompress_raw_into(packed[begin:at], free) :]
    return len(buffer) - len(free)


_CODECS: dict[str, Unpack] = {
    "gzip": cramjam.gzip.decompress_into,
    "lz4": cramjam.lz4.decompress_into,
    "snappy": _unpack_snappy,
    "zstd": cramjam.zstd.decompress_into,
}


log = logging.getLogger(__name__)
"""Not structlog's, which writes to standard output in a command that has not configured it."""

_MOST_RECORDS = 100_000
"""Of one batch. It is parsed from its beginning again each time that intake sets the partition back."""
_PartitionRecords = fetcher.PartitionRecords


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
        self.of: Callable[[], Any] = lambda: None  # the ``PartitionRecords`` that reads these batches

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
