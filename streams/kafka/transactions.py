"""Writes records and offsets in Kafka transactions, for the pipeline, backfills, replay plans and redrives.

The steps of one writer, in order:

1. ``start`` fences every other producer of the transactional id and ends the transactions that they left open.
2. ``start_and_read_offset`` also reads the group's committed offset, where and when it is current.
3. ``write`` begins a transaction, sends, awaits every send, adds the offsets and commits, within one deadline. aiokafka
   commits although a send failed, so every send is awaited.
4. After an error of ``write`` it is unknown whether Kafka has committed. The writer must be stopped. The next ``start``
   resolves the transaction, and the committed offset says how.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    IllegalOperation,
    InvalidProducerEpoch,
    KafkaConnectionError,
    KafkaError,
    ProducerClosed,
    ProducerFenced,
    for_code,
)
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import start, stop
from streams.topology.codec import OutputRecord

log = structlog.get_logger(__name__)

RECORDS_OF_A_PRODUCER = 1_000_000_000
"""A producer is replaced after this number: aiokafka's sequence numbers turn negative after 2**31 on a partition."""
FENCED = (ProducerFenced, InvalidProducerEpoch)  # a later producer has the transactional id
IN_DOUBT = (KafkaError, TimeoutError, OSError, AssertionError, IllegalOperation, KeyError)
"""Errors of a write that aiokafka raises. After any of them the group's committed offset decides what happened.

An operation is illegal if the producer was fenced between two of them.
"""
_ABORT_SECONDS = 1.0
_READ_AGAIN_SECONDS = 0.2


class RecordWriter:
    """A producer that can be replaced: each ``start`` makes a new one."""

    def __init__(self, make: Callable[[], AIOKafkaProducer], deadline_seconds: float) -> None:
        """Starts nothing; ``make`` makes a producer that is not started. The deadline bounds every step."""
        self._make = make
        self._producer: AIOKafkaProducer | None = None
        self._sent = 0
        self.deadline_seconds = deadline_seconds

    @property
    def needs_renewal(self) -> bool:
        """Whether the producer has used up most of its sequence numbers."""
        return self._sent >= RECORDS_OF_A_PRODUCER

    @property
    def sender_error(self) -> BaseException | None:
        """Why aiokafka's sender has ended; None while it runs. Only there does a fenced producer report the fence."""
        task = getattr(getattr(self._producer, "_sender", None), "_sender_task", None)
        if task is None or not task.done():
            return None
        error: BaseException | None = None if task.cancelled() else task.exception()
        return error or ProducerClosed("the producer's sender has stopped")

    async def start(self) -> None:
        """Starts a new producer. Raises KafkaError, TimeoutError; the writer must then be stopped."""
        await self.stop()
        self._producer = self._make()
        self._sent = 0
        async with asyncio.timeout(self.deadline_seconds):
            await start(self._producer)

    async def start_and_read_offset(self, group: str, partition: TopicPartition) -> OffsetAndMetadata | None:
        """Starts a new producer, and then reads the group's committed offset; None if it has committed nothing.

        The offset is current only in this order:

        1. Fence: the last commit of the earlier producer could be missed otherwise.
        2. Write an offset of the group, and abort. A coordinator whose broker was killed answers reads before
           everything it has stored is visible: with an offset from seconds ago, or none at all. It answers a write only
           after that. A broker that is cut off from the others also answers reads, and no writes, although another one
           coordinates by then.
        3. Read from the broker that has confirmed the write, over the same connection. A broker that was started in
           between has another connection. After an error, an offset is written again.

        Raises KafkaError, TimeoutError: there is no answer in time; the writer must be stopped.
        """
        await self.start()
        async with asyncio.timeout(self.deadline_seconds):
            while True:
                try:
                    connection = await self._await_coordinator(group, partition)
                    return await _read_offset(connection, group, partition)
                except KafkaError as error:
                    if not error.retriable:
                        raise
                    log.warning("the offset is read again after another write", group=group, error=repr(error))
                await asyncio.sleep(_READ_AGAIN_SECONDS)

    async def _await_coordinator(self, group: str, partition: TopicPartition) -> AIOKafkaConnection:
        """Writes an offset of the group and aborts. Returns the connection to the broker that has confirmed it."""
        producer = self._running()
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({partition: OffsetAndMetadata(0, "")}, group)
        node = producer._sender._coordinators.get(CoordinationType.GROUP)
        connection = producer.client._conns.get((node, ConnectionGroup.COORDINATION))
        await producer.abort_transaction()
        if connection is None:
            raise KafkaConnectionError(f"the connection to the coordinator of {group} was lost")
        return connection

    async def write(
        self,
        prefix: str,
        records: Sequence[OutputRecord],
        group: str = "",
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        abort_on_error: bool = False,
    ) -> None:
        """Writes the records and the group's offsets in one transaction.

        Args:
            prefix: Of the records' topics.
            records: Sent in this order.
            group: The group of the offsets.
            offsets: The next offset for each partition.
            abort_on_error: Aborts at once after an error, for a writer that is not started again. Otherwise readers
                would wait until the broker's time limit.

        Raises:
            KafkaError, TimeoutError, OSError, AssertionError, KeyError: It is unknown whether Kafka has committed.
        """
        producer = self._running()
        async with asyncio.timeout(self.deadline_seconds):
            await producer.begin_transaction()
            try:
                await send_all(producer, prefix, records)
                self._sent += len(records)
                if offsets:
                    await producer.send_offsets_to_transaction(dict(offsets), group)
            except BaseException:
                if abort_on_error:
                    with contextlib.suppress(Exception):
                        await asyncio.wait_for(producer.abort_transaction(), _ABORT_SECONDS)
                raise
            await producer.commit_transaction()

    async def send(self, prefix: str, records: Sequence[OutputRecord]) -> None:
        """Sends the records without a transaction and waits for every confirmation. Raises as ``write``."""
        async with asyncio.timeout(self.deadline_seconds):
            await send_all(self._running(), prefix, records)
            self._sent += len(records)

    async def stop(self, seconds: float | None = None) -> None:
        """Stops the producer within the deadline, or these seconds; never raises."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await stop_producer(producer, self.deadline_seconds if seconds is None else seconds)

    def _running(self) -> AIOKafkaProducer:
        if self._producer is None:
            raise ProducerClosed("the producer is not started")
        # A producer whose sender has ended would let every send wait for the whole deadline.
        if (error := self.sender_error) is not None:
            raise ProducerClosed("the producer's sender has stopped") from error
        return self._producer


async def _read_offset(
    connection: AIOKafkaConnection, group: str, partition: TopicPartition
) -> OffsetAndMetadata | None:
    answer = await connection.send(OffsetFetchRequest(group, [(partition.topic, [partition.partition])]))
    # A broker that does not coordinate the group names no partitions.
    if answer.error_code:
        raise for_code(answer.error_code)(f"the broker can't tell the offsets of {group}")
    [(_, [(_, offset, metadata, code)])] = answer.topics
    if code:
        raise for_code(code)(f"the broker can't tell the offset of {group}")
    return None if offset < 0 else OffsetAndMetadata(offset, metadata)


def transactional_id(group: str, partition: TopicPartition) -> str:
    """The id whose producers fence each other; group and topic carry the prefix already."""
    return f"{group}.{partition.topic}.{partition.partition}"


async def send_all(producer: AIOKafkaProducer, prefix: str, outputs: Sequence[OutputRecord]) -> None:
    """Sends every record and waits until the broker has confirmed each of them."""
    confirmations: list[asyncio.Future[object]] = []
    named: dict[str, str] = {}
    try:
        for record in outputs:
            topic = named.get(record.topic)
            if topic is None:
                topic = named[record.topic] = f"{prefix}{record.topic}"
            confirmations.append(
                await producer.send(
                    topic, value=record.value, key=record.key, partition=record.partition, headers=list(record.headers)
                )
            )
        # One after another: those of a batch arrive at the same time, and a gather costs a callback for each.
        for confirmation in confirmations:
            await confirmation
    except BaseException:
        # The other results are of no use, but asyncio warns about errors that are not retrieved.
        for confirmation in confirmations:
            if not confirmation.cancel() and not confirmation.cancelled():
                confirmation.exception()
        raise


async def stop_producer(producer: AIOKafkaProducer, deadline_seconds: float) -> None:
    """Stops a producer in any state within the deadline; its epoch will be fenced anyway."""
    with contextlib.suppress(KafkaError, OSError, AssertionError):
        await stop(producer, deadline_seconds)
    # A fence leaves errors in aiokafka's own futures; asyncio warns about errors that are not retrieved.
    waiters = [getattr(getattr(producer, "_txn_manager", None), "_transaction_waiter", None)]
    accumulator = getattr(producer, "_message_accumulator", None)
    batches = [*getattr(accumulator, "_batches", {}).values(), getattr(accumulator, "_pending_batches", ())]
    waiters += [getattr(batch, "_drain_waiter", None) for queue in batches for batch in queue]
    for waiter in waiters:
        if isinstance(waiter, asyncio.Future) and waiter.done() and not waiter.cancelled():
            waiter.exception()
