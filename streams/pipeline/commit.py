"""Commits the outputs and the offset of one input partition, and resolves commits in doubt.

Exactly once, both are in one Kafka transaction. At least once, the offset is committed after the outputs.

For exactly once each *input partition* has its own transactional producer. aiokafka sends no consumer-group metadata
with the offsets, so the transactional id fences a zombie: the new owner's producer bumps the epoch when it starts, and
the broker refuses what the old owner still sends. The old owner then opens again and may fence the new owner. No record
is lost or doubled by that, because each owner continues at the offset that it reads after its own fence. It ends when
the old owner learns that its partition is revoked.

Invariants:

1. ``open`` fences first and reads the committed offset after that. The other order could miss the last commit of the
   old owner.
2. After a commit in doubt the producer is stopped and a new one started, which ends the transaction. The committed
   offset then says whether Kafka has committed.
3. After ``open`` and ``commit`` no transaction of this partition is open, and the returned offset is the group's. A
   commit that is cancelled when its partition closes is left to the fence of the next owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import count

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import MessageSizeTooLargeError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import make_producer
from streams.kafka.transactions import IN_DOUBT, RecordWriter, transactional_id
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.metrics import PipelineMetrics
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.topology.codec import OutputRecord

log = structlog.get_logger(__name__)

_PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Between attempts to open, and between commits that fail; the last one repeats."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The group's committed offset after a commit, and why the broker or the client refuses an output for good."""

    group_offset: int
    refusal: str = ""


@dataclass(eq=False, repr=False)
class Committer:
    """Commits for one input partition, exactly once or at least once. The names have the prefix."""

    partition: TopicPartition
    consumer: AIOKafkaConsumer
    writer: RecordWriter
    clock: Clock
    observer: PipelineMetrics
    _: KW_ONLY
    group: str
    topic_prefix: str
    transactional: bool  # whether commits are exactly once; the writer's producer then is transactional
    is_ours: Callable[[], Awaitable[bool]] | None = None
    """Asked after each fence whether this process may still commit; a replay whose plan was dropped may not."""
    failing_since: float | None = field(default=None, init=False)
    """When commits began to fail, in monotonic seconds; None if the last one worked."""
    trouble: Exception | None = field(default=None, init=False)
    """The error of the last attempt to open or to commit; None if it worked."""
    _failures: int = field(default=0, init=False)
    _known: int | None = field(default=None, init=False)  # the group's offset after the last ``open`` or ``commit``

    async def open(self) -> int:
        """Fences other owners if exactly once, and returns the offset to continue at. Retries until it works."""
        for attempt in count():
            try:
                self._known = await self._acquire()
            except IN_DOUBT as error:
                log.warning("partition not opened yet", partition=str(self.partition), error=str(error) or repr(error))
                self.trouble = error
                await self.writer.stop()
                await self._pause(attempt)
            else:
                # After a commit that failed, only a commit shows that all is well.
                if self.failing_since is None:
                    self.trouble = None
                return self._known
        raise AssertionError("count() has no end")

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> CommitResult:
        """Commits once. If the result is unknown, opens again and returns the group's committed offset.

        Replaces the producer before its sequence numbers overflow.
        """
        began = self.clock.monotonic()
        try:
            await self._write(outputs, next_offset)
        except IN_DOUBT as error:
            self.observer.committed("in_doubt", self.clock.monotonic() - began)
            cause = f"{type(error).__name__}: {error}"
            log.warning("commit in doubt", partition=str(self.partition), outputs=len(outputs), error=cause)
            # The broker or the client refuses this size every time.
            refused = str(error) if isinstance(error, MessageSizeTooLargeError) else ""
            self.trouble = error
            return CommitResult(await self._resolve(), refused)
        self.observer.committed("committed", self.clock.monotonic() - began)
        self.failing_since, self.trouble, self._failures, self._known = None, None, 0, next_offset
        if self.writer.needs_renewal:
            await self.writer.stop()
            return CommitResult(await self.open())
        return CommitResult(next_offset)

    async def close(self) -> None:
        """Stops the producer within the deadline; never raises."""
        await self.writer.stop()

    async def _acquire(self) -> int:
        """Fences, then reads the committed offset, or else the first offset."""
        committed = await self._read_after_fence()
        if self.is_ours is not None and not await self.is_ours():
            raise ProducerFenced("another process has ended this work")
        if committed is None:
            committed = (await self.consumer.beginning_offsets([self.partition]))[self.partition]
        return int(committed)

    async def _read_after_fence(self) -> int | None:
        if self.transactional:
            found = await self.writer.start_and_read_offset(self.group, self.partition)
            return None if found is None else int(found.offset)
        await self.writer.start()
        return await self._committed()

    async def _committed(self) -> int | None:
        async with asyncio.timeout(self.writer.deadline_seconds):
            offset: int | None = await self.consumer.committed(self.partition)
        return offset

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """Writes the outputs and the offset: in one transaction, or one after the other.

        At least once, an error or a crash before the offset is committed repeats the outputs under the same ids.
        """
        # Step 9. The offset is committed here.
        if self.transactional:
            offsets = {self.partition: OffsetAndMetadata(next_offset, "")}
            await self.writer.write(self.topic_prefix, outputs, self.group, offsets)
            return
        async with asyncio.timeout(self.writer.deadline_seconds):
            await self.writer.send(self.topic_prefix, outputs)
            await self.consumer.commit({self.partition: next_offset})

    async def _resolve(self) -> int:
        """Replaces the producer, which ends a transaction in doubt, and returns the committed offset."""
        if self.failing_since is None:
            self.failing_since = self.clock.monotonic()
        await self.writer.stop()
        if self._failures:
            # The second failure in a row: repeated attempts must not keep the broker busy.
            await self._pause(self._failures - 1)
        self._failures += 1
        before = self._known
        committed = await self.open()
        if committed != before:
            # Kafka has committed after all, or another process has moved the offset: nothing is to be repeated.
            self.failing_since, self.trouble, self._failures = None, None, 0
        return committed

    async def _pause(self, number: int) -> None:
        await self.clock.sleep(_PAUSES_SECONDS[min(number, len(_PAUSES_SECONDS) - 1)])


CommitterFactory = Callable[[TopicPartition, CountingConsumer], Committer]


def committer_factory(
    settings: Settings,
    group: str,
    clock: Clock,
    observer: PipelineMetrics,
    is_ours: Callable[[], Awaitable[bool]] | None = None,
    kind: type[Committer] = Committer,
) -> CommitterFactory:
    """Makes the committers of a consumer group, named before the prefix, in the delivery mode of the settings."""
    kafka, full_name = settings.kafka, settings.kafka.topic_prefix + group
    transactional = settings.delivery == "exactly_once"

    def make(partition: TopicPartition, consumer: CountingConsumer) -> Committer:
        own_id = transactional_id(full_name, partition) if transactional else None
        return kind(
            partition,
            consumer,
            RecordWriter(lambda: make_producer(kafka, own_id, group), kafka.transaction_timeout_seconds),
            clock,
            observer,
            group=full_name,
            topic_prefix=kafka.topic_prefix,
            transactional=transactional,
            is_ours=is_ours,
        )

    return make
