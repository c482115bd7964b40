"""aiokafka unpacks a whole batch at once, however large it becomes: 22 KB of zstd can become 700 MB.

This file replaces the names by which aiokafka's parser calls its codecs, so that each batch is unpacked into a bounded
buffer. No upstream issue is known. Delete this file if a consumer has a limit for an unpacked batch.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
import sys
from collections.abc import Callable
from functools import partial

import cramjam
from aiokafka.codec import _detect_xerial_stream
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatch

from streams.kafka.aiokafka_fixes.unreadable_records import replace_unreadable_records

Buffer = bytearray | memoryview | mmap.mmap
Unpack = Callable[[bytes, Buffer], int]
"""Unpacks into a buffer and returns the number of bytes written; raises ``cramjam.DecompressionError``."""
_USUAL_RATIO = 16
"""Pages become 5 to 8 times smaller."""
_SMALL_BYTES = 4 * 1024 * 1024
_XERIAL_HEADER_BYTES = 16


def limit_unpacking(most: int) -> None:
    """Limits one unpacked batch to ``most`` bytes, for all consumers of this process; the last call counts.

    A batch that does not fit can't be read, so this also replaces unreadable records.
    """
    for batch in (DefaultRecordBatch, LegacyRecordBatch):
        for name, unpack in _CODECS.items():
            setattr(sys.modules[batch.__module__], f"{name}_decode", partial(_unpacked, unpack, most))
    replace_unreadable_records()


def _unpacked(unpack: Unpack, most: int, packed: bytes) -> memoryview:
    """The unpacked data.

    Raises:
        ValueError: It is damaged, or does not fit.
    """
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
