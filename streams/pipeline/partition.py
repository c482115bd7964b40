"""One assigned input partition: admits records into its window and commits the finished prefix.

A ``Partition`` lives from one assignment to its revocation. A reassignment creates a new one, and late results of the
old one are discarded. Its states:

    opening   fence, read the committed offset, seek there, resume; retried until it works or the partition is revoked
    running   records are admitted; the finished prefix is committed as it grows
    closed    no record is admitted, nothing more is committed

Invariant: the committed offset is the one after the finished prefix, or the consumer's position if nothing is in
flight.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import Enum

import structlog
from aiokafka import ConsumerRecord, TopicPartition

from schemas.outcome import Dead, DeadReason
from streams.pipeline.commit import Committer
from streams.pipeline.consumer import PartitionCursor
from streams.pipeline.processor import Done, RecordProcessor
from streams.pipeline.window import Entry, Window
from streams.runtime.clock import Clock
from streams.settings.model import PipelineSettings
from streams.topology.codec import OutputRecord

log = structlog.get_logger(__name__)

_LITTLE_ROOM = 8  # a window with less than this part of its records as room is full
Held = Entry[ConsumerRecord, Done]
GapListener = Callable[[TopicPartition, int, int], None]


class State(Enum):
    """Where a partition is in its life."""

    OPENING = "opening"
    RUNNING = "running"
    CLOSED = "closed"


@dataclass(eq=False, repr=False)
class Partition:
    """Intake, window and commit of one input partition, for one assignment."""

    partition: TopicPartition  # topic (with prefix) and number
    cursor: PartitionCursor  # its place in the group's consumer
    committer: Committer
    work: RecordProcessor  # makes the dead letter of outputs that the broker refuses
    settings: PipelineSettings
    clock: Clock
    enqueue: Callable[[Partition, Held], None]  # called for every entry that may start now
    _: KW_ONLY
    serialize_by_key: bool  # whether the records of a key are processed one after another
    end: int | None = None  # the first offset that is not taken in; None to read on for ever
    # Called if the records of a poll begin after the next offset, with both offsets.
    on_gap: GapListener | None = None

    def __post_init__(self) -> None:
        self.state = State.OPENING
        self.committed: int | None = None
        self.running: set[asyncio.Task[None]] = set()
        self.window: Window[ConsumerRecord, Done] = self._empty_window()
        self._progress = asyncio.Event()
        self._single_commits = 0  # commits of one record each that are left after a commit in doubt
        self._refused: dict[int, str] = {}  # offsets whose outputs the broker refuses, with its error
        self._life: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Starts the partition's life in the background, so a rebalance does not wait for the fence."""
        self._life = asyncio.create_task(self._live(), name=f"partition {self.partition}")

    @property
    def opened(self) -> bool:
        """Whether it takes records in and commits."""
        return self.state is State.RUNNING

    @property
    def takes_work(self) -> bool:
        """Whether a record may be started. After ``close`` has begun, the next owner processes the others."""
        return self.opened and not self.cursor.closed

    @property
    def held(self) -> int:
        return len(self.window)

    @property
    def failed(self) -> BaseException | None:
        """The error that ended the partition's life before ``close``: a bug, and a reason to restart."""
        if self._life is None or not self._life.done() or self._life.cancelled():
            return None
        return self._life.exception()

    def position(self) -> int:
        """Every record below this offset is committed or held."""
        return self.cursor.position

    def admit(self, records: Sequence[ConsumerRecord]) -> None:
        """Takes in the records of one poll. Never raises."""
        cursor = self.cursor
        if not self.takes_work or cursor.discard_old_poll():
            return
        fresh = [record for record in records if record.offset >= cursor.next_offset]
        if self.on_gap is not None and fresh and fresh[0].offset > cursor.next_offset:
            self.on_gap(self.partition, cursor.next_offset, fresh[0].offset)
        for record in fresh:
            if record.offset in self._refused:
                self._dead_letter(record)
                continue
            if self.end is not None and record.offset >= self.end:
                cursor.end_at(record.offset)
                return
            size = len(record.value or b"") + len(record.key or b"")
            if self.window.exceeds(size):
                cursor.take_again(record.offset)
                return
            # Step 2. Admit the record; it starts unless an earlier one of its key is in progress.
            entry = self.window.admit(record.offset, record.key, size, record)
            cursor.advance(record.offset)
            if entry is not None:
                self.enqueue(self, entry)
        # A partition with little room would make the polls of all partitions small.
        room = self.window.room
        cursor.set_room(room if _LITTLE_ROOM * room >= len(self.window) else 0)

    def finish(self, entry: Held, done: Done) -> None:
        """Stores a record's result and lets the next record of its key start."""
        # A late result may be that of an earlier window.
        if self.state is State.CLOSED or entry.window is not self.window:
            return
        # Step 8. Keep the outputs; the next record of the key may start.
        following = self.window.finish(entry, done, done.size)
        self._progress.set()
        if following is not None:
            self.enqueue(self, following)

    async def close(self, drain_seconds: float) -> None:
        """Finishes and commits the work in progress within the budget, and stops. Never raises."""
        self.cursor.close()
        if self.opened and drain_seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(drain_seconds):
                    await self._drain()
        self.state = State.CLOSED
        tasks = [*self.running, *([self._life] if self._life else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.window = self._empty_window()
        await self.committer.close()

    def tick(self) -> None:
        """Called at intervals: wakes the commit if the position moved past transaction markers without records."""
        if self.opened and self._idle_position() is not None:
            self._progress.set()

    async def _drain(self) -> None:
        """Waits until the records that were started are finished and committed.

        Does not wait for records whose dependency is down; the next owner processes them.
        """
        while self.opened and ((self.running and not self.cursor.breaker_open) or self.window.finished_prefix(1, 1)):
            self._progress.set()
            await self.clock.sleep(0.01)

    async def _live(self) -> None:
        self._resume_from(await self.committer.open())
        while self.opened:
            await self._progress.wait()
            self._progress.clear()
            await self._commit_ready()

    def _resume_from(self, committed: int) -> None:
        """Starts over at an offset: drops all records held, and discards those that were requested before."""
        self.committed = committed
        self.window = self._empty_window()
        self.cursor.start_at(committed, self.window.room)
        self.state = State.RUNNING

    async def _commit_ready(self) -> None:
        """Commits until no finished prefix is left; lingers if more records are about to finish."""
        while self.opened:
            prefix = self.window.finished_prefix(self._limit(), self.settings.commit_bytes)
            if not prefix:
                if (position := self._idle_position()) is not None:
                    await self._commit((), position, 0)
                return
            if len(prefix) < self._limit() and len(prefix) < len(self.window) and self.settings.commit_linger_seconds:
                await self.clock.sleep(self.settings.commit_linger_seconds)
                prefix = self.window.finished_prefix(self._limit(), self.settings.commit_bytes)
            whole = len(prefix) == len(self.window)
            next_offset = self.position() if whole else prefix[-1].offset + 1
            outputs = [output for entry in prefix if entry.done for output in entry.done.outputs]
            # Step 9. Commit the outputs and the offset of the finished records.
            await self._commit(outputs, next_offset, len(prefix))

    async def _commit(self, outputs: Sequence[OutputRecord], next_offset: int, inputs: int) -> None:
        """Commits once; the group's committed offset then decides how to continue."""
        result = await self.committer.commit(outputs, next_offset)
        if result.group_offset == next_offset:
            self._single_commits = max(0, self._single_commits - 1)
            self._release(next_offset, inputs)
        elif result.group_offset != self.committed:
            log.warning(
                "another process moved the offset", partition=str(self.partition), committed=result.group_offset
            )
            self._resume_from(result.group_offset)
        elif result.refusal and inputs == 1:
            # The bytes of a finished record are freed, so its dead letter needs another read.
            self._refused[self.window.finished_prefix(1, 1)[0].offset] = result.refusal
            self._resume_from(result.group_offset)
        else:
            # Nothing was committed. The next commit writes the same outputs again, for one record at a time.
            self._single_commits = max(inputs, 1)

    def _release(self, next_offset: int, inputs: int) -> None:
        self.committed = next_offset
        self.window.release(inputs)
        half_records, half_bytes = self.settings.window_records // 2, self.settings.window_bytes // 2
        # Only at half, because a poll of few records costs as much as one of many.
        if len(self.window) <= half_records and self.window.bytes_held <= half_bytes:
            self.cursor.set_room(self.window.room)

    def _dead_letter(self, record: ConsumerRecord) -> None:
        """Admits a record whose outputs the broker refuses, and finishes it as a dead letter."""
        refusal = Dead(DeadReason.OUTPUT_TOO_LARGE, self._refused.pop(record.offset))
        # Without a key it does not wait for other records.
        entry = self.window.admit(record.offset, None, 0, record)
        self.cursor.advance(record.offset)
        if entry is not None:
            self.finish(entry, self.work.refuse(record, refusal))

    def _idle_position(self) -> int | None:
        """The offset to commit if nothing is held and the position has moved; None otherwise."""
        if self.window or self.committed is None:
            return None
        position = self.position()
        return position if position > self.committed else None

    def _empty_window(self) -> Window[ConsumerRecord, Done]:
        return Window(self.settings.window_records, self.settings.window_bytes, self.serialize_by_key)

    def _limit(self) -> int:
        """Inputs of the next transaction: after a commit in doubt one at a time, to find the record at fault."""
        return 1 if self._single_commits else self.settings.commit_records
