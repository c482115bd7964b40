"""Bugs that a pipeline like this one could have: fault rounds on a real Kafka and the simulation must find them.

``BUGS`` is the one table of them. ``planted`` replaces one name of the product for the length of a block. None of this
is in the product.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal
from unittest.mock import patch

from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import IllegalOperation
from aiokafka.producer.message_accumulator import MessageAccumulator
from aiokafka.producer.sender import Sender
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.aiokafka_fixes import producers
from streams.kafka.aiokafka_fixes.producers import SingleEndProducer
from streams.kafka.transactions import IN_DOUBT, send_all
from streams.pipeline import commit
from streams.pipeline.commit import CommitResult, Committer
from streams.pipeline.consumer import CountingConsumer, PartitionCursor
from streams.pipeline.partition import Partition, State
from streams.topology.codec import OutputRecord
from streams.workers.template import Deadlines, Process
from tests.tables import tables

Place = Literal["simulation", "rounds", "rounds on three brokers"]


@dataclass(frozen=True, slots=True)
class SeededBug:
    """A bug: what it changes, what it does to records, and where it can be found.

    Attributes:
        name: Its name on the command line.
        changes: What the changed code does.
        finds: The finding of the checker that shows it, a field of ``tests.faults.ledger.Findings``, or ``bugs`` if it
            raises. Any other finding is not its doing.
        where: Where the situation that shows it can be had.
        replaces: The object and the attribute that it replaces.
        by: The replacement.
        transactional: Whether it is in the delivery mode ``exactly_once``.
    """

    name: str
    changes: str
    finds: str
    where: frozenset[Place]
    replaces: tuple[Any, str]
    by: Any
    transactional: bool = True


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Has the product contain a bug for the length of the block; no bug where the name is empty."""
    if not name:
        yield
        return
    owner, attribute = BUGS[name].replaces
    with patch.object(owner, attribute, BUGS[name].by):
        yield


# --- committers -----------------------------------------------------------------------------------------------------


class OneIdForTheProcess(Committer):
    """No successor fences the producer when a partition is lost."""

    _shared: ClassVar[dict[str, AIOKafkaProducer]] = {}
    _turn: ClassVar[asyncio.Lock] = asyncio.Lock()

    async def _acquire(self) -> int:
        async with self._turn:
            if "it" not in self._shared:
                self._shared["it"] = producer = self.writer._make()
                producer._txn_manager.transactional_id = f"{self.topic_prefix}{uuid.uuid4()}"
                await producer.start()
        return await self._committed() or 0

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        async with self._turn:
            producer = self._shared["it"]
            await producer.begin_transaction()
            await send_all(producer, self.topic_prefix, outputs)
            await producer.send_offsets_to_transaction({self.partition: OffsetAndMetadata(next_offset, "")}, self.group)
            await producer.commit_transaction()


class SendsNotAwaited(Committer):
    """Does not look whether the records were taken."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        producer = self.writer._running()
        await producer.begin_transaction()
        for record in outputs:
            await producer.send(
                f"{self.topic_prefix}{record.topic}", value=record.value, key=record.key, headers=list(record.headers)
            )
        offsets = {self.partition: OffsetAndMetadata(next_offset, "")}
        await producer.send_offsets_to_transaction(offsets, self.group)
        await producer.commit_transaction()


class ReadBeforeTheFence(Committer):
    """The previous owner may still commit after the read."""

    async def _acquire(self) -> int:
        committed = await self._committed() or 0
        print("read", flush=True)
        await asyncio.sleep(4)
        await self.writer.start()
        return committed


class CommitOfPositions(Committer):
    """Takes the place of intake for that of the finished work."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        cursor = self.consumer._cursors.get(self.partition)
        await super()._write(outputs, next_offset if cursor is None else max(cursor.next_offset, next_offset))


class OffsetBeforeOutputs(Committer):
    """The outputs are not sent yet."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        await self.consumer.commit({self.partition: next_offset})
        await self.writer.send(self.topic_prefix, outputs)


class EndSentAgain(Committer):
    """As aiokafka does by itself."""

    async def _acquire(self) -> int:
        offset = await super()._acquire()
        sender = self.writer._running()._sender
        sender._do_txn_commit = partial(Sender._do_txn_commit, sender)
        return offset


class OffsetsSentAgain(Committer):
    """As aiokafka does by itself."""

    async def _acquire(self) -> int:
        self.writer._make = partial(_repeating, self.writer._make)
        return await super()._acquire()


def _repeating(make: Callable[[], SingleEndProducer]) -> SingleEndProducer:
    producer = make()
    producer.client.send = partial(AIOKafkaClient.send, producer.client)
    return producer


class DoubtIsFailure(Committer):
    """The broker may have committed and only its answer was lost."""

    async def _resolve(self) -> int:
        before = self._known
        await super()._resolve()
        return before or 0


class DoubtIsSuccess(Committer):
    """The broker may never have got the commit."""

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> CommitResult:
        await super().commit(outputs, next_offset)
        return CommitResult(next_offset)


class TwoTransactions(Committer):
    """A death between them leaves half of the outputs, and the inputs run again."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        half = len(outputs) // 2
        if half:
            await self.writer.write(self.topic_prefix, outputs[:half])
        await super()._write(outputs[half:], next_offset)


class LastFirst(Committer):
    """As outputs that are sent when each is done, whatever the order of their inputs."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        await super()._write(outputs[::-1], next_offset)


class DeadLettersDropped(Committer):
    """Moves the offset past a bad record without a trace."""

    async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        await super()._write([output for output in outputs if not output.topic.endswith(".dlq")], next_offset)


class BeginsAtTheEnd(Committer):
    """Skips what was written before the first commit of a group."""

    async def _acquire(self) -> int:
        offset = await super()._acquire()
        if await self._committed() is None:
            offset = (await self.consumer.end_offsets([self.partition]))[self.partition]
        return offset


# --- other parts of the pipeline --------------------------------------------------------------------------------------


def read_uncommitted(
    consumer: CountingConsumer, *topics: str, init: Callable[..., None] = CountingConsumer.__init__, **options: Any
) -> None:
    """Delivers records of transactions that are aborted."""
    init(consumer, *topics, **options | {"isolation_level": "read_uncommitted"})


def trust_the_leader(
    producer: SingleEndProducer, init: Callable[..., None] = SingleEndProducer.__init__, **options: Any
) -> None:
    """Its records are lost if the leader dies before its followers have them."""
    init(producer, **options)
    producer._sender._acks = 1


def keep_window(partition: Partition, committed: int, begin: Callable[..., None] = Partition._resume_from) -> None:
    """Goes on with work that another owner has committed meanwhile."""
    if partition.state is State.RUNNING:
        partition.committed = committed
    else:
        begin(partition, committed)


async def commit_at_the_stop(
    partition: Partition, drain_seconds: float, close: Callable[..., Any] = Partition.close
) -> None:
    """Commits what was taken in when the partition closes, and drops the work."""
    if partition.opened:
        await partition.committer.commit((), partition.position())
    await close(partition, 0)


def send_what_was_refused(accumulator: MessageAccumulator, error: Exception) -> None:
    """As aiokafka does by itself: the records may become part of the previous transaction."""


async def read_at_once(committer: Committer) -> int | None:
    """Reads the committed offset from a coordinator that may not have all offsets yet."""
    await committer.writer.start()
    return await committer._committed()


async def read_anywhere(committer: Committer) -> int | None:
    """Reads the committed offset from a broker that may not be the one that has written."""
    await committer.writer.start_and_read_offset(committer.group, committer.partition)
    return await committer._committed()


def take_old_poll(cursor: PartitionCursor) -> bool:
    """Takes records in that were requested before the last seek."""
    return False


def wait_for_ever(deadlines: Deadlines, process: Process, seconds: float) -> None:
    """Trusts a child and its template to answer, or to end."""


_COMMITTER = (commit, "Committer")
"""What ``committer_factory`` makes."""
_REPLACED: dict[str, tuple[tuple[Any, str], Any]] = {
    "one_id": (_COMMITTER, OneIdForTheProcess),
    "not_awaited": (_COMMITTER, SendsNotAwaited),
    "read_before_fence": (_COMMITTER, ReadBeforeTheFence),
    "positions": (_COMMITTER, CommitOfPositions),
    "offset_before_outputs": (_COMMITTER, OffsetBeforeOutputs),
    "end_sent_again": (_COMMITTER, EndSentAgain),
    "offsets_sent_again": (_COMMITTER, OffsetsSentAgain),
    "doubt_is_failure": (_COMMITTER, DoubtIsFailure),
    "doubt_is_success": (_COMMITTER, DoubtIsSuccess),
    "two_transactions": (_COMMITTER, TwoTransactions),
    "last_first": (_COMMITTER, LastFirst),
    "dead_letters_dropped": (_COMMITTER, DeadLettersDropped),
    "begins_at_the_end": (_COMMITTER, BeginsAtTheEnd),
    "reads_uncommitted": ((CountingConsumer, "__init__"), read_uncommitted),
    "window_kept": ((Partition, "_resume_from"), keep_window),
    "commit_at_the_stop": ((Partition, "close"), commit_at_the_stop),
    "old_poll": ((PartitionCursor, "discard_old_poll"), take_old_poll),
    "read_at_once": ((Committer, "_read_after_fence"), read_at_once),
    "read_anywhere": ((Committer, "_read_after_fence"), read_anywhere),
    "refused_sent": ((producers, "fail_unsent"), send_what_was_refused),
    "illegal_ends": ((commit, "IN_DOUBT"), tuple(error for error in IN_DOUBT if error is not IllegalOperation)),
    "no_deadline": ((Deadlines, "begin"), wait_for_ever),
    "leader_alone": ((SingleEndProducer, "__init__"), trust_the_leader),
}
"""By the name of a bug: the object and the attribute that it replaces, and the replacement."""
BUGS = {
    name: SeededBug(name, replaces=replaces, by=by, **fields | {"where": frozenset(fields["where"])})
    for name, fields in tables(__file__).items()
    for replaces, by in [_REPLACED[name]]
}
"""The seeded bugs by name."""
