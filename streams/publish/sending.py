"""Sends the records of a publication: live traffic, or a run, whose position Kafka keeps with them.

A run has a consumer group of its own, ``assay.publish.<run>``, without members. Its offset on the topic's partition 0
counts the published and refused entries of the run, and the metadata of the offset is the position. Both move in the
transaction of the records, so they agree after a kill at any moment. The transactional id is the run's, so of two
copies of a run the later one fences the earlier one.

Entries are collected while a transaction is under way. The size of the next one follows from the duration of the last:
a slow source is committed at once, a fast one in large, bounded pieces. Invariants: see ``streams.kafka.transactions``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import make_admin, make_producer, opened
from streams.kafka.transactions import FENCED, IN_DOUBT, RecordWriter, stop_producer
from streams.publish.walk import Position, position_of
from streams.settings.model import PipelineSettings, Settings
from streams.topology import Topic
from streams.topology.codec import OutputRecord

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0


class RunTakenError(Exception):
    """Another copy of the run has taken over, so this one must stop; its commits count."""


class RunLog:
    def __init__(
        self, settings: Settings, topic: Topic, run: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._settings = settings
        self._prefix = settings.kafka.topic_prefix
        self._place = TopicPartition(f"{self._prefix}{topic.name}", 0)
        self._sleep = sleep
        kafka = settings.kafka
        self._writer = RecordWriter(
            lambda: make_producer(kafka, self.transactional_id, "assay.publish"), kafka.transaction_timeout_seconds
        )
        self.group = f"{self._prefix}assay.publish.{run}"  # the consumer group whose offset is the position

    @property
    def transactional_id(self) -> str:
        return f"{self.group}.{self._place.topic}"

    async def read(self) -> Position | None:
        """The committed position, without fencing other copies; None for a run that Kafka does not know.

        Raises KafkaError, TimeoutError: Kafka can't be reached, or has no coordinator for too long.
        """
        async with (
            asyncio.timeout(self._settings.kafka.transaction_timeout_seconds),
            opened(make_admin(self._settings.kafka)) as admin,
        ):
            while True:
                try:
                    found = await admin.list_consumer_group_offsets(self.group, partitions=[self._place])
                except KafkaError as error:
                    # A new cluster creates its offsets topic at the first such request.
                    if not error.retriable:
                        raise
                    await self._sleep(_FIRST_PAUSE_SECONDS)
                else:
                    return _position(found.get(self._place))

    async def open(self) -> Position | None:
        """Fences other copies of the run, aborts their transactions, and reads the position.

        Raises:
            RunTakenError: Another copy was opened at the same time.
            KafkaError, TimeoutError: Kafka cannot be reached, or its coordinator changes again and again.
        """
        await self.close()
        try:
            return _position(await self._writer.start_and_read_offset(self.group, self._place))
        except FENCED as error:
            await self._writer.stop(1.0)
            raise RunTakenError from error
        except BaseException:
            await self._writer.stop(1.0)
            raise

    async def commit(self, records: Sequence[OutputRecord], before: Position, after: Position) -> None:
        """Writes records together with the position after them, and retries for ``pipeline.stalled_seconds``.

        Raises:
            RunTakenError: Another copy of the run has taken over.
            KafkaError, TimeoutError: Kafka failed for too long.
        """
        patience = self._settings.pipeline.stalled_seconds
        pause = _FIRST_PAUSE_SECONDS
        waited = 0.0
        while True:
            try:
                offsets = {self._place: OffsetAndMetadata(after.published + after.refused, after.to_text())}
                await self._writer.write(self._prefix, records, self.group, offsets)
            except FENCED as error:
                raise RunTakenError from error
            except MessageSizeTooLargeError:
                raise
            except IN_DOUBT as error:
                if isinstance(self._writer.sender_error, FENCED):
                    raise RunTakenError from error
                if waited >= patience:
                    raise
            else:
                return
            await self._sleep(pause)
            waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE_SECONDS)
            with contextlib.suppress(*IN_DOUBT):
                found = await self.open() or Position()
                if found == after:
                    return
                if found != before:
                    raise RunTakenError

    async def close(self) -> None:
        """Closes the producer; never raises."""
        await self._writer.stop()


def _position(at: OffsetAndMetadata | None) -> Position | None:
    return None if at is None or at.offset < 0 else position_of(at.metadata)


class LiveLog:
    """Sends records as live traffic; nothing keeps their position.

    An idempotent producer retries for ever; this one is given up if nothing is acknowledged for ``patience`` seconds.
    """

    def __init__(self, producer: AIOKafkaProducer, prefix: str, patience: float) -> None:
        self._producer = producer
        self._prefix = prefix
        self._patience = self._closing_seconds = patience

    async def commit(self, records: Sequence[OutputRecord], before: Position, after: Position) -> None:  # noqa: ARG002 - as of ``RunLog``
        """Sends records, and waits until all are acknowledged. Raises KafkaError."""
        waiting = set[asyncio.Future[object]]()
        for record in records:
            name, headers = self._prefix + record.topic, list(record.headers)
            try:
                async with asyncio.timeout(self._patience):
                    waiting.add(await self._producer.send(name, value=record.value, key=record.key, headers=headers))
            except TimeoutError:
                raise self._given_up() from None
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise self._given_up()
            for future in done:
                future.result()

    def _given_up(self) -> KafkaError:
        self._closing_seconds = 1.0
        return KafkaTimeoutError(f"nothing was acknowledged for {self._patience:g} s")

    async def close(self) -> None:
        await stop_producer(self._producer, self._closing_seconds)


class Sending:
    """Commits entries to a log: while a transaction is written, the next one is filled."""

    def __init__(self, log: RunLog | LiveLog, committed: Position, settings: PipelineSettings) -> None:
        self.committed = committed
        self.failure: BaseException | None = None  # why nothing more can be sent, or None
        self._log = log
        self._settings = settings
        self._read = committed
        self._waiting: list[OutputRecord] = []
        self._bytes = 0
        self._transaction: asyncio.Task[None] | None = None

    async def passed(self, record: OutputRecord | None, position: Position) -> None:
        """Takes an entry, or None for one without a record; waits while a full transaction is waiting.

        Raises RunTakenError, KafkaError, TimeoutError: see ``commit`` of the log; nothing more can be sent.
        """
        full = len(self._waiting) >= self._settings.commit_records or self._bytes >= self._settings.commit_bytes
        if full and self._transaction is not None:
            await asyncio.wait({self._transaction})
        if self.failure is not None:
            raise self.failure
        self._read = position
        if record is not None:
            self._waiting.append(record)
            self._bytes += record.size
        if self._transaction is None:
            self._begin()

    async def stop(self) -> None:
        """Commits what was taken, and closes; an error is in ``failure``."""
        while self._transaction is not None:
            await asyncio.wait({self._transaction})
        await self._log.close()

    def _begin(self, _: object = None) -> None:
        """Begins a transaction with everything that waits, if anything does."""
        self._transaction = None
        if self.failure is None and self._read != self.committed:
            work = self._commit(self._waiting, self._read)
            self._waiting, self._bytes = [], 0
            self._transaction = asyncio.create_task(work, name="backfill")
            self._transaction.add_done_callback(self._begin)

    async def _commit(self, records: Sequence[OutputRecord], position: Position) -> None:
        try:
            await self._log.commit(records, self.committed, position)
            self.committed = position
        except BaseException as error:
            # A cancelled transaction may not be followed by one with a later position.
            self.failure = error
            if not isinstance(error, Exception):
                raise
