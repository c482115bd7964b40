"""Sends live traffic: records as they are read, counted as the cluster acknowledges them."""

from __future__ import annotations

import asyncio
import contextlib

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from streams.kafka.transactions import stop_producer
from streams.publish.walk import Position
from streams.topology.codec import OutputRecord

_IN_FLIGHT = 200


class Sending:
    """Sends with a bounded number of records in flight, and counts the acknowledged ones.

    An idempotent producer retries for ever; this one fails if nothing is acknowledged for ``patience`` seconds.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str, patience: float) -> None:
        self._producer = producer
        self._prefix = prefix
        self._patience = patience
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self._read = Position()
        self.acknowledged = 0
        self.failure: BaseException | None = None

    @property
    def committed(self) -> Position:
        """The position, with the number of acknowledged records."""
        return self._read.model_copy(update={"published": self.acknowledged})

    async def passed(self, record: OutputRecord | None, position: Position) -> None:
        """Sends the record of an entry, if it has one, once there is room; raises if an earlier one failed."""
        self._read = position
        if record is None:
            return
        name, headers = self._prefix + record.topic, list(record.headers)
        try:
            async with asyncio.timeout(self._patience):
                await self._room.acquire()
                if self.failure is not None:
                    raise self.failure
                future = await self._producer.send(name, value=record.value, key=record.key, headers=headers)
        except TimeoutError:
            raise self._given_up() from None
        future.add_done_callback(self._answered)

    async def stop(self) -> None:
        """Waits for records in flight while some of them are acknowledged, and closes the producer."""
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
