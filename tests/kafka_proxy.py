"""A proxy that can hold one request of a Kafka client over the loss of its connection, and deliver it late."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import Any

import aiokafka.client
from aiokafka.protocol.transaction import EndTxnRequest_v0

from tests.proxy import Proxy

_LENGTH = struct.Struct(">i")


class KafkaProxy(Proxy):
    """A proxy before a broker."""

    _held: bytes | None = None
    _holds_next = False

    async def hold_commit(self, seconds: float) -> bool:
        """Holds the next request that commits a transaction, and resets its connection; whether there was one."""
        self._held, self._holds_next = None, True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._held is None:  # noqa: ASYNC110 - a connection sets it
                    await asyncio.sleep(0.01)
        self._holds_next = False
        return self._held is not None

    async def deliver_held(self) -> None:
        """Sends the request that was held to the broker, and waits for the answer."""
        assert self._held is not None
        reader, writer = await asyncio.open_connection(*self._to)
        writer.write(_LENGTH.pack(len(self._held)) + self._held)
        await reader.readexactly(_LENGTH.size)
        writer.close()

    async def _pass_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await reader.readexactly(_LENGTH.size)
                request = await reader.readexactly(_LENGTH.unpack(size)[0])
                if self._holds_next and _commits(request):
                    self._held, self._holds_next = request, False
                    self.resets += 1
                    return
                await self._send(size + request, writer)


def _commits(request: bytes) -> bool:
    """Whether a request ends a transaction by a commit; the last byte of an EndTxn says so."""
    return int.from_bytes(request[:2]) == EndTxnRequest_v0.API_KEY and request[-1] == 1


def connect_through(proxy_port: int, only_consumers: bool) -> None:
    """Has connections to the broker go through a proxy on this machine: all, or all but the producers'."""
    real = aiokafka.client.create_conn

    async def create_conn(host: str, port: int, **options: Any) -> object:
        direct = only_consumers and str(options.get("client_id")).startswith("assay.")
        return await real(host, port if direct else proxy_port, **options)

    aiokafka.client.create_conn = create_conn
