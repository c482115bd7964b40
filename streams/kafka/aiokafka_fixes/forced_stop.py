"""aiokafka has no stop with a time limit: a producer that cannot reach its broker tries to send for ever.

A start or stop that is cancelled forgets the connection that it uses. No upstream issue is known. Delete this file if
``stop()`` takes a timeout and ends every connection and task (``tests/kafka/test_opened.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import ProducerClosed
from aiokafka.producer.message_accumulator import MessageAccumulator

END_SECONDS = 1.0
"""The longest time for a start or stop to end by itself after its caller was cancelled."""


async def ended(task: asyncio.Task[None], seconds: float | None = None) -> None:
    """Waits until the task is done or the time is up; if this is cancelled, another second."""
    try:
        await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=END_SECONDS)
        raise


async def cut_off(
    client: AIOKafkaAdminClient | AIOKafkaConsumer | AIOKafkaProducer, stopping: asyncio.Task[None]
) -> None:
    """Ends the connections of a client, and the tasks that would try to send for ever."""
    sends = isinstance(client, AIOKafkaProducer)
    network = client.client if sends else client._client
    sender = client._sender.sender_task if sends else None
    tasks = [task for task in (stopping, network._sync_task, sender) if task is not None]
    try:
        _end(network, tasks)
        # The sender waits for its requests, which have just failed.
        await asyncio.wait(tasks, timeout=END_SECONDS)
    finally:
        _end(network, tasks)
        if sends:
            _fail_batches(client._message_accumulator)
        await asyncio.gather(*tasks, return_exceptions=True)


def _end(network: AIOKafkaClient, tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for connection in network._conns.values():
        if connection.connected():
            connection._writer.transport.abort()  # without sending what is buffered
        connection.close()


def _fail_batches(accumulator: MessageAccumulator) -> None:
    """Fails every record that was not confirmed, and retrieves the errors; asyncio warns about others."""
    accumulator.fail_all(ProducerClosed())
    for batch in accumulator._pending_batches:
        for future in (batch.future, batch._drain_waiter, *(future for future, _ in batch._msg_futures)):
            if not future.cancelled():
                future.exception()
