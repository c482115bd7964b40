"""Committers with a bug each, to show that the faults find them. None of this is in the product."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import ClassVar
from uuid import uuid4

from aiokafka import AIOKafkaProducer
from aiokafka.producer.sender import Sender
from aiokafka.structs import OffsetAndMetadata

from streams.codec import OutputRecord
from streams.kafka.transactions import send_all
from streams.pipeline.commit import Committer


class OneIdForTheProcess(Committer):
    """One transactional producer for all partitions of a process: no successor fences it when a partition is lost."""

    _shared: ClassVar[dict[str, AIOKafkaProducer]] = {}
    _turn: ClassVar[asyncio.Lock] = asyncio.Lock()

    async def _acquire(self) -> int:
        async with self._turn:
            if "it" not in self._shared:
                self._shared["it"] = producer = self._writer._make()
                producer._txn_manager.transactional_id = f"{self._prefix}{uuid4()}"
                await producer.start()
        return await self._committed() or 0

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        async with self._turn:
            producer = self._shared["it"]
            await producer.begin_transaction()
            await send_all(producer, self._prefix, outputs)
            await producer.send_offsets_to_transaction(
                {self._partition: OffsetAndMetadata(next_offset, "")}, self._group
            )
            await producer.commit_transaction()


class SendsNotAwaited(Committer):
    """Commits without looking whether the records were taken."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        producer = self._writer._running()
        await producer.begin_transaction()
        for record in outputs:
            await producer.send(
                f"{self._prefix}{record.topic}", value=record.value, key=record.key, headers=list(record.headers)
            )
        offsets = {self._partition: OffsetAndMetadata(next_offset, "")}
        await producer.send_offsets_to_transaction(offsets, self._group)
        await producer.commit_transaction()


class ReadBeforeTheFence(Committer):
    """Reads the committed offset while the previous owner may still commit."""

    async def _acquire(self) -> int:
        committed = await self._committed() or 0
        print("read", flush=True)
        await asyncio.sleep(4)
        await self._writer.start()
        return committed


class CommitOfPositions(Committer):
    """Commits what was taken in, not what is finished."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        cursor = self._consumer._cursors.get(self._partition)
        await super()._write(outputs, next_offset if cursor is None else max(cursor.next_offset, next_offset))


class OffsetBeforeOutputs(Committer):
    """Commits the offset of inputs whose outputs are not sent yet."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        await self._consumer.commit({self._partition: next_offset})
        await self._writer.send(self._prefix, outputs)


class EndSentAgain(Committer):
    """Has aiokafka send the end of a transaction again, as it does by itself."""

    async def _acquire(self) -> int:
        offset = await super()._acquire()
        sender = self._writer._running()._sender
        sender._do_txn_commit = partial(Sender._do_txn_commit, sender)
        return offset


BUGS: dict[str, type[Committer]] = {
    "one_id": OneIdForTheProcess,
    "not_awaited": SendsNotAwaited,
    "read_before_fence": ReadBeforeTheFence,
    "positions": CommitOfPositions,
    "offset_before_outputs": OffsetBeforeOutputs,
    "end_sent_again": EndSentAgain,
}
