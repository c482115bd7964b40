"""Commits the outputs and the offset of one input partition together, and finds out the result after a doubt.

Exactly once takes one transactional producer for each *input partition*. aiokafka sends no consumer-group metadata with
the offsets, so the transactional id is what fences a zombie: the new owner's start bumps its epoch, and the broker
refuses what the old owner still sends.

Invariants:

1. ``open`` fences first and reads the committed offset after that. Read before, it could miss the last commit of the
   old owner.
2. After a commit in doubt the stage is closed and opened anew, which settles the transaction. The committed offset then
   decides.
3. After ``open`` and ``commit`` of a ``Committer`` no transaction of ours is open, and the offset that it returns is
   the group's.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from streams.clock import Clock
from streams.codec import OutputRecord
from streams.kafka.transactions import RecordWriter, transactional_id
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.metrics import PipelineMetrics

log = structlog.get_logger(__name__)


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

    @property
    def needs_renewal(self) -> bool:
        """Whether it is time to close the stage and open it anew, after a commit that went well."""
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
        """Prepares the stage; nothing is opened yet. The group carries the prefix already."""
        self._partition = partition
        self._group = group
        self._prefix = topic_prefix
        self._consumer = consumer
        self._writer = RecordWriter(lambda: producers(transactional_id(group, partition)), deadline_seconds)

    async def open(self) -> int | None:
        """Fences the previous owner, waits for the coordinator, then reads the offset."""
        await self._writer.start()
        await self._writer.settle(self._group, self._partition)
        return await _committed_offset(self._consumer, self._partition, self._writer.deadline)

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """One transaction."""
        with _doubt():
            offsets = {self._partition: OffsetAndMetadata(next_offset, "")}
            await self._writer.write(self._prefix, outputs, self._group, offsets)

    @property
    def needs_renewal(self) -> bool:
        """Whether the producer has sent about as many records as it can number."""
        return self._writer.needs_renewal

    async def close(self) -> None:
        """Stops the producer, within the deadline."""
        await self._writer.stop()


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
        self._writer = RecordWriter(lambda: producers(None), deadline_seconds)

    async def open(self) -> int | None:
        """Starts the producer and reads the committed offset."""
        await self._writer.start()
        return await _committed_offset(self._consumer, self._partition, self._writer.deadline)

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """Sends, awaits every send, then commits this partition's offset and no other."""
        with _doubt():
            async with asyncio.timeout(self._writer.deadline):
                await self._writer.send(self._prefix, outputs)
                await self._consumer.commit({self._partition: next_offset})

    @property
    def needs_renewal(self) -> bool:
        """Whether the producer has sent about as many records as it can number."""
        return self._writer.needs_renewal

    async def close(self) -> None:
        """Stops the producer, within the deadline."""
        await self._writer.stop()


@contextlib.contextmanager
def _doubt() -> Iterator[None]:
    """Every error is a doubt; the broker or the client will refuse a size again that it has refused."""
    try:
        yield
    except MessageSizeTooLargeError as error:
        raise OutputRefusedError(str(error)) from error
    except (KafkaError, TimeoutError, OSError, AssertionError, KeyError) as error:
        raise CommitDoubtError(f"{type(error).__name__}: {error}") from error


async def _committed_offset(consumer: AIOKafkaConsumer, partition: TopicPartition, deadline: float) -> int | None:
    """The group's offset of a partition, None where it has none."""
    async with asyncio.timeout(deadline):
        committed: int | None = await consumer.committed(partition)
    return committed


_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Between tries to open a stage, and between commits that fail; the last one repeats."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How a commit ended: the group's offset now, and why an output was refused, if one was."""

    offset: int
    refused: str = ""


class Committer:
    """A commit stage that is opened as often as it takes."""

    def __init__(
        self,
        partition: TopicPartition,
        consumer: CountingConsumer,
        stage: CommitStage,
        clock: Clock,
        observer: PipelineMetrics,
    ) -> None:
        """Prepares; nothing is opened yet."""
        self._partition = partition
        self._consumer = consumer
        self._stage = stage
        self._clock = clock
        self._observer = observer
        self._failures = 0
        self._known: int | None = None
        self.failing_since: float | None = None
        """Since when commits fail; None where they don't."""

    async def open(self) -> int:
        """Opens the stage, as often as it takes. Returns the committed offset, else the first there is."""
        for attempt in count():
            try:
                committed = await self._stage.open()
                if committed is None:
                    beginning = await self._consumer.beginning_offsets([self._partition])
                    committed = int(beginning[self._partition])
            except (KafkaError, TimeoutError, OSError) as error:
                log.warning("partition not opened yet", partition=str(self._partition), error=str(error) or repr(error))
                await self._stage.close()
                await self._pause(attempt)
            else:
                self._known = committed
                return committed
        raise AssertionError("count() has no end")

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> Settled:
        """One commit, and after a doubt the truth about it. A stage that is worn out is replaced."""
        began = self._clock.monotonic()
        try:
            await self._stage.commit(outputs, next_offset)
        except CommitDoubtError as doubt:
            self._observer.committed("in_doubt", self._clock.monotonic() - began)
            log.warning("commit in doubt", partition=str(self._partition), outputs=len(outputs), error=str(doubt))
            return await self._find_out(doubt)
        self._observer.committed("committed", self._clock.monotonic() - began)
        self.failing_since, self._failures, self._known = None, 0, next_offset
        if self._stage.needs_renewal:
            await self._stage.close()
            return Settled(await self.open())
        return Settled(next_offset)

    async def close(self) -> None:
        """Lets go; never raises."""
        await self._stage.close()

    async def _find_out(self, doubt: CommitDoubtError) -> Settled:
        if self.failing_since is None:
            self.failing_since = self._clock.monotonic()
        await self._stage.close()
        if self._failures:
            # The second failure in a row: what doesn't pass by itself must not keep the broker busy.
            await self._pause(self._failures - 1)
        self._failures += 1
        before = self._known
        committed = await self.open()
        if committed != before:
            # It was committed after all, or somebody else has moved the offset: what failed is not to be done again.
            self.failing_since, self._failures = None, 0
        return Settled(committed, refused=str(doubt) if isinstance(doubt, OutputRefusedError) else "")

    async def _pause(self, number: int) -> None:
        await self._clock.sleep(_PAUSES_SECONDS[min(number, len(_PAUSES_SECONDS) - 1)])
