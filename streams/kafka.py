"""How Assay speaks to Kafka: the options of clients, in one place, and the names that bear the prefix."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from streams.kafka_settings import KafkaSettings
from streams.topology import DEAD_LETTER_BYTES, MIB

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer, AIOKafkaProducer)
_END_SECONDS = 1.0
"""How long a start or stop that nobody waits for any more may take to end by itself."""

MAX_REQUEST_BYTES = 64 * MIB
"""What a producer takes; it counts bytes before compression."""


def connection(settings: KafkaSettings) -> dict[str, Any]:
    """The options that every client needs to reach the cluster."""
    options: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "security_protocol": settings.security_protocol,
    }
    if "SSL" in settings.security_protocol:
        options["ssl_context"] = ssl.create_default_context(cafile=settings.ssl_cafile)
    if "SASL" in settings.security_protocol:
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.sasl_username
        options["sasl_plain_password"] = settings.sasl_password.get_secret_value()
    return options


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
) -> AIOKafkaConsumer:
    """A consumer without a group, not started; it sees committed records only unless told otherwise.

    For so long as a broker may wait for new records, the consumer's other questions to it wait as well.
    """
    return AIOKafkaConsumer(
        *topics,
        **connection(settings),
        client_id=client_id,
        isolation_level="read_uncommitted" if uncommitted else "read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=fetch_wait_ms,
        max_partition_fetch_bytes=DEAD_LETTER_BYTES + MIB,
    )


def make_admin(settings: KafkaSettings) -> AIOKafkaAdminClient:
    """An admin client, not started."""
    return AIOKafkaAdminClient(**connection(settings), client_id="assay-admin")


@asynccontextmanager
async def opened(client: Client) -> AsyncIterator[Client]:
    """A client that is started, and closed however it goes: also where its start fails or is cancelled.

    Raises:
        KafkaError: The cluster can't be reached.
    """
    try:
        await start(client)
        yield client
    finally:
        await _to_its_end(client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


async def start(client: Client) -> None:
    """Starts a client that whoever made it stops, also where this fails or is cancelled.

    Raises:
        KafkaError: The cluster can't be reached.
    """
    await _to_its_end(client.start())
    # A task of aiokafka's that has not yet begun would cancel whoever stops the consumer.
    await asyncio.sleep(0)


async def _to_its_end(step: Coroutine[Any, Any, None]) -> None:
    """A cancellation waits for the step, unless that is long in coming: aiokafka would leave open what it connects."""
    task = asyncio.ensure_future(step)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_END_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        raise
