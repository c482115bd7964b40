"""A broker that has missed its own heartbeats answers without a leader: trouble that passes, not a bug."""

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.admin import ApiVersionResponse_v0
from aiokafka.protocol.metadata import MetadataRequest_v1, MetadataResponse_v1

from streams.kafka.clients import make_producer, start, stop
from streams.kafka.settings import KafkaSettings

_METADATA = MetadataRequest_v1.API_KEY
_ANSWERS = {
    18: ApiVersionResponse_v0(0, [(18, 0, 0), (_METADATA, 1, 1), (10, 0, 1), (22, 0, 0)]),
    _METADATA: MetadataResponse_v1([], -1, []),
}


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            request = await reader.readexactly(*struct.unpack(">i", await reader.readexactly(4)))
            key, _, correlation = struct.unpack(">hhi", request[:8])
            answer = struct.pack(">i", correlation) + _ANSWERS[key].encode()
            writer.write(struct.pack(">i", len(answer)) + answer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


@pytest.fixture
async def fenced() -> AsyncIterator[KafkaSettings]:
    """Where a cluster answers that has no broker now."""
    async with await asyncio.start_server(_answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield KafkaSettings.model_validate({"bootstrap_servers": f"127.0.0.1:{port}"})


async def test_producer_without_a_broker_can_be_started_again(fenced: KafkaSettings) -> None:
    producer = make_producer(fenced, "transactional", "test")
    with pytest.raises(KafkaConnectionError, match="names no broker"):
        await start(producer)
    await stop(producer)


async def test_a_mistake_of_ours_stays_one(fenced: KafkaSettings) -> None:
    producer = make_producer(fenced, None, "test")
    with pytest.raises(AssertionError, match="same loop"):
        await asyncio.to_thread(asyncio.run, start(producer))
    await stop(producer)
