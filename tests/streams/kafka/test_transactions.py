"""The behaviour of a writer apart from the order of calls, which ``pipeline/test_commit.py`` states."""

import asyncio
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
from aiokafka.protocol.commit import OffsetFetchResponse_v3

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
