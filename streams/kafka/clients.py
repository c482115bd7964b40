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
from aiokafka.errors import KafkaConnectionError, ProducerClosed
from aiokafka.producer.message_accumulator import MessageAccumulator

from streams.kafka.decompression import limit_unpacking
from streams.kafka.settings import KafkaSettings
from streams.topology import DEAD_LETTER_BYTES, MIB

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer, AIOKafkaProducer)
_END_SECONDS = 1.0
"""How long a start or stop that nobody waits for any more may take to end by itself."""
_NO_BROKER = "Did we not perform bootstrap?"
"""What aiokafka asserts where the cluster names no broker."""
_POLL_RECORDS = 500
"""A small batch may hold millions of records, which should not be in memory at the same time."""

MAX_REQUEST_BYTES = 64 * MIB
"""What a producer takes; it counts bytes before compression."""


class TlsFileError(OSError):
    """A certificate or a key can't be used; the message names the file and the variable."""

    def __init__(self, name: str, file: Path | None, error: OSError) -> None:
        """Of the setting ``kafka.<name>``."""
        password = "" if name == "ssl_cafile" else ", __SSL_PASSWORD"
        super().__init__(f"{file} can't be used ({error.strerror or error}); see ASSAY_KAFKA__{name.upper()}{password}")


def connection(settings: KafkaSettings) -> dict[str, Any]:
    """The options that every client needs to reach the cluster.

    Raises:
        TlsFileError: A certificate or a key can't be used.
    """
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
    """What has a consumer group: a handler, or one of its retry topics."""

    @property
    def group(self) -> str:
        """The group's name before the prefix."""
        ...


def group_of(settings: KafkaSettings, reader: Grouped) -> str:
    """The consumer group's name on the cluster."""
    return f"{settings.topic_prefix}{reader.group}"


def make_producer(settings: KafkaSettings, transactional_id: str | None, client_id: str) -> AIOKafkaProducer:
    """An idempotent producer, not started; transactional where it has an id."""
    return AIOKafkaProducer(**producer_options(settings, transactional_id, client_id))


def producer_options(settings: KafkaSettings, transactional_id: str | None, client_id: str) -> dict[str, Any]:
    """The options of every producer of ours."""
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
    """A consumer without a group, not started; it reads committed records only, unless ``uncommitted`` is set.

    Args:
        settings: Where Kafka is, and how much one batch of records may take unpacked.
        topics: What it subscribes to.
        client_id: Its name in the broker's log.
        uncommitted: Whether it also reads records of transactions that are open or aborted.
        fetch_wait_ms: How long a broker may wait for new records. Other requests of the consumer wait as well.
        fetch_bytes: What a broker sends of a partition at once; at least one whole batch, however large it is.
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
    return AIOKafkaAdminClient(**connection(settings), client_id="assay-admin")


@asynccontextmanager
async def opened(client: Client) -> AsyncIterator[Client]:
    """A client that is started, and closed however it goes: also where its start fails or is cancelled.

    After an error nobody waits for long: a producer would try for ever to send what a silent cluster does not take.

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
    """Starts a client that whoever made it stops, also where this fails or is cancelled.

    Raises:
        KafkaError: The cluster can't be reached, or names no broker yet.
    """
    await started(client.start())


async def started(start: Coroutine[Any, Any, None]) -> None:
    """Waits for the start of a client, whoever has made it.

    One that nobody waits for any more may take a second to end by itself: where aiokafka's is cancelled while it asks
    for the brokers, it forgets the connection that it asks by.

    Raises:
        KafkaError: The cluster can't be reached, or names no broker yet.
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
        # A broker that has missed its own heartbeats answers that there is none: to aiokafka a mistake of ours.
        raise KafkaConnectionError(f"the cluster names no broker now ({error})") from error


async def stop(client: Client, seconds: float | None = None) -> None:
    """Stops a client; one whose stop comes to no end in time, or that nobody waits for any more, is cut off.

    So is one whose stop fails or cancels itself half-way. To be cut off is no error: what a producer still held has
    failed then, which the futures of its records tell, and this returns as if all were well.

    Args:
        client: Started or not, or by half.
        seconds: How long it may take to send what it holds and to take its leave; for ever by default.

    Raises:
        KafkaError: What aiokafka's own stop raises.
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
    """Waits until it is done or the time is up; who is cancelled meanwhile, waits a second yet."""
    try:
        await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_END_SECONDS)
        raise


async def _cut_off(client: Client, stopping: asyncio.Task[None]) -> None:
    """Ends what a stop that is given up leaves: connections, and tasks that would try to send for ever."""
    sends = isinstance(client, AIOKafkaProducer)
    network = client.client if sends else client._client
    sender = client._sender.sender_task if sends else None
    tasks = [task for task in (stopping, network._sync_task, sender) if task is not None]
    try:
        _end(network, tasks)
        # The sender waits for its requests, which have failed just now.
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
            connection._writer.transport.abort()  # what is not sent yet never will be
        connection.close()


def _fail_batches(accumulator: MessageAccumulator) -> None:
    """What was not confirmed fails; asyncio complains about errors that nobody looks at, so they are looked at here."""
    batches = accumulator._pending_batches
    for again in accumulator._batches.values():
        batches.update(again)  # where aiokafka looks for a batch that fails, also for one that was to be sent again
    accumulator.fail_all(ProducerClosed())
    for batch in batches:
        for future in (batch.future, batch._drain_waiter, *(future for future, _ in batch._msg_futures)):
            if not future.cancelled():
                future.exception()
