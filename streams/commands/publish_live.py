"""Records as live traffic: sent as they come, counted as the cluster acknowledges them."""

from __future__ import annotations

import asyncio
import contextlib

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from streams.codec import OutputRecord
from streams.pipeline.commit import stop_producer

_IN_FLIGHT = 200


class Sending:
    """Sends with a bounded number of records under way, and counts those that the cluster has acknowledged.

    An idempotent producer tries for ever; here it is given up when nothing is acknowledged for ``patience`` seconds.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str, patience: float) -> None:
        """Takes a producer that is started, and what stands before topics."""
        self._producer = producer
        self._prefix = prefix
        self._patience = patience
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self.sent = 0
        self.acknowledged = 0
        self.failure: BaseException | None = None

    async def send(self, record: OutputRecord) -> None:
        """Sends a record once there is room; raises where an earlier one failed."""
        name, headers = self._prefix + record.topic, list(record.headers)
        try:
            async with asyncio.timeout(self._patience):
                await self._room.acquire()
                if self.failure is not None:
                    raise self.failure
                future = await self._producer.send(name, value=record.value, key=record.key, headers=headers)
        except TimeoutError:
            raise self._given_up() from None
        self.sent += 1
        future.add_done_callback(self._answered)

    async def stop(self) -> None:
        """Waits for what is under way, as long as some of it is acknowledged, and closes the producer."""
        before = -1
        while self.failure is None and before < self.acknowledged:
            before = self.acknowledged
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._producer.flush()
                    break
        else:
            self.failure = self.failure or self._given_up()
        await stop_producer(self._producer, self._patience if self.failure is None else 1.0)

    def _given_up(self) -> KafkaError:
        return KafkaTimeoutError(f"nothing was acknowledged for {self._patience:g} s")

    def _answered(self, future: asyncio.Future[object]) -> None:
        self._room.release()
        if future.cancelled():
            return
        if (error := future.exception()) is None:
            self.acknowledged += 1
        else:
            self.failure = self.failure or error
