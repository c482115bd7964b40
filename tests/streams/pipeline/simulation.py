"""A cluster and its clients, small enough to be right: the pipeline runs on them without a broker.

The consumer is the product's own over a model of aiokafka's, and the committer is the product's own over a model of
transactions with a fence. What must never happen is noted in
``Cluster.faults`` when it happens, for an assertion raised inside the pipeline could be swallowed there.
"""

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaConnectionError, KafkaError, MessageSizeTooLargeError
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from schemas.outcome import Drop, DropReason
from streams.kafka.transactions import RecordWriter
from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import Committer
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.metrics import PipelineMetrics
from streams.settings.model import BreakerSettings, PipelineSettings
from streams.telemetry.metrics import Metrics
from streams.topology import RetryTopic
from streams.topology.codec import UNREADABLE_HEADER, OutputRecord
from tests.streams.doubles import handler_of
from tests.streams.pipeline.model_work import DEAD, OUT, ModelWork
from tests.streams.pipeline.virtual_time import LoopClock

DEADLINE_SECONDS = 3.0
MOVES = 0.1
"""How often a fence finds that another broker coordinates the group."""


@contextmanager
def without_noise() -> Iterator[None]:
    """Silences the log of the faults that these tests cause."""
    with capture_logs():
        yield


@dataclass
class Cluster:
    """Logs with gaps, offsets, fences, and all that ever became visible. Trouble is given as what comes next."""

    chance: random.Random
    logs: dict[TopicPartition, list[ConsumerRecord]] = field(default_factory=lambda: defaultdict(list))
    ends: Counter[TopicPartition] = field(default_factory=Counter)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    visible: dict[TopicPartition, list[OutputRecord]] = field(default_factory=lambda: defaultdict(list))
    epochs: Counter[TopicPartition] = field(default_factory=Counter)
    undecided: dict[TopicPartition, tuple[Sequence[OutputRecord], int]] = field(default_factory=dict)
    unreadable: set[tuple[TopicPartition, int]] = field(default_factory=set)
    refused: set[tuple[TopicPartition, int]] = field(default_factory=set)
    outcomes: list[str] = field(default_factory=list)
    failing_opens: int = 0
    failing_polls: int = 0
    wear: int = 0
    headers: Sequence[tuple[str, bytes]] = ()
    faults: list[str] = field(default_factory=list)
    coordinator: int = 1
    """The broker that coordinates the group; others answer reads with what was committed when they ceased to."""
    before: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    """What was committed then, by broker."""

    def write(self, partition: TopicPartition, key: bytes | None, delay: float, size: int = 0) -> int:
        """Appends a record whose work takes ``delay`` seconds; None of them is a transaction's marker."""
        offset = self.ends[partition]
        self.ends[partition] += 1
        value = f"{delay} ".encode() + b"x" * size
        record = ConsumerRecord(
            partition.topic, partition.partition, offset, 0, 0, key, value, None, 0, 0, self.headers
        )
        self.logs[partition].append(record)
        return offset

    def mark(self, partition: TopicPartition) -> None:
        """A transaction ends: its marker takes an offset and is no record."""
        self.ends[partition] += 1

    def fence(self, partition: TopicPartition) -> int:
        """A new owner: the old one can't write any more, and what it had not ended is ended now, either way."""
        self.epochs[partition] += 1
        if self.chance.random() < MOVES:
            self.before[self.coordinator] = dict(self.committed)
            self.coordinator += 1
        if (undecided := self.undecided.pop(partition, None)) is not None and self.chance.random() < 0.5:
            self.apply(partition, *undecided)
        return self.epochs[partition]

    def apply(self, partition: TopicPartition, outputs: Sequence[OutputRecord], next_offset: int) -> None:
        """A transaction becomes visible, with its offset. Here it shows whether all that was promised is kept."""
        before = self.committed.get(partition, 0)
        if next_offset < before or next_offset > self.ends[partition]:
            self.faults.append(f"{partition}: committed {next_offset} after {before}")
        self.committed[partition] = next_offset
        records = [record for record in self.logs[partition] if before <= record.offset < next_offset]
        by_key: dict[bytes | None, int] = {}
        for output in outputs:
            offset = int(output.value or b"")
            if output.key is not None and offset < by_key.get(output.key, -1):
                self.faults.append(f"{partition}: {offset} is out of order")
            by_key[output.key] = offset
            if output.topic == DEAD and (partition, offset) not in self.unreadable | self.refused:
                self.faults.append(f"{partition}: {offset} is buried and not to blame")
        if sorted(int(output.value or b"") for output in outputs) != [record.offset for record in records]:
            self.faults.append(f"{partition}: outputs of {[o.value for o in outputs]} for {before} to {next_offset}")
        self.visible[partition] += outputs

    async def pause(self) -> None:
        """As long as a request takes: some turns of the loop, or none."""
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)


class ModelWriter(RecordWriter):
    """Transactions of one input partition, as the broker and a correct producer together make them."""

    def __init__(self, cluster: Cluster, partition: TopicPartition) -> None:
        self.deadline_seconds = DEADLINE_SECONDS
        self._cluster = cluster
        self._partition = partition
        self._epoch: int | None = None
        self._worn = False
        self.is_open = False

    @property
    def needs_renewal(self) -> bool:
        return self._worn

    async def start(self) -> None:
        if self.is_open:
            self._cluster.faults.append(f"{self._partition}: opened twice")
        self.is_open, self._worn = True, False
        await self._refuse()
        self._epoch = self._cluster.fence(self._partition)

    async def await_coordinator(self, *_: Any) -> int:
        await self._refuse()
        return self._cluster.coordinator

    async def _refuse(self) -> None:
        await self._cluster.pause()
        if self._cluster.failing_opens:
            self._cluster.failing_opens -= 1
            raise KafkaConnectionError("not now")

    async def write(self, *given: Any, **_: Any) -> None:
        _prefix, records, _group, offsets = given
        cluster, partition = self._cluster, self._partition
        next_offset = offsets[partition].offset
        epoch, self._epoch = self._epoch, None  # given back on success only: after a doubt it is of no use
        if epoch is None or self._worn:
            cluster.faults.append(f"{partition}: used after a doubt, or worn out")
            raise KafkaError("of no use")
        outcome = cluster.outcomes.pop(0) if cluster.outcomes else "works"
        await cluster.pause()
        if any(o.topic == OUT and (partition, int(o.value or b"")) in cluster.refused for o in records):
            raise MessageSizeTooLargeError("too large")
        if outcome == "lost before" or epoch != cluster.epochs[partition]:
            raise KafkaError(outcome)
        cluster.undecided[partition] = (records, next_offset)
        await cluster.pause()
        if outcome == "undecided":
            await asyncio.sleep(DEADLINE_SECONDS)
            raise KafkaError(outcome)
        if epoch != cluster.epochs[partition]:
            raise KafkaError("fenced")
        cluster.apply(partition, *cluster.undecided.pop(partition))
        await cluster.pause()
        if outcome == "lost after":
            raise KafkaError(outcome)
        self._epoch = epoch
        if cluster.wear:
            cluster.wear, self._worn = cluster.wear - 1, True

    async def stop(self, *_: Any) -> None:
        self._epoch, self.is_open = None, False
        await self._cluster.pause()


class _ModelConsumer(AIOKafkaConsumer):  # type: ignore[misc] # aiokafka is not typed
    """What aiokafka's consumer does with positions, pauses and failing polls."""

    def __init__(self, cluster: Cluster) -> None:
        """Opens nothing."""
        self._cluster = cluster
        self._client = SimpleNamespace(send=None)
        self._positions: dict[TopicPartition, int | None] = {}
        self._paused: set[TopicPartition] = set()
        self._assigned = asyncio.Event()

    def __del__(self) -> None:
        """The parent's would look for connections."""

    def begin_reassignment(self) -> None:
        self._assigned.clear()

    def assignment(self) -> set[TopicPartition]:
        return set(self._positions)

    @property
    def assigned(self) -> list[TopicPartition]:
        return list(self._positions)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self._positions, self._paused = dict.fromkeys(partitions), set()
        self._assigned.set()

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        await self._cluster.pause()
        for partition in partitions:
            self._known(partition)
        await self._assigned.wait()
        drained: dict[TopicPartition, list[ConsumerRecord]] = {}
        room = max_records or 500
        for partition in self._cluster.chance.sample(sorted(self._positions), len(self._positions)):
            if partition in self._paused or (partitions and partition not in partitions):
                continue
            if records := self._take(partition, room):
                drained[partition] = records
            if not (room := room - len(records)):
                break
        if drained and self._cluster.failing_polls:
            self._cluster.failing_polls -= 1
            raise KafkaConnectionError("the positions have moved already")
        if not drained:
            await asyncio.sleep(timeout_ms / 1000)
        return drained

    def _take(self, partition: TopicPartition, most: int) -> list[ConsumerRecord]:
        """Records from the position on, which moves with each of them, and past markers behind the last."""
        position = self._positions[partition]
        if position is None:
            return []
        taken: list[ConsumerRecord] = []
        waiting = [record for record in self._cluster.logs[partition] if record.offset >= position]
        for record in waiting[:most]:
            self._positions[partition] = record.offset + 1
            if (partition, record.offset) in self._cluster.unreadable:
                record = replace(record, key=None, value=None, headers=((UNREADABLE_HEADER, b"too large"),))
            taken.append(record)
        if len(waiting) <= most:
            self._positions[partition] = self._cluster.ends[partition]
        return taken

    def _known(self, partition: TopicPartition) -> None:
        if partition not in self._positions:
            raise IllegalStateError(f"{partition} is not assigned")

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._known(partition)
        self._positions[partition] = offset

    def pause(self, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self._known(partition)
            self._paused.add(partition)

    def resume(self, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self._known(partition)
            self._paused.discard(partition)

    def paused(self) -> set[TopicPartition]:
        return set(self._paused)

    async def position(self, partition: TopicPartition) -> int:
        while True:
            self._known(partition)
            if (position := self._positions[partition]) is not None:
                return position
            await asyncio.sleep(0.01)

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        await self._cluster.pause()
        return dict.fromkeys(partitions, 0)

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        await self._cluster.pause()
        return {partition: self._cluster.ends[partition] for partition in partitions}


class ModelConsumer(CountingConsumer, _ModelConsumer):
    """The product's consumer over the model of aiokafka's."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster=cluster)
        self.forget_coordinator()

    @property
    def coordinator_connection(self) -> object | None:
        """One that lasts until the coordinator is forgotten."""
        return self._connection

    @property
    def coordinator_node(self) -> int | None:
        """The coordinator when it was looked up; a read does that."""
        return self._node

    def forget_coordinator(self) -> None:
        """The next read looks it up."""
        self._node: int | None = None
        self._connection: object | None = None

    async def committed(self, partition: TopicPartition) -> int | None:
        await self._cluster.pause()
        if self._node is None:
            self._node, self._connection = self._cluster.coordinator, object()
        return self._cluster.before.get(self._node, self._cluster.committed).get(partition)


class Process:
    """One process: the product's consumer group over the models, polled as FastStream polls."""

    def __init__(
        self,
        cluster: Cluster,
        settings: PipelineSettings,
        lanes: bool = True,
        concurrency: int = 2,
        ends: Mapping[TopicPartition, int] | None = None,
        pause: Callable[[], float] | None = None,
        due: datetime | None = None,
    ) -> None:
        self.cluster = cluster
        self.consumer = ModelConsumer(cluster)
        self._writers: list[ModelWriter] = []
        if due is not None:
            cluster.headers = (("x-not-before", str(int(1000 * due.timestamp())).encode()),)
        clock = LoopClock()
        observer = PipelineMetrics(Metrics(CollectorRegistry()), "toy")
        self.breaker = Breaker(BreakerSettings(failures=1), clock)
        handler = replace(handler_of(lambda *_: Drop(DropReason.NOTHING_TO_DO)), ordered_by_key=lanes)
        self.group = ConsumerGroup(
            Subscription(handler, None if due is None else RetryTopic(topic="in", group="group", delay_seconds=60)),
            ModelWork(concurrency),
            lambda partition, consumer: Committer(
                partition,
                consumer,
                self._writer(partition),
                clock,
                observer,
                group="group",
                topic_prefix="",
                transactional=True,
            ),
            settings,
            clock,
            observer,
            self.breaker,
            ends=ends,
            pause=pause,
        )
        self.group.attach(lambda: self.consumer)
        self.group.start()
        self._poll_records = settings.poll_records
        self._tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._tick())]

    async def revoke(self) -> None:
        """A rebalance begins: everything is given back."""
        self.consumer.begin_reassignment()
        await self.group.on_partitions_revoked(self.consumer.assigned)

    async def assign(self, *partitions: TopicPartition) -> None:
        """A rebalance ends."""
        self.consumer.assign(partitions)
        await self.group.on_partitions_assigned(partitions)

    async def stop(self, drain_seconds: float = 5.0) -> None:
        """As the application stops: first the group, then the consumer."""
        await self.group.stop(drain_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if any(writer.is_open for writer in self._writers):
            self.cluster.faults.append("stopped, and a producer is open")

    def _writer(self, partition: TopicPartition) -> ModelWriter:
        self._writers.append(ModelWriter(self.cluster, partition))
        return self._writers[-1]

    async def crash(self) -> None:
        """The process ends at its current step; nothing of it is closed."""
        of_partitions = [task for p in self.group.partitions.values() for task in (p._life, *p.running)]
        ended = [task for task in (*self._tasks, self.group._runner, *of_partitions) if task is not None]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)

    async def _poll(self) -> None:
        while True:
            try:
                polled = await self.consumer.getmany(timeout_ms=50, max_records=self._poll_records)
            except KafkaConnectionError:
                await asyncio.sleep(5)
                continue
            await self.cluster.pause()
            self.group.intake(tuple(itertools.chain(*polled.values())))
            await asyncio.sleep(0 if polled else 0.05)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            self.group.tick()
