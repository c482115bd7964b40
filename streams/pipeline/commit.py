"""The commit stage: outputs and the input offset of one input partition, as one.

Exactly once takes one transactional producer for each *input partition*. aiokafka sends no consumer-group metadata
with the offsets, so the transactional id is what fences a zombie: the new owner's start bumps its epoch, and whatever
the old owner still sends is refused.

Invariants:

1. ``open`` fences first and reads the committed offset after: read before, it could miss the old owner's last commit.
   In between it waits for the group coordinator, which may otherwise answer with an older offset, or none.
2. Every send is awaited before the offsets go; a failed send does not make aiokafka's commit fail.
3. One deadline covers a transaction. After any doubt the producer is never used again: the caller closes the stage and
   opens it anew, which resolves the pending transaction one way or the other, and believes the committed offset.

Commits of one input partition, each to the point where it is certain what is committed.

A commit stage may leave a doubt: the broker answered too late, or not at all. Then the stage is closed and opened anew,
which settles the transaction one way or the other, and the group's committed offset is read and believed. Invariant:
after ``open`` and after ``commit`` nothing of ours is pending, and the offset returned is the group's.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from streams.clock import Clock
from streams.codec import OutputRecord
from streams.kafka.clients import start, stop
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.metrics import PipelineMetrics

RECORDS_OF_A_PRODUCER = 1_000_000_000
"""After so many a producer is replaced: aiokafka's sequence numbers turn negative after 2**31 on a partition."""

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


class _OwnProducer:
    """The stage's producer, from one opening to the next; every step is bounded by the deadline."""

    def __init__(self, producers: ProducerFactory, deadline_seconds: float) -> None:
        self._producers = producers
        self._open: AIOKafkaProducer | None = None
        self.deadline = deadline_seconds
        self.sent = 0

    @property
    def needs_renewal(self) -> bool:
        return self.sent >= RECORDS_OF_A_PRODUCER

    async def start(self, transactional_id: str | None) -> None:
        self._open = self._producers(transactional_id)
        self.sent = 0
        async with asyncio.timeout(self.deadline):
            await start(self._open)

    def get(self) -> AIOKafkaProducer:
        if self._open is None:
            raise CommitDoubtError("the stage is not open")
        # A fenced or expired id ends aiokafka's sender for good, and sends would wait for the whole deadline.
        task = getattr(getattr(self._open, "_sender", None), "_sender_task", None)
        if task is not None and task.done():
            raise CommitDoubtError("the producer's sender has stopped")
        return self._open

    async def stop(self) -> None:
        producer, self._open = self._open, None
        if producer is not None:
            await stop_producer(producer, self.deadline)


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
        self._producer = _OwnProducer(producers, deadline_seconds)

    @property
    def transactional_id(self) -> str:
        """One for each input partition of the group; group and topic bear the prefix already."""
        return transactional_id(self._group, self._partition)

    async def open(self) -> int | None:
        """Fences the previous owner, waits until the coordinator knows all it was told, then reads the offset."""
        await self._producer.start(self.transactional_id)
        await self._await_coordinator()
        return await committed_offset(self._consumer, self._partition, self._producer.deadline)

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """One transaction: send, await every send, offsets, commit."""
        producer = self._producer.get()
        async with _doubt_of_anything_else(self._producer.deadline):
            await producer.begin_transaction()
            await send_all(producer, self._prefix, outputs)
            self._producer.sent += len(outputs)
            offsets = {self._partition: OffsetAndMetadata(next_offset, "")}
            await producer.send_offsets_to_transaction(offsets, self._group)
            await producer.commit_transaction()

    @property
    def needs_renewal(self) -> bool:
        """Whether the producer has sent about as many records as it can number."""
        return self._producer.needs_renewal

    async def close(self) -> None:
        """Stops the producer, within the deadline."""
        await self._producer.stop()

    async def _await_coordinator(self) -> None:
        """An offset that is written and taken back at once; when the broker has answered, older ones can be read.

        A coordinator whose broker was killed answers reads before all it has stored is visible: an offset from seconds
        ago, or none at all. It answers a write only when everything before it is.
        """
        producer = self._producer.get()
        async with asyncio.timeout(self._producer.deadline):
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({self._partition: OffsetAndMetadata(0, "")}, self._group)
            await producer.abort_transaction()


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
        self._producer = _OwnProducer(producers, deadline_seconds)

    async def open(self) -> int | None:
        """Starts the producer and reads the committed offset."""
        await self._producer.start(None)
        return await committed_offset(self._consumer, self._partition, self._producer.deadline)

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """Sends, awaits every send, then commits this partition's offset and no other."""
        producer = self._producer.get()
        async with _doubt_of_anything_else(self._producer.deadline):
            await send_all(producer, self._prefix, outputs)
            self._producer.sent += len(outputs)
            await self._consumer.commit({self._partition: next_offset})

    @property
    def needs_renewal(self) -> bool:
        """Whether the producer has sent about as many records as it can number."""
        return self._producer.needs_renewal

    async def close(self) -> None:
        """Stops the producer, within the deadline."""
        await self._producer.stop()


@contextlib.asynccontextmanager
async def _doubt_of_anything_else(deadline: float) -> AsyncIterator[None]:
    """Whatever is not success within the deadline is a doubt; a size that is refused is known to be refused again."""
    try:
        async with asyncio.timeout(deadline):
            yield
    except MessageSizeTooLargeError as error:
        raise OutputRefusedError(str(error)) from error
    except (KafkaError, TimeoutError, OSError, AssertionError, KeyError) as error:
        raise CommitDoubtError(f"{type(error).__name__}: {error}") from error


def transactional_id(group: str, partition: TopicPartition) -> str:
    """Whose producers fence each other; group and topic bear the prefix already."""
    return f"{group}.{partition.topic}.{partition.partition}"


async def committed_offset(consumer: AIOKafkaConsumer, partition: TopicPartition, deadline: float) -> int | None:
    """The group's offset of a partition, None where it has none."""
    async with asyncio.timeout(deadline):
        committed: int | None = await consumer.committed(partition)
    return committed


async def send_all(producer: AIOKafkaProducer, prefix: str, outputs: Sequence[OutputRecord]) -> None:
    """Sends every record and waits until the broker has confirmed each of them."""
    confirmations: list[asyncio.Future[object]] = []
    named: dict[str, str] = {}
    try:
        for record in outputs:
            topic = named.get(record.topic)
            if topic is None:
                topic = named[record.topic] = f"{prefix}{record.topic}"
            confirmations.append(
                await producer.send(topic, value=record.value, key=record.key, headers=list(record.headers))
            )
        # One after another: those of one batch are there at the same time, and a gather costs a callback for each.
        for confirmation in confirmations:
            await confirmation
    except BaseException:
        # The others' results are of no use now, but asyncio complains about errors that nobody looked at.
        for confirmation in confirmations:
            if not confirmation.cancel() and not confirmation.cancelled():
                confirmation.exception()
        raise


async def stop_producer(producer: AIOKafkaProducer, deadline: float) -> None:
    """Stops a producer whatever state it is in. A stop that hangs is given up: its epoch will be fenced."""
    with contextlib.suppress(KafkaError, OSError, AssertionError):
        await stop(producer, deadline)
    _look_at_errors(producer)


def _look_at_errors(producer: AIOKafkaProducer) -> None:
    """Looks at what a fence has left in futures of aiokafka's own: asyncio complains about errors that nobody sees."""
    waiters = [getattr(getattr(producer, "_txn_manager", None), "_transaction_waiter", None)]
    accumulator = getattr(producer, "_message_accumulator", None)
    batches = [*getattr(accumulator, "_batches", {}).values(), getattr(accumulator, "_pending_batches", ())]
    waiters += [getattr(batch, "_drain_waiter", None) for some in batches for batch in some]
    for waiter in waiters:
        if isinstance(waiter, asyncio.Future) and waiter.done() and not waiter.cancelled():
            waiter.exception()


log = structlog.get_logger(__name__)

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
