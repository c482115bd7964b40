"""A proxy that can take one request of a Kafka client over the loss of its connection, and deliver it late."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Mapping
from typing import Any

import aiokafka.client
from aiokafka.protocol.transaction import EndTxnRequest_v0

from tests.proxy import Proxy

_LENGTH = struct.Struct(">i")


class CommitTrap:
    """Takes one commit of a transaction from the connections of a proxy, or of several, and resets its connection."""

    def __init__(self) -> None:
        """Takes nothing yet."""
        self._waits = self._delivers = False
        self._taken: asyncio.Future[tuple[bytes, tuple[str, int]]] | None = None

    async def hold(self, seconds: float, deliver: bool = False) -> bool:
        """Takes the next commit; whether there was one.

        Args:
            seconds: For so long it waits for one.
            deliver: Whether the broker gets the commit before the reset, so that only its answer is lost.
        """
        self._taken = asyncio.get_running_loop().create_future()
        self._waits, self._delivers = True, deliver
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._taken)
        self._waits = False
        return self._taken.done()

    async def deliver(self) -> None:
        """Sends the commit that was held to its broker, and waits for the answer."""
        assert self._taken is not None
        await _deliver(*self._taken.result())

    async def takes(self, request: bytes, to: tuple[str, int]) -> bool:
        """Whether it takes a request to a broker."""
        if not self._waits or not _commits(request) or self._taken is None:
            return False
        self._waits = False
        if self._delivers:
            await _deliver(request, to)
        self._taken.set_result((request, to))
        return True


class KafkaProxy(Proxy):
    """A proxy before a broker."""

    def __init__(self, port: int, host: str = "127.0.0.1", trap: CommitTrap | None = None) -> None:
        """Takes where the broker listens, and a trap if several proxies share one."""
        super().__init__(port, host)
        self.trap = trap or CommitTrap()

    async def _pass_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await reader.readexactly(_LENGTH.size)
                request = await reader.readexactly(_LENGTH.unpack(size)[0])
                if await self.trap.takes(request, self._to):
                    self.resets += 1
                    return
                await self._send(size + request, writer)


async def _deliver(request: bytes, to: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*to)
    writer.write(_LENGTH.pack(len(request)) + request)
    await reader.readexactly(_LENGTH.size)
    writer.close()


def _commits(request: bytes) -> bool:
    """Whether a request ends a transaction by a commit; the last byte of an EndTxn says so."""
    return int.from_bytes(request[:2]) == EndTxnRequest_v0.API_KEY and request[-1] == 1


def connect_through(proxy_ports: Mapping[int, int], only_consumers: bool) -> None:
    """Has connections to brokers go through proxies on this machine: all, or all but the producers'.

    Args:
        proxy_ports: For each broker's port that of its proxy.
        only_consumers: Whether producers connect directly.
    """
    real = aiokafka.client.create_conn

    async def create_conn(host: str, port: int, **options: Any) -> object:
        direct = only_consumers and str(options.get("client_id")).startswith("assay.")
        return await real(host, port if direct else proxy_ports[port], **options)

    aiokafka.client.create_conn = create_conn
