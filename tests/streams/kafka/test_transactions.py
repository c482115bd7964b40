"""The behaviour of a writer apart from the order of calls, which ``pipeline/test_commit.py`` states."""

import asyncio
import struct
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    ProducerClosed,
    ProducerFenced,
)
from aiokafka.protocol.admin import ApiVersionResponse_v0
from aiokafka.protocol.commit import OffsetFetchResponse_v3
from aiokafka.protocol.metadata import MetadataRequest_v1, MetadataResponse_v1

from streams.kafka.clients import make_producer, start, stop
from streams.kafka.settings import KafkaSettings
from streams.kafka.transactions import RecordWriter
from tests.streams.pipeline.test_commit import BROKEN, ONE, PARTITION, Client


async def started(client: Any) -> RecordWriter:
    writer = RecordWriter(lambda: client, 5.0)
    await writer.start()
    client.calls.clear()
    return writer


@pytest.mark.parametrize("step", ["send t.one.v1", "confirmed t.one.v1"])
async def test_single_use_writer_aborts_its_transaction_after_an_error(step: str) -> None:
    client = Client(fails={step: BROKEN})
    writer = await started(client)
    with pytest.raises(KafkaError, match="not now"):
        await writer.write("t.", [ONE], abort_on_error=True)
    assert client.steps[-1] == "abort"
    client.calls.clear()
    client.fails[step] = BROKEN
    with pytest.raises(KafkaError, match="not now"):
        await writer.write("t.", [ONE])
    assert "abort" not in client.steps


async def test_a_fenced_writer_says_so() -> None:
    client: Any = Client()
    writer = await started(client)
    sender = asyncio.get_running_loop().create_future()
    client._sender = SimpleNamespace(_sender_task=sender)
    assert writer.sender_error is None
    sender.set_exception(ProducerFenced())
    assert isinstance(writer.sender_error, ProducerFenced)
    with pytest.raises(ProducerClosed) as closed:
        await writer.write("t.", [ONE])
    assert isinstance(closed.value.__cause__, ProducerFenced)
    assert client.calls == []


async def test_a_lost_connection_to_the_coordinator_is_an_error() -> None:
    client: Any = Client()
    writer = await started(client)
    client._sender = SimpleNamespace(_coordinators={})
    with pytest.raises(KafkaConnectionError):
        await writer._await_coordinator("g", PARTITION)


async def test_a_refused_read_of_an_offset_is_an_error() -> None:
    client: Any = Client(answers=[OffsetFetchResponse_v3(0, [], GroupAuthorizationFailedError.errno)])
    writer = await started(client)
    with pytest.raises(GroupAuthorizationFailedError):
        await writer.start_and_read_offset("g", PARTITION)


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
