"""The log of one partition: batches, sequence numbers of producers, open and aborted transactions."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from tests.simulation import codes

_KEPT_BATCHES = 5
"""Of a producer, whose repetition is recognised; as in Kafka."""
_CONTROL = 0x20
_ATTRIBUTES, _CRC = 21, 17


class Batch(NamedTuple):
    """A batch in a log."""

    base: int
    last: int
    raw: bytes
    pid: int
    transactional: bool
    control: bool


class Marker(NamedTuple):
    """The end of a transaction in a log."""

    pid: int
    first: int
    last: int
    committed: bool


@dataclass(slots=True)
class _Producer:
    epoch: int
    next_sequence: int = 0
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_KEPT_BATCHES))


@dataclass
class Log:
    """One partition. Offsets begin at 0; nothing is deleted."""

    largest: int | None = None
    """Bytes of a batch, at most."""
    batches: list[Batch] = field(default_factory=list)
    end: int = 0
    open: dict[int, int] = field(default_factory=dict)
    """The first offset of each open transaction, by producer."""
    ended: list[Marker] = field(default_factory=list)
    refused: int = 0
    """Batches that were too large, or without the right to the topic: the client does not send them again."""
    _producers: dict[int, _Producer] = field(default_factory=dict)

    @property
    def stable(self) -> int:
        """The last stable offset: a committed reader gets no record at or above it."""
        return min(self.open.values(), default=self.end)

    def append(self, raw: bytes) -> tuple[int, int]:
        """Appends a batch of a producer; returns an error code and the offset of its first record."""
        batch = DefaultRecordBatch(raw)
        pid, epoch, sequence, last_delta = (
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_offset_delta,
        )
        if self.largest is not None and len(raw) > self.largest:
            self.refused += 1
            return codes.MESSAGE_SIZE_TOO_LARGE, -1
        if pid >= 0:
            producer = self._producers.get(pid)
            if producer is None:
                producer = self._producers[pid] = _Producer(epoch, sequence)
            if epoch < producer.epoch:
                return codes.INVALID_PRODUCER_EPOCH, -1
            if epoch > producer.epoch:
                producer.epoch, producer.next_sequence = epoch, 0
                producer.recent.clear()
            for first, last, offset in producer.recent:
                if (first, last) == (sequence, sequence + last_delta):
                    return 0, offset
            if sequence != producer.next_sequence:
                return codes.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            producer.next_sequence = sequence + last_delta + 1
            producer.recent.append((sequence, sequence + last_delta, self.end))
            if batch.is_transactional:
                self.open.setdefault(pid, self.end)
        return 0, self._add(raw, last_delta, pid, batch.is_transactional, control=False)

    def end_transaction(self, pid: int, epoch: int, committed: bool) -> None:
        """Writes the marker that ends a producer's transaction."""
        producer = self._producers.setdefault(pid, _Producer(epoch))
        if epoch > producer.epoch:
            producer.epoch, producer.next_sequence = epoch, 0
            producer.recent.clear()
        first = self.open.pop(pid, None)
        if first is not None:
            self.ended.append(Marker(pid, first, self.end, committed))
        self._add(_marker(pid, epoch, committed), 0, pid, transactional=True, control=True)

    def read(self, offset: int, committed: bool, most_batches: int) -> tuple[bytes, list[tuple[int, int]]]:
        """The batches from an offset on, and the aborted transactions among them: producer and first offset."""
        limit = self.stable if committed else self.end
        found = [batch for batch in self.batches if batch.last >= offset and batch.last < limit][:most_batches]
        if not found:
            return b"", []
        last = found[-1].last
        aborted = [(m.pid, m.first) for m in self.ended if not m.committed and m.last >= offset and m.first <= last]
        return b"".join(batch.raw for batch in found), aborted

    def committed(self) -> Iterator[Any]:
        """The records that a committed reader gets, with ``value`` and ``headers``."""
        aborted = [marker for marker in self.ended if not marker.committed]
        for batch in self.batches:
            if batch.control or batch.last >= self.stable:
                continue
            if batch.transactional and any(m.pid == batch.pid and m.first <= batch.base < m.last for m in aborted):
                continue
            yield from DefaultRecordBatch(batch.raw)

    def _add(self, raw: bytes, last_delta: int, pid: int, transactional: bool, control: bool) -> int:
        base, self.end = self.end, self.end + last_delta + 1
        placed = struct.pack(">q", base) + raw[8:]
        self.batches.append(Batch(base, self.end - 1, placed, pid, transactional, control))
        return base


def batch_of(records: list[tuple[bytes, bytes]], pid: int = -1, epoch: int = -1, sequence: int = -1) -> bytes:
    """A batch of keys and values; of a transaction if it has a producer."""
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=int(pid >= 0), producer_id=pid, producer_epoch=epoch,
        base_sequence=sequence, batch_size=1 << 20,
    )  # fmt: skip
    for number, (key, value) in enumerate(records):
        builder.append(number, 1_767_225_600_000, key, value, [])
    return bytes(builder.build())


def _marker(pid: int, epoch: int, committed: bool) -> bytes:
    raw = bytearray(batch_of([(struct.pack(">HH", 0, int(committed)), struct.pack(">HI", 0, 0))], pid, epoch))
    (attributes,) = struct.unpack_from(">h", raw, _ATTRIBUTES)
    struct.pack_into(">h", raw, _ATTRIBUTES, attributes | _CONTROL)
    struct.pack_into(">I", raw, _CRC, calc_crc32c(bytes(raw[_ATTRIBUTES:])))
    return bytes(raw)
