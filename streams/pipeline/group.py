"""One handler's membership in a consumer group: intake, the records in flight, and the assigned partitions.

A runner starts the records of all partitions in order, and moves those that wait on I/O to tasks. While the circuit
breaker is open, only the probe runs.

Invariants: intake never raises and never waits. No record of a partition that is closing starts. The event loop gets
control at least every few milliseconds, so heartbeats continue.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from aiokafka import ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import CommitterFactory
from streams.pipeline.consumer import CountingConsumer, PartitionCursor
from streams.pipeline.failures import due_at
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.partition import GapListener, Held, Partition
from streams.pipeline.processor import Pending, RecordProcessor
from streams.runtime.clock import Clock
from streams.settings.model import PipelineSettings
from streams.topology import Handler, RetryTopic


@dataclass(frozen=True, slots=True)
class Subscription:
    """A handler and the topic its work comes from; ``topic`` and ``group`` are before the prefix."""

    handler: Handler
    retry_topic: RetryTopic | None = None
    own_group: str = ""  # the group of a replay's plan; by default that of the handler or of the retry topic

    @property
    def topic(self) -> str:
        return self.retry_topic.topic if self.retry_topic else self.handler.consumes.name

    @property
    def group(self) -> str:
        return self.own_group or (self.retry_topic or self.handler).group


def subscriptions(handler: Handler) -> tuple[Subscription, ...]:
    """The handler's own topic first, then its retry topics."""
    return (Subscription(handler), *(Subscription(handler, topic) for topic in handler.retry_topics))


AssignmentListener = Callable[[Subscription, int, int], None]
_SLICE_SECONDS = 0.005  # work done before the event loop gets control
_CLIENT_TASKS = {"_coordinator": "_coordination_task", "_fetcher": "_fetch_task", "_client": "_sync_task"}
"""The background tasks of aiokafka's consumer: group membership, fetches, cluster metadata."""


@dataclass(eq=False, repr=False)
class ConsumerGroup(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka is not typed
    """This process's part of the consumer group of a handler, or of one of its retry topics.

    Partitions come with the first rebalance.

    Attributes:
        work: What is done with each record.
        committers: How partitions commit.
        breaker: Pauses intake while a dependency of the handler is down.
        on_assignment: Called after each rebalance with the number of the topic's partitions held here, and in all.
        ends: For each partition the first offset that is not read; None to read on for ever.
        pause: Seconds for which no record may be started.
        on_gap: As of ``Partition``.
        lag: Records up to the end of the topic that are not committed yet, as of the last ``measure_lag``.
    """

    subscription: Subscription
    work: RecordProcessor
    committers: CommitterFactory
    settings: PipelineSettings
    clock: Clock
    observer: PipelineMetrics
    breaker: Breaker
    on_assignment: AssignmentListener | None = None
    ends: Mapping[TopicPartition, int] | None = None
    pause: Callable[[], float] | None = None
    on_gap: GapListener | None = None

    def __post_init__(self) -> None:
        self.handler = self.subscription.handler
        self.partitions: dict[TopicPartition, Partition] = {}
        self.rebalancing = True
        self.lag = 0
        self._rebalancing_since = self.clock.monotonic()
        self.find_consumer: Callable[[], CountingConsumer | None] = lambda: None
        """FastStream makes the consumer when the subscriber starts."""
        self._ready: deque[tuple[Partition, Held]] = deque()
        self._later: list[tuple[float, int, Partition, Held]] = []
        self._numbers = count()
        self._wake = asyncio.Event()
        self._in_flight = 0
        self._runner: asyncio.Task[None] | None = None
        self._closing = False
        self._starving: dict[TopicPartition, tuple[int, float]] = {}
        """The position of each partition that gets no records, and since when."""

    @property
    def consumer(self) -> CountingConsumer | None:
        """The consumer; None before the subscriber has started."""
        return self.find_consumer()

    def intake(self, records: Sequence[ConsumerRecord]) -> None:
        """Takes in the records of one poll, in the order of their partitions. Records without room are requested again.

        FastStream has put the records of all partitions into one sequence.
        """
        by_partition: dict[tuple[str, int], list[ConsumerRecord]] = {}
        for record in records:
            by_partition.setdefault((record.topic, record.partition), []).append(record)
        for place, taken in by_partition.items():
            partition = self.partitions.get(TopicPartition(*place))
            if partition is not None:
                partition.admit(taken)

    def _enqueue(self, partition: Partition, entry: Held) -> None:
        if self.subscription.retry_topic is not None and entry.record is not None:
            heapq.heappush(self._later, (due_at(entry.record), next(self._numbers), partition, entry))
        else:
            self._ready.append((partition, entry))
        self._wake.set()

    def start(self) -> None:
        self.breaker.listen(self._breaker_changed)
        self._runner = asyncio.create_task(self._run(), name=f"runner {self.handler.name}")

    def _breaker_changed(self) -> None:
        for partition in self.partitions.values():
            partition.cursor.set_breaker(not self.breaker.closed)
        self._wake.set()

    async def _run(self) -> None:
        slice_began = self.clock.monotonic()
        while True:
            next_due = self._move_due() if self._later else None
            full = self._in_flight >= (self.work.concurrency if self.breaker.closed else 1)
            pause = self.pause() if self.pause is not None and self._ready and not full else 0.0
            if not self._ready or full or pause > 0:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause or next_due):
                        await self._wake.wait()
                slice_began = self.clock.monotonic()
                continue
            # Step 3. Start the next record.
            partition, entry = self._ready.popleft()
            self._begin(partition, entry)
            if self.clock.monotonic() - slice_began > _SLICE_SECONDS:
                await asyncio.sleep(0)
                slice_began = self.clock.monotonic()

    def _move_due(self) -> float | None:
        """Moves due records to those that may start; returns the seconds until the next one is due."""
        now = self.clock.now().timestamp()
        while self._later and self._later[0][0] <= now:
            _, _, partition, entry = heapq.heappop(self._later)
            self._ready.append((partition, entry))
        return self._later[0][0] - now if self._later else None

    def _begin(self, partition: Partition, entry: Held) -> None:
        record = entry.record
        if record is None or not partition.takes_work:
            return
        entry.started_at = self.clock.monotonic()
        result = self.work.begin(record)
        if not isinstance(result, Pending):
            partition.finish(entry, result)
            return
        self._in_flight += 1
        task = asyncio.create_task(self._complete(partition, entry, result))
        partition.running.add(task)
        task.add_done_callback(partition.running.discard)

    async def _complete(self, partition: Partition, entry: Held, pending: Pending) -> None:
        try:
            partition.finish(entry, await self.work.complete(pending))
        finally:
            self._in_flight -= 1
            self._wake.set()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Pauses the assigned partitions, then opens each in the background: fence, read committed, seek."""
        consumer = self.consumer
        if consumer is None or self._closing:
            return
        mine = list(assigned)
        consumer.pause(*mine)
        self._starving.clear()
        for key in mine:
            cursor = PartitionCursor(key, consumer)
            cursor.set_breaker(not self.breaker.closed)
            partition = self.partitions[key] = Partition(
                key,
                cursor,
                self.committers(key, consumer),
                self.work,
                self.settings,
                self.clock,
                self._enqueue,
                serialize_by_key=self.handler.serialize_by_key,
                end=None if self.ends is None else self.ends.get(key, 0),
                on_gap=self.on_gap,
            )
            partition.open()
        self.rebalancing = False
        self._report_assignment(consumer)
        self.observer.rebalanced()

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Finishes, commits and closes within half of the drain budget, because the whole group waits meanwhile."""
        self._rebalancing_since = self.clock.monotonic()
        self.rebalancing = True
        await self._close(list(revoked), self.settings.drain_seconds / 2)
        self.breaker.on_revoked()

    async def stop(self, drain_seconds: float) -> None:
        """Stops intake, finishes and commits the work in progress within the budget, and closes every partition."""
        self._closing = True
        if self.consumer is not None and self.partitions:
            self.consumer.pause(*self.partitions)
        await self._close(list(self.partitions), drain_seconds)
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)

    async def _close(self, keys: Sequence[TopicPartition], drain_seconds: float) -> None:
        leaving = [partition for key in keys if (partition := self.partitions.pop(key, None)) is not None]
        await asyncio.gather(*(partition.close(drain_seconds) for partition in leaving))
        # Only now: records that were drained may have needed this process's share of a model's limit.
        if self.consumer is not None:
            self._report_assignment(self.consumer)
        gone = set(map(id, leaving))
        self._ready = deque(item for item in self._ready if id(item[0]) not in gone)
        self._later = [item for item in self._later if id(item[2]) not in gone]
        heapq.heapify(self._later)

    def _report_assignment(self, consumer: CountingConsumer) -> None:
        if self.on_assignment is None:
            return
        topics = {key.topic for key in self.partitions}
        there = sum(len(consumer.partitions_for_topic(topic) or ()) for topic in topics)
        self.on_assignment(self.subscription, len(self.partitions), max(there, len(self.partitions)))

    async def caught_up(self) -> bool:
        """Whether nothing is held and every partition has committed the end of its topic."""
        return self.settled and await self.measure_lag() and self.lag == 0 and self.settled

    async def measure_lag(self) -> bool:
        """Asks for the ends of the partitions; sets ``lag``, and notes which partitions starve.

        Returns:
            False if the cluster does not answer, or partitions are not open yet.
        """
        consumer = self.consumer
        if consumer is None or not self.opened:
            return False
        # A member without partitions asks for another one: the answer shows that the cluster is there.
        asked = list(self.partitions) or [TopicPartition(topic, 0) for topic in consumer.subscription()]
        try:
            ends = await consumer.end_offsets(asked)
        except (KafkaError, OSError):
            self._starving.clear()
            return False
        held = {key: partition for key, partition in self.partitions.items() if key in ends and partition.opened}
        self.lag = sum(max(0, ends[key] - (partition.committed or 0)) for key, partition in held.items())
        self.observer.lags(self.subscription.topic, self.lag)
        self._note_starving({key: partition.position() for key, partition in held.items() if not partition.held}, ends)
        return True

    @property
    def settled(self) -> bool:
        """Whether every partition is open and holds nothing."""
        return all(
            partition.opened and not partition.held and partition.committed == partition.position()
            for partition in self.partitions.values()
        )

    @property
    def opened(self) -> bool:
        """Whether the group has assigned its partitions and those held here are open."""
        return not self.rebalancing and all(partition.opened for partition in self.partitions.values())

    @property
    def failed(self) -> BaseException | None:
        """A bug that ended the runner or a partition; the process should be restarted."""
        if self._runner is not None and self._runner.done() and not self._runner.cancelled():
            return self._runner.exception()
        return next((failed for p in self.partitions.values() if (failed := p.failed) is not None), None)

    @property
    def client_failed(self) -> str | None:
        """Which of the consumer's own tasks has ended, and why. aiokafka neither restarts nor reports it."""
        for owner, name in _CLIENT_TASKS.items():
            task = getattr(getattr(self.consumer, owner, None), name, None)
            if task is not None and task.done() and not task.cancelled() and not self._closing:
                return f"{name}: {task.exception()!r}"
        return None

    @property
    def trouble(self) -> tuple[str, Exception] | None:
        """The place and the error of a last poll, opening or commit that failed, if there is one."""
        if self.consumer is not None and self.consumer.trouble is not None:
            return f"reading {self.subscription.topic}", self.consumer.trouble
        errors = ((f"{key.topic}/{key.partition}", known.committer.trouble) for key, known in self.partitions.items())
        return next(((place, error) for place, error in errors if error is not None), None)

    @property
    def oldest_seconds(self) -> float:
        """Seconds since the oldest work was started, or since commits fail; 0 if neither is so.

        Work that waits for the circuit breaker does not count.
        """
        partitions = self.partitions.values()
        since = [moment for p in partitions if (moment := p.committer.failing_since) is not None]
        if self.breaker.closed:
            starts = [moment for p in partitions if (moment := p.window.started_since) is not None]
            since += [max(moment, self.breaker.closed_at) for moment in starts]
        return self.clock.monotonic() - min(since) if since else 0.0

    @property
    def kept_waiting(self) -> tuple[float, str]:
        """Seconds for which there has been work and the handler's dependency has been down, and the cause."""
        if not self.lag and not any(partition.held for partition in self.partitions.values()):
            return 0.0, ""
        return self.breaker.open_seconds, self.breaker.cause

    @property
    def unjoined_seconds(self) -> float:
        """Seconds for which the group has assigned no partitions, or the partitions held here do not open."""
        if self.opened or self._closing or self._runner is None:
            return 0.0
        return self.clock.monotonic() - self._rebalancing_since

    @property
    def starved(self) -> tuple[float, str]:
        """Seconds for which a partition has got no record although its log has more, and which partition.

        As of the last ``measure_lag``. A partition does not starve while it holds records, however slow the handler is;
        while the handler's dependency is down; or once a replay has read it to the end of its range.
        """
        if not self._starving:
            return 0.0, ""
        key, (_, since) = min(self._starving.items(), key=lambda item: item[1][1])
        return self.clock.monotonic() - since, f"{key.topic}/{key.partition}"

    @property
    def unpolled_seconds(self) -> float:
        """Seconds since the last poll. Intake polls many times a second, also under back pressure."""
        consumer = self.consumer
        return 0.0 if consumer is None or self._closing else time.monotonic() - consumer.polled_at

    def tick(self) -> None:
        """Called twice a second: commits positions that moved past markers, and sets gauges."""
        for partition in self.partitions.values():
            partition.tick()
        held = sum(p.held for p in self.partitions.values())
        size = sum(p.window.bytes_held for p in self.partitions.values())
        self.observer.holds(self.subscription.topic, held, size, self._in_flight, self.oldest_seconds)

    def _note_starving(self, empty: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
        """Takes the positions of the partitions that hold nothing; notes those that are not at their end."""
        now, before = self.clock.monotonic(), self._starving
        last = ends if self.ends is None else {key: min(end, self.ends.get(key, 0)) for key, end in ends.items()}
        self._starving = {
            key: before[key] if key in before and before[key][0] == position else (position, now)
            for key, position in empty.items()
            if position < last[key] and self.breaker.closed and not self._closing
        }
