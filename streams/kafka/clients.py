"""The options of all Kafka clients, their start and stop, and the names with the topic prefix."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError, KafkaError, NodeNotReadyError, ProducerClosed, for_code
from aiokafka.producer.message_accumulator import MessageAccumulator
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.transaction import TxnOffsetCommitRequest

from streams.kafka.decompression import limit_unpacking
from streams.kafka.settings import KafkaSettings
from streams.topology import DEAD_LETTER_BYTES, MIB

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer, AIOKafkaProducer)
_END_SECONDS = 1.0
"""The longest time for a start or stop to end by itself after its caller was cancelled."""
_NO_BROKER = "Did we not perform bootstrap?"
"""The message of aiokafka's assertion if the cluster names no broker."""
_POLL_RECORDS = 500
"""A small batch may contain millions of records, which must not be in memory at the same time."""

MAX_REQUEST_BYTES = 64 * MIB
"""The largest request of a producer; it counts bytes before compression."""


class TlsFileError(OSError):
    """The file of the setting ``kafka.<name>`` can't be used; the message names the file and the variable."""

    def __init__(self, name: str, file: Path | None, error: OSError) -> None:
        password = "" if name == "ssl_cafile" else ", __SSL_PASSWORD"
        super().__init__(f"{file} can't be used ({error.strerror or error}); see ASSAY_KAFKA__{name.upper()}{password}")


def connection(settings: KafkaSettings) -> dict[str, Any]:
    """The options that every client needs to reach the cluster. Raises TlsFileError."""
    options: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "security_protocol": settings.security_protocol,
    }
    if "SSL" in settings.security_protocol:
        options["ssl_context"] = _tls(settings)
    if "SASL" in settings.security_protocol:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.sasl_username
        options["sasl_plain_password"] = settings.sasl_password.get_secret_value()
    return options


def _tls(settings: KafkaSettings) -> ssl.SSLContext:
    name, file = "ssl_cafile", settings.ssl_cafile
    try:
        context = ssl.create_default_context(cafile=file)
        if settings.ssl_certfile is not None:
            name, file = "ssl_certfile", settings.ssl_certfile
            file.open().close()  # ssl does not say which of its files is missing
            if settings.ssl_keyfile is not None:
                name, file = "ssl_keyfile", settings.ssl_keyfile
                file.open().close()
            # A password is always given: ssl would ask for a missing one on the terminal.
            context.load_cert_chain(
                settings.ssl_certfile, settings.ssl_keyfile, settings.ssl_password.get_secret_value()
            )
    except OSError as error:
        raise TlsFileError(name, file, error) from error
    return context


class Grouped(Protocol):
    """A handler, a retry topic, or a subscription: anything with a consumer group."""

    @property
    def group(self) -> str:
        """The group's name before the prefix."""
        ...


def group_of(settings: KafkaSettings, reader: Grouped) -> str:
    """The consumer group's name on the cluster."""
    return f"{settings.topic_prefix}{reader.group}"


class SingleEndProducer(AIOKafkaProducer):  # type: ignore[misc] # aiokafka is not typed
    """A producer that sends the offsets and the end of a transaction once, and nothing outside of a transaction.

    aiokafka sends TxnOffsetCommit and EndTxn again if it gets no answer. The first one may arrive after the second one,
    and the broker can't tell it from a request of the producer's next transaction: it would set the group's offset
    back, or end that transaction. Here, the transaction fails instead. A new producer then gets a new epoch, and the
    broker refuses the late request.

    If the broker refuses to add partitions to a transaction, aiokafka sends their records all the same. While the end
    of the previous transaction is not written to such a partition, the broker takes them for records of that one, and
    commits them. Here, they fail without being sent.
    """

    def __init__(self, **options: Any) -> None:
        """Takes the options of a producer."""
        super().__init__(**options)
        end, send = self._sender._do_txn_commit, self.client.send
        refuse = self._txn_manager.error_transaction
        batches, fail_all = self._message_accumulator, self._message_accumulator.fail_all

        async def end_once(result: object) -> None:
            await end(result)
            if self._txn_manager.needs_transaction_commit() is not None:
                self._txn_manager.fatal_error(KafkaError("no confirmation of the end of the transaction"))

        async def send_once(node_id: int, request: object, **group: Any) -> object:
            try:
                return await send(node_id, request, **group)
            except NodeNotReadyError:
                raise  # it was not sent
            except KafkaError as error:
                if isinstance(request, TxnOffsetCommitRequest):
                    self._txn_manager.fatal_error(KafkaError(f"no answer to the offsets of the transaction: {error}"))
                raise

        def refuse_all(error: Exception) -> None:
            refuse(error)
            self._fail_unsent(error)

        def fail_held(error: Exception) -> None:
            # aiokafka expects a failed batch among the pending ones, but one that waits to be sent again is not there.
            for again in batches._batches.values():
                batches._pending_batches.update(again)
            fail_all(error)

        self._sender._do_txn_commit = end_once
        self.client.send = send_once
        batches.fail_all = fail_held
        self._txn_manager.error_transaction = refuse_all

    def _fail_unsent(self, error: Exception) -> None:
        """Fails the records that were never sent. Others belong to partitions that were added before."""
        waiting = self._message_accumulator._batches
        for partition, batches in list(waiting.items()):
            for batch in [batch for batch in batches if not batch.retry_count]:
                batches.remove(batch)
                batch.failure(error)
                batch._drain_waiter.exception()  # asyncio warns about errors that are not retrieved
            if not batches:
                del waiting[partition]


def make_producer(settings: KafkaSettings, transactional_id: str | None, client_id: str) -> AIOKafkaProducer:
    """An idempotent producer, not started; transactional if it has an id."""
    return SingleEndProducer(**producer_options(settings, transactional_id, client_id))


def producer_options(settings: KafkaSettings, transactional_id: str | None, client_id: str) -> dict[str, Any]:
    """The options of every producer of Assay."""
    return connection(settings) | {
        "client_id": client_id,
        "transactional_id": transactional_id,
        "transaction_timeout_ms": int(settings.transaction_timeout_seconds * 1000),
        "enable_idempotence": True,
        "acks": "all",
        "compression_type": "zstd",
        "max_batch_size": MIB,
        "max_request_size": MAX_REQUEST_BYTES,
        "request_timeout_ms": int(settings.transaction_timeout_seconds * 1000),
    }


def make_reader(
    settings: KafkaSettings,
    *topics: str,
    client_id: str = "assay",
    uncommitted: bool = False,
    fetch_wait_ms: int = 500,
    fetch_bytes: int = DEAD_LETTER_BYTES + MIB,
) -> AIOKafkaConsumer:
    """A consumer without a group, not started.

    Args:
        settings: The cluster, and the limit of an unpacked batch.
        topics: Subscribed topics.
        client_id: Its name in the broker's log.
        uncommitted: Whether it also reads records of transactions that are open or aborted.
        fetch_wait_ms: The longest time for which a broker waits for new records; other requests wait as well.
        fetch_bytes: The most that a broker sends of a partition at once, but at least one whole batch.
    """
    limit_unpacking(settings.max_unpacked_bytes)
    return AIOKafkaConsumer(
        *topics,
        **connection(settings),
        client_id=client_id,
        isolation_level="read_uncommitted" if uncommitted else "read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=fetch_wait_ms,
        max_partition_fetch_bytes=fetch_bytes,
        max_poll_records=_POLL_RECORDS,
    )


def make_admin(settings: KafkaSettings) -> AIOKafkaAdminClient:
    """An admin client, not started."""
    admin = AIOKafkaAdminClient(**connection(settings), client_id="assay-admin")
    raise_offset_errors(admin._client)
    return admin


def raise_offset_errors(network: AIOKafkaClient) -> None:
    """Has requests for a group's offsets raise the error of their answer.

    A broker that does not coordinate the group answers with an error and without partitions. aiokafka looks for errors
    at the partitions only, and takes this for a group that has committed nothing.
    """
    send = network.send

    async def checked(node_id: int, request: object, **group: Any) -> Any:
        answer = await send(node_id, request, **group)
        if isinstance(request, OffsetFetchRequest) and answer.error_code:
            raise for_code(answer.error_code)(f"broker {node_id} can't tell the group's offsets")
        return answer

    network.send = checked


@asynccontextmanager
async def opened(client: Client) -> AsyncIterator[Client]:
    """Starts a client, and stops it at the end of the block; also if its start fails or is cancelled.

    After an error the stop is short, because a producer would retry for ever if the cluster is silent.

    Raises:
        KafkaError: The cluster can't be reached.
    """
    try:
        await start(client)
        yield client
    except BaseException:
        with contextlib.suppress(Exception):
            await stop(client, _END_SECONDS)
        raise
    await stop(client)


async def start(client: Client) -> None:
    """Starts a client. The caller stops it, also if this fails or is cancelled. Raises KafkaError."""
    await started(client.start())


async def started(start: Coroutine[Any, Any, None]) -> None:
    """Waits for the start of a client. Raises KafkaError if the cluster can't be reached, or names no broker yet.

    If this is cancelled, the start gets a second to end by itself: aiokafka, cancelled while it asks for the brokers,
    forgets the connection that it uses.
    """
    starting = asyncio.ensure_future(start)
    try:
        await _ended(starting)
    except asyncio.CancelledError:
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await starting
        raise
    try:
        starting.result()
    except AssertionError as error:
        if str(error) != _NO_BROKER:
            raise
        # A broker that missed its own heartbeats names no broker; aiokafka takes that for a bug of its caller.
        raise KafkaConnectionError(f"the cluster names no broker now ({error})") from error


async def stop(client: Client, seconds: float | None = None) -> None:
    """Stops a client. Closes its connections by force if the stop takes too long, fails or is cancelled.

    A forced stop is not an error here: the futures of the records that a producer still held report it.

    Args:
        client: Started, not started, or half started.
        seconds: The longest time for a producer to send its records and leave; None for no limit.

    Raises:
        KafkaError: From aiokafka's own stop.
    """
    stopping = asyncio.ensure_future(client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())
    try:
        await _ended(stopping, seconds)
    finally:
        if not stopping.done() or stopping.cancelled() or stopping.exception() is not None:
            await _cut_off(client, stopping)
    if not stopping.cancelled():
        stopping.result()


async def _ended(task: asyncio.Task[None], seconds: float | None = None) -> None:
    """Waits until the task is done or the time is up; if this is cancelled, another second."""
    try:
        await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_END_SECONDS)
        raise


async def _cut_off(client: Client, stopping: asyncio.Task[None]) -> None:
    """Ends the connections of a client, and the tasks that would try to send for ever."""
    sends = isinstance(client, AIOKafkaProducer)
    network = client.client if sends else client._client
    sender = client._sender.sender_task if sends else None
    tasks = [task for task in (stopping, network._sync_task, sender) if task is not None]
    try:
        _end(network, tasks)
        # The sender waits for its requests, which have just failed.
        await asyncio.wait(tasks, timeout=_END_SECONDS)
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
