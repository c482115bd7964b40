"""A commit that reaches the broker when the next transaction of its id is open."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiokafka.client
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.kafka.aiokafka_fixes.producers import SingleEndProducer
from streams.kafka.clients import producer_options
from tests.kafka.installation import CRAWLED, Installation
from tests.kafka_proxy import KafkaProxy, connect_through


@pytest.fixture
async def proxy(kafka: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KafkaProxy]:
    """A proxy that all clients use."""
    host, port = kafka.rsplit(":", 1)
    monkeypatch.setattr("aiokafka.client.create_conn", aiokafka.client.create_conn)
    async with KafkaProxy(int(port), host) as made:
        connect_through({int(port): made.port}, only_consumers=False)
        yield made


async def write_with_late_commit(assay: Installation, proxy: KafkaProxy, kind: type[AIOKafkaProducer]) -> list[Any]:
    """Commits one record, and sends another one in a transaction that is aborted.

    Returns:
        The records that are committed, and the error of the commit.
    """
    options = producer_options(assay.settings.kafka, f"{assay.prefix}late", "late")
    producer = kind(**options)
    errors: list[Any] = []
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(assay.prefix + CRAWLED, b"committed", partition=0)
    committing = asyncio.create_task(producer.commit_transaction())
    assert await proxy.trap.hold(20)
    try:
        await committing
    except KafkaError as error:
        errors.append(str(error))
        await producer.stop()
        producer = kind(**options)
        await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(assay.prefix + CRAWLED, b"aborted", partition=0)
    await proxy.trap.deliver()
    with contextlib.suppress(KafkaError):
        await producer.abort_transaction()
    await producer.stop()
    return [record.value for record in await assay.read(CRAWLED)] + errors


async def test_late_commit_of_a_replaced_producer_is_refused(assay: Installation, proxy: KafkaProxy) -> None:
    """The outcome of its commit is unknown, so a new producer follows, whose epoch the late commit does not have."""
    assert await write_with_late_commit(assay, proxy, SingleEndProducer) == [
        "KafkaError: no confirmation of the end of the transaction"
    ]
