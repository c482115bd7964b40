"""Commit stages with one bug each, to show that the faults find them. The product does not contain these bugs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import uuid4

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from streams.codec import OutputRecord
from streams.kafka.transactions import send_all
from streams.pipeline.commit import AtLeastOnce, ExactlyOnce, ProducerFactory, _committed_offset


class OneIdForTheProcess(ExactlyOnce):
    """One transactional producer for all partitions of a process: a lost partition is not fenced."""

    _shared: ClassVar[dict[str, AIOKafkaProducer]] = {}
    _turn: ClassVar[asyncio.Lock] = asyncio.Lock()

    def __init__(
        self,
        partition: TopicPartition,
        group: str,
        topic_prefix: str,
        consumer: Any,
        producers: ProducerFactory,
        deadline_seconds: float,
    ) -> None:
        super().__init__(partition, group, topic_prefix, consumer, producers, deadline_seconds)
        self._producers = producers

    async def open(self) -> int | None:
        async with self._turn:
            if "it" not in self._shared:
                self._shared["it"] = self._producers(f"{self._prefix}{uuid4()}")
                await self._shared["it"].start()
        return await _committed_offset(self._consumer, self._partition, 8)

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        async with self._turn:
            producer = self._shared["it"]
            await producer.begin_transaction()
            await send_all(producer, self._prefix, outputs)
            await producer.send_offsets_to_transaction(
                {self._partition: OffsetAndMetadata(next_offset, "")}, self._group
            )
            await producer.commit_transaction()


class SendsNotAwaited(ExactlyOnce):
    """Commits without looking whether the records were taken."""

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        producer = self._writer._running()
        await producer.begin_transaction()
        for record in outputs:
            await producer.send(
                f"{self._prefix}{record.topic}", value=record.value, key=record.key, headers=list(record.headers)
            )
        offsets = {self._partition: OffsetAndMetadata(next_offset, "")}
        await producer.send_offsets_to_transaction(offsets, self._group)
        await producer.commit_transaction()


class ReadBeforeTheFence(ExactlyOnce):
    """Reads the committed offset while the previous owner may still commit."""

    async def open(self) -> int | None:
        committed = await _committed_offset(self._consumer, self._partition, 8)
        print("read", flush=True)
        await asyncio.sleep(4)
        await self._writer.start()
        return committed


class CommitOfPositions(ExactlyOnce):
    """Commits what was taken in, not what is finished."""

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        position = self._consumer.wanted.get(self._partition, next_offset)
        await super().commit(outputs, max(position, next_offset))


class OffsetBeforeOutputs(AtLeastOnce):
    """Commits the offset of inputs whose outputs are not sent yet."""

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        await self._consumer.commit({self._partition: next_offset})
        await self._writer.send(self._prefix, outputs)


BUGS: dict[str, type[ExactlyOnce | AtLeastOnce]] = {
    "one_id": OneIdForTheProcess,
    "not_awaited": SendsNotAwaited,
    "read_before_fence": ReadBeforeTheFence,
    "positions": CommitOfPositions,
    "offset_before_outputs": OffsetBeforeOutputs,
}
