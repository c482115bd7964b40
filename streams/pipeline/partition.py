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
from enum import Enum

import structlog
from aiokafka import ConsumerRecord, TopicPartition

from schemas.outcome import Dead, DeadReason
from streams.clock import Clock
from streams.codec import OutputRecord
from streams.pipeline.commit import CommitStage, Committer
from streams.pipeline.consumer import CountingConsumer, PartitionFlow
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, RecordWork
from streams.pipeline.window import Entry, Window
from streams.settings import PipelineSettings

log = structlog.get_logger(__name__)

Held = Entry[ConsumerRecord, Done]


class State(Enum):
    """Where a partition stands in its life."""

    OPENING = "opening"
    RUNNING = "running"
    CLOSED = "closed"


class Partition:
    """Intake, window and commit of one input partition, for one assignment."""

    def __init__(
        self,
        partition: TopicPartition,
        consumer: CountingConsumer,
        stage: CommitStage,
        work: RecordWork,
        settings: PipelineSettings,
        lanes_by_key: bool,
        start: Callable[[Partition, Held], None],
        clock: Clock,
        observer: PipelineMetrics,
        end: int | None = None,
    ) -> None:
        """Prepares the partition; ``open`` brings it to life.

        Args:
            partition: Topic (with prefix) and number.
            consumer: The group's consumer; the partition is paused on it.
            stage: Commits outputs and offset.
            work: Makes the dead letter of outputs that are refused.
            settings: How much is held, when it commits.
            lanes_by_key: Whether one key's records wait for each other.
            start: Told of every entry that may start now.
            clock: For lingering and ages.
            observer: Told of commits.
            end: The first offset that is not taken in, where reading has an end.
        """
        self.partition = partition
        self.state = State.OPENING
        self.committed: int | None = None
        self.running: set[asyncio.Task[None]] = set()
        self._commits = Committer(partition, consumer, stage, clock, observer)
        self._work = work
        self._settings = settings
        self._lanes_by_key = lanes_by_key
        self._start = start
        self._clock = clock
        self._end = end
        self._window: Window[ConsumerRecord, Done] = self._empty_window()
        self._flow = PartitionFlow(partition, consumer)
        self._resting = False
        self._progress = asyncio.Event()
        self._careful = 0
        self._refused: dict[int, str] = {}
        self._stopping = False
        self._life: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Starts the partition's life in the background, so a rebalance doesn't wait for the fence."""
        self._life = asyncio.create_task(self._live(), name=f"partition {self.partition}")

    @property
    def opened(self) -> bool:
        """Whether it takes records in and commits."""
        return self.state is State.RUNNING

    @property
    def held(self) -> int:
        """Records taken in and not committed."""
        return len(self._window)

    @property
    def bytes_held(self) -> int:
        """Bytes of them."""
        return self._window.bytes_held

    @property
    def failed(self) -> BaseException | None:
        """The error that ended the partition's life before its time; a bug, and a reason to restart."""
        if self._life is None or not self._life.done() or self._life.cancelled():
            return None
        return self._life.exception()

    @property
    def busy_since(self) -> float | None:
        """Since when the oldest work goes on; None where none does. What has not been started is not counted."""
        return self._window.started_since

    @property
    def failing_since(self) -> float | None:
        """Since when commits fail; None where they don't."""
        return self._commits.failing_since

    def position(self) -> int:
        """Every record below this offset is committed or in hand."""
        return self._flow.position

    def rest(self, resting: bool) -> None:
        """Takes no records in while what the handler needs is down; what is in hand stays."""
        self._resting = resting
        if self.state is State.RUNNING and not self._stopping:
            self._flow.rest(resting)

    def admit(self, records: Sequence[ConsumerRecord]) -> None:
        """Takes records of one poll in, until the window is full; the rest is asked for again later. Never raises."""
        if self.state is not State.RUNNING or self._stopping:
            return
        if self._flow.outdated():
            return
        for record in records:
            if record.offset < self._flow.next_offset:
                continue
            if record.offset in self._refused:
                self._bury(record)
                continue
            size = len(record.value or b"") + len(record.key or b"")
            beyond = self._end is not None and record.offset >= self._end
            if beyond or self._flow.shut or not self._window.has_room(size):
                self._flow.refuse(record.offset)
                return
            entry = self._window.admit(record.offset, record.key, size, record)
            self._flow.took(record.offset)
            if entry is not None:
                self._start(self, entry)

    def finish(self, entry: Held, done: Done) -> None:
        """Puts a record's result in and lets the next of its key start."""
        if self.state is State.CLOSED or not self._window.owns(entry):
            return
        following = self._window.finish(entry, done, done.size)
        self._progress.set()
        if following is not None:
            self._start(self, following)

    async def close(self, drain_seconds: float) -> None:
        """Finishes what is in work within the budget, commits it, and lets go. Never raises."""
        self._stopping = True
        self._flow.end()
        if self.state is State.RUNNING and drain_seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(drain_seconds):
                    await self._drain()
        self.state = State.CLOSED
        for task in (*self.running, *([self._life] if self._life else [])):
            task.cancel()
        await asyncio.gather(*self.running, *([self._life] if self._life else []), return_exceptions=True)
        self._window = self._empty_window()
        await self._commits.close()

    def tick(self) -> None:
        """Looks whether the position moved on without records, past transaction markers; called now and then."""
        if self.state is State.RUNNING and self._commit_position() is not None:
            self._progress.set()

    @property
    def takes_work(self) -> bool:
        """Whether an entry may still be started; what isn't started at the close is done again by the next owner."""
        return self.state is State.RUNNING and not self._stopping

    async def _drain(self) -> None:
        """Waits until what was started is finished and committed; intake has stopped.

        What waits for a provider that is down is not waited for: the next owner does it again.
        """
        while self.state is State.RUNNING and (
            (self.running and not self._resting) or self._window.finished_prefix(1, 1)
        ):
            self._progress.set()
            await self._clock.sleep(0.01)

    async def _live(self) -> None:
        self._resume_from(await self._commits.open())
        while self.state is State.RUNNING:
            await self._progress.wait()
            self._progress.clear()
            await self._commit_ready()

    def _resume_from(self, committed: int) -> None:
        """Starts over from an offset: state of before is dropped, and what was asked for before is not taken."""
        self.committed = committed
        self._window = self._empty_window()
        self._flow.start_over(committed, self._resting)
        self.state = State.RUNNING

    async def _commit_ready(self) -> None:
        """Commits the finished prefix as long as there is one; waits a little for company where work goes on."""
        while self.state is State.RUNNING:
            prefix = self._window.finished_prefix(self._limit(), self._settings.commit_bytes)
            if not prefix:
                if (position := self._commit_position()) is not None:
                    await self._commit((), position, 0)
                return
            if len(prefix) < self._limit() and len(prefix) < len(self._window) and self._settings.commit_linger_seconds:
                await self._clock.sleep(self._settings.commit_linger_seconds)
                prefix = self._window.finished_prefix(self._limit(), self._settings.commit_bytes)
            whole = len(prefix) == len(self._window)
            next_offset = self.position() if whole else prefix[-1].offset + 1
            outputs = [output for entry in prefix if entry.done for output in entry.done.outputs]
            await self._commit(outputs, next_offset, len(prefix))

    async def _commit(self, outputs: Sequence[OutputRecord], next_offset: int, inputs: int) -> None:
        """One commit; what the group has committed then decides how to go on."""
        settled = await self._commits.commit(outputs, next_offset)
        if settled.offset == next_offset:
            self._careful = max(0, self._careful - 1)
            self._release(next_offset, inputs)
        elif settled.offset != self.committed:
            log.warning("another process moved the offset", partition=str(self.partition), committed=settled.offset)
            self._resume_from(settled.offset)
        elif settled.refused and inputs == 1:
            self._refused[self._window.finished_prefix(1, 1)[0].offset] = settled.refused
            self._resume_from(settled.offset)
        else:
            self._careful = max(inputs, 1)

    def _release(self, next_offset: int, inputs: int) -> None:
        self.committed = next_offset
        self._window.release(inputs)
        half_records, half_bytes = self._settings.window_records // 2, self._settings.window_bytes // 2
        # Half of it, for each pause throws away what was fetched ahead.
        if len(self._window) <= half_records and self._window.bytes_held <= half_bytes and not self._stopping:
            self._flow.make_room()

    def _bury(self, record: ConsumerRecord) -> None:
        """A record whose outputs no topic takes becomes a dead letter."""
        refusal = Dead(DeadReason.OUTPUT_TOO_LARGE, self._refused.pop(record.offset))
        # Without a key it waits for nobody, and nobody waits for it.
        entry = self._window.admit(record.offset, None, 0, record)
        self._flow.took(record.offset)
        if entry is not None:
            self.finish(entry, self._work.refuse(record, refusal))

    def _commit_position(self) -> int | None:
        """The offset to commit where nothing is in hand and the position moved on; None otherwise."""
        if self._window or self.committed is None:
            return None
        position = self.position()
        return position if position > self.committed else None

    def _empty_window(self) -> Window[ConsumerRecord, Done]:
        return Window(self._settings.window_records, self._settings.window_bytes, self._lanes_by_key)

    def _limit(self) -> int:
        """Inputs of the next transaction: one at a time for a while after a doubt, to find out who is to blame."""
        return 1 if self._careful else self._settings.commit_records
