"""Batches that are too large, damaged, or state a wrong size, as aiokafka's fetcher reads them."""

import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from streams.kafka.aiokafka_fixes.batches import limit_unpacking
from streams.topology.codec import UNREADABLE_HEADER
from tests.kafka.batches import (
    CODECS,
    NoText,
    Pack,
    Record,
    batch,
    gzip_announcing,
    lz4_announcing,
    numbered,
    snappy_announcing,
    zstd_announcing,
)
from tests.samples import ROOT

MIB = 1024 * 1024
CRC, LAST_OFFSET_DELTA = 17, 23  # their offsets in a batch's header
LIMIT = 16 * MIB
PLACE = TopicPartition("topic", 3)
SMALL: Record = (b"key", b"value", [("name", b"text")])


@pytest.fixture(autouse=True)
def _limited() -> Iterator[None]:
    limit_unpacking(LIMIT)
    yield
    limit_unpacking(64 * MIB)


def fetched(data: bytes, offset: int = 0) -> Any:
    """What the fetcher makes of a broker's answer to a fetch from an offset."""
    return fetcher.PartitionRecords(PLACE, MemoryRecords(data), None, offset, None, None, True, fetcher.READ_COMMITTED)


def read(data: bytes, offset: int = 0) -> list[tuple[int, bytes | None, str]]:
    """Offset, value, and why it cannot be read, of each record."""
    records = fetched(data, offset)
    found = [(r.offset, r.value, (dict(r.headers).get(UNREADABLE_HEADER) or b"").decode()) for r in records]
    assert records.next_fetch_offset == DefaultRecordBatch(data).next_offset
    return found


@pytest.mark.parametrize("codec", [None, *CODECS])
@pytest.mark.parametrize("size", [0, 1000, 3 * MIB, LIMIT - 100], ids=str)
def test_a_batch_within_the_limit_is_read_as_it_was_written(codec: str | None, size: int) -> None:
    value = b"a page of text" * (size // 14)
    [first, second] = fetched(batch(SMALL, (None, value, []), codec=codec))
    assert (first.offset, first.key, first.value, first.headers) == (0, b"key", b"value", (("name", b"text"),))
    assert (second.offset, second.key, second.value, second.headers) == (1, None, value, ())


@pytest.mark.parametrize("codec", CODECS)
def test_records_of_an_oversized_batch_are_unreadable_by_offset(codec: str) -> None:
    data = batch(SMALL, (None, bytes(LIMIT), []), SMALL, codec=codec)
    found = read(data)
    assert [(offset, value) for offset, value, _ in found] == [(0, None), (1, None), (2, None)]
    assert all(f"cannot be unpacked into {LIMIT} bytes (kafka.max_unpacked_bytes)" in why for *_, why in found)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_a_batch_of_the_old_format_is_limited_as_well(codec: str) -> None:
    for size, value in ((1000, bytes(1000)), (LIMIT, None)):
        builder = LegacyRecordBatchBuilder(1, CODECS[codec], 2 * LIMIT)
        builder.append(0, 1_700_000_000_000, b"key", bytes(size))
        [record] = fetched(bytes(builder.build()))
        assert (record.offset, record.value) == (0, value)


@pytest.mark.parametrize(
    ("codec", "pack"),
    [
        ("zstd", zstd_announcing(10)),
        ("zstd", zstd_announcing(1 << 62)),
        ("lz4", lz4_announcing(10)),
        ("lz4", lz4_announcing(1 << 62)),
        ("gzip", gzip_announcing(10)),
        ("gzip", gzip_announcing((1 << 32) - 1)),
        ("snappy", snappy_announcing(10)),
        ("snappy", snappy_announcing((1 << 32) - 1)),
        ("snappy", lambda data: b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2 + b"\x7f\xff\xff\xff" + data),
        ("snappy", lambda data: b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2 + b"\xff\xff\xff\xfc" + data),
        ("snappy", lambda data: b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2 + b"\x00" + data[:2]),
        *((codec, lambda data: data) for codec in CODECS),
        *((codec, lambda data: data[:0]) for codec in CODECS),
    ],
)
def test_damaged_batch_or_wrong_size_is_unreadable(codec: str, pack: Pack) -> None:
    found = read(batch(SMALL, SMALL, codec=codec, pack=pack))
    assert [(offset, value, why != "") for offset, value, why in found] == [(0, None, True), (1, None, True)]


def test_batch_without_a_stated_size_is_limited_by_its_content() -> None:
    pack = zstd_announcing(None)
    assert [value for _, value, _ in read(batch(SMALL, codec="zstd", pack=pack))] == [b"value"]
    [(_, value, why)] = read(batch((None, bytes(LIMIT), []), codec="zstd", pack=pack))
    assert value is None
    assert str(LIMIT) in why


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_records_after_an_unparsable_one_are_unreadable(codec: str | None) -> None:
    found = read(batch(SMALL, (b"k", b"v", [(NoText("name"), b"")]), SMALL, codec=codec))
    assert [(offset, value) for offset, value, _ in found] == [(0, b"value"), (1, None), (2, None)]
    assert all("utf-8" in why for *_, why in found[1:])


def test_record_with_reserved_attributes_is_unreadable() -> None:
    """aiokafka reads the bytes after them as the offset."""
    data = batch(SMALL, SMALL, SMALL, pack=lambda data: data[:1] + b"\x80" + data[2:])
    assert [value for _, value, _ in read(data)].count(b"value") == 0


@pytest.mark.parametrize("delta", [b"\x80\x80\x80\x80\x20", b"\x02", b"\x01"], ids=["2**32", "1", "-1"])
def test_an_offset_outside_of_the_batch_is_unreadable(delta: bytes) -> None:
    """To the broker, which reads 32 bits of it, the first of them is 0."""
    [(offset, value, why)] = read(batch(SMALL, pack=numbered(delta)))
    assert (offset, value) == (0, None)
    assert "in a batch that ends before 1" in why


def test_batch_with_too_many_records_is_not_unpacked() -> None:
    """A few KB of zstd may hold millions of them; to read the last one, all of them are parsed."""
    header = bytearray(batch(SMALL, codec="zstd", pack=lambda _: b"not unpacked"))
    for count, begins in ((100_000, "12 bytes cannot be unpacked"), (100_001, "100001 records in one batch")):
        struct.pack_into(">i", header, LAST_OFFSET_DELTA, count - 1)
        struct.pack_into(">I", header, CRC, calc_crc32c(header[CRC + 4 :]))
        found = read(bytes(header), offset=count - 2)
        assert [offset for offset, *_ in found] == [count - 2, count - 1]
        assert all(why.startswith(begins) for *_, why in found)


MEMORY = """
import gc, resource
from pathlib import Path
from streams.kafka.aiokafka_fixes.batches import limit_unpacking
from tests.kafka.batches import batch, bomb
from tests.streams.kafka.test_bounded_unpacking import MIB, SMALL, fetched, read

def memory(name):
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in text.splitlines() if line.startswith(name))

limit_unpacking(64 * MIB)
{body}
"""


def mebibytes(body: str) -> int:
    """Runs a program, which prints a number, in a process whose memory is its own."""
    program = [sys.executable, "-c", MEMORY.format(body=body)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


def test_a_bomb_takes_little_more_memory_than_the_limit() -> None:
    # The window of the last one is the largest that there is, which the decoder keeps as well.
    taken = """
over = 0
for codec, size, window, most in (
    ("gzip", 200_000_000, {}, 80),
    ("lz4", 200_000_000, {}, 80),
    ("snappy", 200_000_000, {}, 80),
    ("zstd", 700_000_000, {}, 80),
    ("zstd", 700_000_000, {"window_log": 27}, 150),
):
    data = bomb(codec, size, **window)
    Path("/proc/self/clear_refs").write_text("5")  # the most memory so far is that of now
    before = memory("VmHWM")
    for _ in range(3):
        [record] = fetched(data)
        assert record.value is None
    over += max(0, memory("VmHWM") - before - most)
print(over)
"""
    assert mebibytes(taken) == 0


def test_consumers_are_made_only_where_unpacking_is_limited() -> None:
    made = re.compile(r"(?<!class )(AIOKafkaConsumer\(|CountingConsumer\(|partial\(CountingConsumer)")
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "streams").rglob("*.py")}
    makers = {name: text for name, text in texts.items() if made.search(text)}
    assert sorted(makers) == ["streams/kafka/clients.py", "streams/pipeline/intake.py"]
    assert all("limit_unpacking(" in text for text in makers.values())
