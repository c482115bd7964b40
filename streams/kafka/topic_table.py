"""The newest value of each key of a compacted topic: read without a consumer group, changed by compare-and-set.

Several processes may change one key. A change is therefore made from the newest value, by one writer at a time: the
writers of a key have one transactional id, whose newest owner fences the others, and a fenced writer reads again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, KafkaTimeoutError, UnknownError, UnknownTopicOrPartitionError
from aiokafka.structs import OffsetAndMetadata

from schemas.event import Envelope, Event
from schemas.outcome import Dead
from streams.kafka.clients import make_producer, make_reader, opened
from streams.kafka.log_reader import await_open_transactions, existing_partitions
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import no_topic
from streams.kafka.transactions import FENCED, RecordWriter
from streams.runtime.backoff import Chance, full_jitter
from streams.runtime.clock import Clock
from streams.topology import Topic
from streams.topology.codec import decode, encode, timestamp

log = structlog.get_logger(__name__)

V = TypeVar("V", bound=Event)
_POLL_MS = 100
_FETCH_WAIT_MS = 50
"""Each read of the end of the topic waits for a fetch that finds nothing, so that one must be short."""
_FENCED_SECONDS = 60.0  # for so long a change is repeated while other processes write the same key
_PAUSE_SECONDS = 1.0  # the longest pause before a change is repeated


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """Offsets of a consumer group, committed together with a change; ``group`` has the prefix."""

    group: str
    offsets: dict[TopicPartition, int]


NO_OFFSETS = GroupOffsets("", {})


class TopicTable(Generic[V]):
    """The rows of a topic, by the keys of its records unless ``note`` says otherwise."""

    def __init__(self, kafka: KafkaSettings, topic: Topic, client_id: str, clock: Clock, chance: Chance) -> None:
        """Opens nothing. ``clock`` and ``chance`` are for the pauses between attempts to change a value."""
        self._kafka = kafka
        self._topic = topic
        self._client_id = client_id
        self._clock = clock
        self._chance = chance
        self._reader: Any = None
        self._partitions: list[TopicPartition] = []
        self._clients = AsyncExitStack()
        self._lock = asyncio.Lock()
        self.rows: dict[str, V] = {}  # the newest value of each key, as of the last ``refresh``
        self.unreadable: set[str] = set()
        """The keys whose newest record can't be decoded, perhaps because a newer version wrote it."""

    def note(self, value: V) -> None:
        """Takes a value that was read into the rows; called in the order of the partition."""
        self.rows[self._topic.key(value)] = value

    async def aclose(self) -> None:
        """Closes all clients; the rows stay, and the next ``refresh`` begins again."""
        self._reader = None
        await self._clients.aclose()

    async def refresh(self) -> dict[str, V]:
        """Reads up to the present end, and returns the rows: none without the topic. Raises KafkaError.

        The first one opens the reader.
        """
        async with self._lock:
            if self._reader is None and not await self._start():
                return self.rows
            ends = await self._reader.end_offsets(self._partitions)
            while any([await self._reader.position(at) < ends[at] for at in self._partitions]):
                for records in (await self._reader.getmany(timeout_ms=_POLL_MS)).values():
                    for record in records:
                        self._add(record)
        return self.rows

    async def _start(self) -> bool:
        """Opens the reader, if the topic exists. Returns whether it does."""
        name = self._kafka.topic_prefix + self._topic.name
        partitions = await existing_partitions(self._kafka, [name])
        if not partitions:
            return False
        reader = make_reader(self._kafka, client_id=self._client_id, fetch_wait_ms=_FETCH_WAIT_MS)
        async with AsyncExitStack() as opening:
            await opening.enter_async_context(opened(reader))
            reader.assign(partitions)
            await reader.seek_to_beginning(*partitions)
            self._clients.push_async_exit(opening.pop_all())
        self._reader, self._partitions = reader, partitions
        return True

    def _add(self, record: ConsumerRecord) -> None:
        value: Any = decode(self._topic, record.value, record.headers, timestamp(record.timestamp), record.key)
        key = (record.key or b"").decode("utf-8", "replace")
        self.unreadable.discard(key)
        if isinstance(value, Dead):
            self.unreadable.add(key)
            log.warning("a record can't be decoded", topic=record.topic, offset=record.offset, error=value.detail)
        else:
            self.note(value)

    async def compare_and_set(
        self,
        key: str,
        transition: Callable[[V | None], V | None],
        envelope: Callable[[V], Envelope],
        transactional_id: str,
        offsets: GroupOffsets,
    ) -> V | None:
        """Applies a transition to a key's newest value and writes the result. Returns the newest value after that.

        The transition takes None if there is no value, and returns None to change nothing. It is called again if
        another process has written meanwhile. The transactional id is the same for every writer of the key. The offsets
        are committed in the same transaction, if there is a change.
        Raises KafkaError if the cluster failed; nothing was written, or all of it.
        """
        until = self._clock.monotonic() + _FENCED_SECONDS
        while True:
            # Without a change no producer is opened: it would fence other writers.
            before = (await self.refresh()).get(key)
            if transition(before) is None:
                return before
            try:
                return await self._write(key, transition, envelope, transactional_id, offsets)
            except KafkaError as error:
                if not _is_fenced(error):
                    raise
                if self._clock.monotonic() >= until:
                    # Constant fencing and a broker that always fails can't be told apart.
                    raise KafkaTimeoutError(
                        f"{key} could not be written to {self._topic.name} within {_FENCED_SECONDS:g} s "
                        f"({error.__cause__ or error!r}): others keep writing about it, or the broker fails; try "
                        "again, and see `assay doctor`"
                    ) from error
                log.info("a change is not written yet", topic=self._topic.name, key=key, error=repr(error))
                await self._clock.sleep(full_jitter(1, _PAUSE_SECONDS, _PAUSE_SECONDS, self._chance))

    async def _write(
        self,
        key: str,
        transition: Callable[[V | None], V | None],
        envelope: Callable[[V], Envelope],
        transactional_id: str,
        offsets: GroupOffsets,
    ) -> V | None:
        """Changes a value once: fences, reads what was written before the fence, and writes."""
        if self._reader is None:
            raise UnknownTopicOrPartitionError(no_topic(self._kafka.topic_prefix + self._topic.name))
        deadline = self._kafka.transaction_timeout_seconds
        writer = RecordWriter(lambda: make_producer(self._kafka, transactional_id, self._client_id), deadline)
        async with opened(make_reader(self._kafka, client_id=self._client_id, uncommitted=True)) as uncommitted:
            try:
                await writer.start()
                # A transaction that a killed writer of another key has left open ends when the broker aborts it.
                async with asyncio.timeout(2 * deadline):
                    await await_open_transactions(self._reader, uncommitted, self._partitions)
                    await self.refresh()
                before = self.rows.get(key)
                after = transition(before)
                if after is None:
                    return before
                record = encode(self._topic, after, envelope(after))
                starts = {at: OffsetAndMetadata(offset, "") for at, offset in offsets.offsets.items()}
                await writer.write(self._kafka.topic_prefix, [record], offsets.group, starts)
            except TimeoutError:
                raise KafkaTimeoutError(f"{self._topic.name} did not answer within {deadline:g} s") from None
            finally:
                await writer.stop()
            self.note(after)
            # A broker confirms a commit before readers see it, but the next process that reads the table must see it.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(deadline):
                    await await_open_transactions(self._reader, uncommitted, self._partitions)
            await self.refresh()
        return self.rows[key]


def _is_fenced(error: KafkaError) -> bool:
    """Whether another writer has the transactional id. A broker that fences during a commit answers UnknownError."""
    cause = error.__cause__ or error
    return isinstance(error, FENCED) or isinstance(cause, (*FENCED, UnknownError))
