"""The options of all Kafka clients, their start and stop, and the names with the topic prefix."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from streams.kafka.aiokafka_fixes.batches import limit_unpacking
from streams.kafka.aiokafka_fixes.connections import (
    END_SECONDS,
    cut_off,
    ended,
    no_broker_is_an_error,
    raise_offset_errors,
)
from streams.kafka.aiokafka_fixes.producers import SingleEndProducer
from streams.kafka.settings import KafkaSettings
from streams.topology import DEAD_LETTER_BYTES, MIB

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer, AIOKafkaProducer)
_POLL_RECORDS = 500  # a small batch may contain millions of records, which must not be in memory at the same time

MAX_REQUEST_BYTES = 64 * MIB  # the largest request of a producer; it counts bytes before compression


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


@asynccontextmanager
async def opened(client: Client) -> AsyncIterator[Client]:
    """Starts a client, and stops it at the end of the block; also if its start fails or is cancelled.

    After an error the stop is short, because a producer would retry for ever if the cluster is silent.
    Raises KafkaError.
    """
    try:
        await start(client)
        yield client
    except BaseException:
        with contextlib.suppress(Exception):
            await stop(client, END_SECONDS)
        raise
    await stop(client)


async def start(client: Client) -> None:
    """Starts a client. The caller stops it, also if this fails or is cancelled. Raises KafkaError."""
    await started(client.start())


async def started(start: Coroutine[Any, Any, None]) -> None:
    """Waits for the start of a client. Raises KafkaError if the cluster can't be reached, or names no broker yet.

    If this is cancelled, the start gets a second to end by itself.
    """
    starting = asyncio.ensure_future(start)
    try:
        await ended(starting)
    except asyncio.CancelledError:
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await starting
        raise
    with no_broker_is_an_error():
        starting.result()


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
        await ended(stopping, seconds)
    finally:
        if not stopping.done() or stopping.cancelled() or stopping.exception() is not None:
            await cut_off(client, stopping)
    if not stopping.cancelled():
        stopping.result()
