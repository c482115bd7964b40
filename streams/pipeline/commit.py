"""The commit stage: outputs and the input offset of one input partition, as one.

Exactly once takes one transactional producer for each *input partition*. aiokafka sends no consumer-group metadata
with the offsets, so the transactional id is what fences a zombie: the new owner's start bumps its epoch, and whatever
the old owner still sends is refused.

Invariants:

1. ``open`` fences first and reads the committed offset after: read before, it could miss the old owner's last commit.
2. Every send is awaited before the offsets go; a failed send does not make aiokafka's commit fail.
3. One deadline covers a transaction. After any doubt the producer is never used again: the caller closes the stage and
   opens it anew, which resolves the pending transaction one way or the other, and believes the committed offset.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from streams.codec import OutputRecord

ProducerFactory = Callable[[str | None], AIOKafkaProducer]
"""Makes a producer that is not started, for a transactional id, or for none."""


class CommitDoubtError(Exception):
    """The outcome of a commit is not known, or it failed; the stage must be opened anew before the next."""


class OutputRefusedError(CommitDoubtError):
    """The broker or the client refuses one of the outputs for good; trying the same again can't help."""


class CommitStage(Protocol):
    """How the outputs of one input partition become visible together with its offset."""

    async def open(self) -> int | None:
        """Makes this process the only one that commits for the partition.

        Returns:
            The committed offset, None where the group has none.

        Raises:
            KafkaError, TimeoutError: Not now; try again.
        """
        ...

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """Writes the outputs and moves the group's offset to ``next_offset``.

        Raises:
            CommitDoubtError: Anything but certain success.
        """
        ...

    async def close(self) -> None:
        """Lets go; never raises."""
        ...


class ExactlyOnce:
    """Outputs and offset in one Kafka transaction."""

    def __init__(
        self,
        partition: TopicPartition,
        group: str,
        topic_prefix: str,
        consumer: AIOKafkaConsumer,
        producers: ProducerFactory,
        deadline_seconds: float,
    ) -> None:
        """Prepares the stage; nothing is opened yet."""
        self._partition = partition
        self._group = group
        self._prefix = topic_prefix
        self._consumer = consumer
        self._producers = producers
        self._deadline = deadline_seconds
        self._producer: AIOKafkaProducer | None = None

    @property
    def transactional_id(self) -> str:
        """One for each input partition of the group; group and topic bear the prefix already."""
        return f"{self._group}.{self._partition.topic}.{self._partition.partition}"

    async def open(self) -> int | None:
        """Fences the previous owner, then reads what it committed."""
        producer = self._producers(self.transactional_id)
        self._producer = producer
        async with asyncio.timeout(self._deadline):
            await producer.start()
            committed: int | None = await self._consumer.committed(self._partition)
        return committed

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """One transaction: send, await every send, offsets, commit."""
        producer = self._producer
        if producer is None:
            raise CommitDoubtError("the stage is not open")
        try:
            async with asyncio.timeout(self._deadline):
                await producer.begin_transaction()
                await send_all(producer, self._prefix, outputs)
                offsets = {self._partition: OffsetAndMetadata(next_offset, "")}
                await producer.send_offsets_to_transaction(offsets, self._group)
                await producer.commit_transaction()
        except MessageSizeTooLargeError as error:
            raise OutputRefusedError(str(error)) from error
        except (KafkaError, TimeoutError, OSError, AssertionError, KeyError) as error:
            raise CommitDoubtError(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Stops the producer, within the deadline."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await stop_producer(producer, self._deadline)


class AtLeastOnce:
    """Outputs first, the offset after: a crash in between repeats outputs, under the same ids."""

    def __init__(
        self,
        partition: TopicPartition,
        topic_prefix: str,
        consumer: AIOKafkaConsumer,
        producers: ProducerFactory,
        deadline_seconds: float,
    ) -> None:
        """Prepares the stage; nothing is opened yet."""
        self._partition = partition
        self._prefix = topic_prefix
        self._consumer = consumer
        self._producers = producers
        self._deadline = deadline_seconds
        self._producer: AIOKafkaProducer | None = None

    async def open(self) -> int | None:
        """Starts the producer and reads the committed offset."""
        producer = self._producers(None)
        self._producer = producer
        async with asyncio.timeout(self._deadline):
            await producer.start()
            committed: int | None = await self._consumer.committed(self._partition)
        return committed

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """Sends, awaits every send, then commits this partition's offset and no other."""
        if self._producer is None:
            raise CommitDoubtError("the stage is not open")
        try:
            async with asyncio.timeout(self._deadline):
                await send_all(self._producer, self._prefix, outputs)
                await self._consumer.commit({self._partition: next_offset})
        except MessageSizeTooLargeError as error:
            raise OutputRefusedError(str(error)) from error
        except (KafkaError, TimeoutError, OSError) as error:
            raise CommitDoubtError(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Stops the producer, within the deadline."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await stop_producer(producer, self._deadline)


async def send_all(producer: AIOKafkaProducer, prefix: str, outputs: Sequence[OutputRecord]) -> None:
    """Sends every record and waits until the broker has confirmed each of them."""
    confirmations = []
    try:
        for record in outputs:
            confirmations.append(  # noqa: PERF401 - what was sent must be known where a later send fails
                await producer.send(
                    f"{prefix}{record.topic}", value=record.value, key=record.key, headers=list(record.headers)
                )
            )
        await asyncio.gather(*confirmations)
    except BaseException:
        # The others' results are of no use now, but asyncio complains about errors that nobody looked at.
        for confirmation in confirmations:
            confirmation.cancel()
        raise


async def stop_producer(producer: AIOKafkaProducer, deadline: float) -> None:
    """Stops a producer whatever state it is in. A stop that hangs is given up: its epoch will be fenced."""
    with contextlib.suppress(KafkaError, TimeoutError, OSError, AssertionError):
        async with asyncio.timeout(deadline):
            await producer.stop()
