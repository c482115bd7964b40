"""Record batches that no normal client writes: bombs, wrong sizes, and batches that only the broker can parse."""

import asyncio
import gzip
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Sequence

import cramjam
from aiokafka import AIOKafkaProducer
from aiokafka.codec import snappy_encode
from aiokafka.errors import for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.record.util import decode_varint, encode_varint
from aiokafka.structs import TopicPartition

Pack = Callable[[bytes], bytes]
Record = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Key, value and headers."""
CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_ZEROS = bytes(128 * 1024)
_HEADER_BYTES = _DefaultRecordBatchBuilderPy.HEADER_STRUCT.size


class NoText(str):
    """A header's name that is not UTF-8 on the wire."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        return b"\xff\xfe"


class _Builder(_DefaultRecordBatchBuilderPy):  # type: ignore[misc] # aiokafka is not typed
    """Compresses the records with the given function, whether that makes them smaller or not."""

    pack: Pack

    def _maybe_compress(self) -> bool:
        self._buffer[_HEADER_BYTES:] = self.pack(bytes(self._buffer[_HEADER_BYTES:]))
        return True


def batch(*records: Record, codec: str | None = None, pack: Pack | None = None) -> bytes:
    """One batch, whose offsets begin at 0.

    Args:
        records: Its records.
        codec: The name of the compression.
        pack: How the records become the batch's data; by default as the codec does.
    """
    builder = _Builder(2, CODECS.get(codec or "", 0), 0, -1, -1, -1, 1 << 31)
    builder.pack = pack or (PACKS[codec] if codec else bytes)
    for offset, (key, value, headers) in enumerate(records):
        # Of now: what is older than a topic keeps is deleted.
        builder.append(offset, int(1000 * time.time()), key, value, list(headers))
    return bytes(builder.build())


def bomb(codec: str, size: int, window_log: int = 20) -> bytes:
    """A batch with one record, whose value is ``size`` zeros; it is made in little memory."""
    lengths = bytearray()
    encode_varint(size, lengths.append)
    begin = b"\x00\x00\x00\x02k" + lengths  # attributes, time and offset as in the header, a key of one letter
    record = bytearray()
    encode_varint(len(begin) + size + 1, record.append)
    pieces = [bytes(record + begin), *[_ZEROS] * (size // len(_ZEROS)), bytes(size % len(_ZEROS)) + b"\x00"]
    return batch((None, b"", []), codec=codec, pack=lambda _: _packed(codec, pieces, window_log))


def _packed(codec: str, pieces: Sequence[bytes], window_log: int) -> bytes:
    match codec:
        case "gzip":
            deflate = zlib.compressobj(1, wbits=31)
            return b"".join([*map(deflate.compress, pieces), deflate.flush()])
        case "lz4":
            return _lz4(pieces)
        case "zstd":
            return _zstd(pieces, None, window_log)
        case _:
            blocks = {piece: bytes(cramjam.snappy.compress_raw(piece)) for piece in set(pieces)}
            framed = {piece: struct.pack("!i", len(block)) + block for piece, block in blocks.items()}
            return bytes(snappy_encode(b"")[:16]) + b"".join(framed[piece] for piece in pieces)


async def write(producer: AIOKafkaProducer, place: TopicPartition, data: bytes) -> int:
    """Writes a batch unchanged; returns the offset of its first record.

    Raises:
        KafkaError: The broker refuses it.
    """
    await producer.partitions_for(place.topic)
    topics = [(place.topic, [(place.partition, data)])]
    request = ProduceRequest(transactional_id=None, required_acks=-1, timeout=30_000, topics=topics)
    while True:
        node = producer.client.cluster.leader_for_partition(place)
        response = await producer.client.send(node, request)
        [(_, [(_, code, offset, *_)])] = response.topics
        if not code:
            return int(offset)
        error = for_code(code)(f"the broker refuses the batch ({code})")
        if not error.retriable:
            raise error
        await asyncio.sleep(0.1)  # the topic was made a moment ago


def _lz4(pieces: Iterable[bytes]) -> bytes:
    compressor = cramjam.lz4.Compressor(level=1, content_checksum=False, block_linked=False)
    for piece in pieces:
        compressor.compress(piece)
    return bytes(compressor.finish())


PACKS: dict[str, Pack] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "snappy": snappy_encode,
    "lz4": lambda data: _lz4([data]),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data, level=3)),
}


def numbered(offset_delta: bytes) -> Pack:
    """Stored data of one record, whose offset within the batch is written in these bytes."""

    def pack(data: bytes) -> bytes:
        _, begin = decode_varint(bytearray(data))
        record = data[begin : begin + 2] + offset_delta + data[begin + 3 :]
        length = bytearray()
        encode_varint(len(record), length.append)
        return bytes(length) + record

    return pack


def zstd_announcing(announced: int | None) -> Pack:
    """zstd whose frame says that it is so large, or says nothing."""
    return lambda data: _zstd(
        [data[at : at + len(_ZEROS)] for at in range(0, len(data), len(_ZEROS))], announced, window_log=20
    )


def _zstd(pieces: Sequence[bytes], announced: int | None, window_log: int) -> bytes:
    """One frame; each piece, of 128 KiB at most, is stored in a block, or is one byte and how often it is repeated."""
    window = bytes([(window_log - 10) << 3])
    size = b"\x00" + window if announced is None else b"\xc0" + window + struct.pack("<Q", announced)
    blocks = []
    for number, piece in enumerate(pieces, 1):
        repeats = piece == piece[:1] * len(piece)
        blocks.append(((len(piece) << 3) | (repeats << 1) | (number == len(pieces))).to_bytes(3, "little"))
        blocks.append(piece[:1] if repeats else piece)
    return b"\x28\xb5\x2f\xfd" + size + b"".join(blocks)


def lz4_announcing(announced: int) -> Pack:
    """lz4 whose frame says that it is so large. The broker does not look at that."""

    def pack(data: bytes) -> bytes:
        packed = _lz4([data])
        descriptor = bytes([packed[4] | 0x08, packed[5]]) + struct.pack("<Q", announced)
        return packed[:4] + descriptor + bytes([(_xxh32(descriptor) >> 8) & 0xFF]) + packed[7:]

    return pack


def gzip_announcing(announced: int) -> Pack:
    """gzip whose last four bytes say that it is so large."""
    return lambda data: gzip.compress(data, 1)[:-4] + struct.pack("<I", announced)


def snappy_announcing(announced: int) -> Pack:
    """One block of snappy without a frame, which begins with the size that it becomes."""

    def pack(data: bytes) -> bytes:
        packed = bytes(cramjam.snappy.compress_raw(data))
        own = 1 + next(index for index, byte in enumerate(packed) if byte < 0x80)
        size = bytearray()
        while announced >> (7 * len(size)):
            size.append(0x80 | (announced >> (7 * len(size)) & 0x7F))
        size[-1] &= 0x7F
        return bytes(size) + packed[own:]

    return pack


_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393


def _xxh32(data: bytes) -> int:
    """xxHash of fewer than 16 bytes, as lz4's frame has it over its header."""

    def turned(value: int, bits: int) -> int:
        value &= 0xFFFFFFFF
        return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF

    accumulated, at = _PRIME_5 + len(data), 0
    for at in range(0, len(data) - 3, 4):
        accumulated = turned(accumulated + int.from_bytes(data[at : at + 4], "little") * _PRIME_3, 17) * _PRIME_4
    for byte in data[len(data) & ~3 :]:
        accumulated = turned(accumulated + byte * _PRIME_5, 11) * _PRIME_1
    accumulated &= 0xFFFFFFFF
    accumulated = (accumulated ^ (accumulated >> 15)) * _PRIME_2 & 0xFFFFFFFF
    accumulated = (accumulated ^ (accumulated >> 13)) * _PRIME_3 & 0xFFFFFFFF
    return accumulated ^ (accumulated >> 16)
