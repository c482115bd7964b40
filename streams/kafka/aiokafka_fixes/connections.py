"""The connections of aiokafka's clients. Three defects; no upstream issue of the first two is known.

1. It has no stop with a time limit: a producer that cannot reach its broker tries to send for ever. A start or stop
   that is cancelled forgets the connection that it uses. Delete ``cut_off`` if ``stop()`` takes a timeout and ends
   every connection and task (``tests/kafka/test_opened.py``).
2. It takes a cluster that names no broker for a bug of its caller, and fails an assertion. A broker that missed its own
   heartbeats names no broker. Delete ``no_broker_is_an_error`` if ``tests/streams/kafka/test_clients.py`` passes
   without it.
3. It takes an error of the group's coordinator for a group that has committed nothing, because it looks for errors at
   the partitions only. librdkafka had the same defect (its issue 5586). Delete ``raise_offset_errors`` if
   ``tests/contract/test_aiokafka.py`` finds that aiokafka raises the error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError, ProducerClosed, for_code
from aiokafka.producer.message_accumulator import MessageAccumulator
from aiokafka.protocol.commit import OffsetFetchRequest

END_SECONDS = 1.0  # the longest time for a start or stop to end by itself after its caller was cancelled


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


_NO_BROKER = "Did we not perform bootstrap?"


@contextmanager
def no_broker_is_an_error() -> Iterator[None]:
    """Raises KafkaConnectionError in place of aiokafka's assertion."""
    try:
        yield
    except AssertionError as error:
        if str(error) != _NO_BROKER:
            raise
        raise KafkaConnectionError(f"the cluster names no broker now ({error})") from error


def raise_offset_errors(network: AIOKafkaClient) -> None:
    """Has requests for a group's offsets raise the error of their answer."""
    send = network.send

    async def checked(node_id: int, request: object, **group: Any) -> Any:
        answer = await send(node_id, request, **group)
        if isinstance(request, OffsetFetchRequest) and answer.error_code:
            raise for_code(answer.error_code)(f"broker {node_id} can't tell the group's offsets")
        return answer

    network.send = checked
