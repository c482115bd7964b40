"""A consumer group of the product over models of a log, a transactional writer and aiokafka's consumer.

``tests/simulation`` runs the product with the real aiokafka and checks what must never happen; these models only let
time pass for tests of one group.
"""

import asyncio
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaConnectionError
from aiokafka.structs import OffsetAndMetadata
from prometheus_client import CollectorRegistry

from schemas.outcome import Dead, Drop, DropReason, Retry, RetryReason
from streams.kafka.transactions import RecordWriter
from streams.pipeline.breaker import Breaker
from streams.pipeline.commit import Committer
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.failures import Input
from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import Done, Pending, RecordWork, Started
from streams.settings.model import BreakerSettings, PipelineSettings
from streams.telemetry.metrics import Metrics
from streams.telemetry.tracing import no_spans
from streams.topology import RetryTopic
from streams.topology.codec import OutputRecord
from tests.streams.doubles import PAGE, handler_of
from tests.streams.pipeline.virtual_time import LoopClock


@dataclass
class Cluster:
    """Logs, and the committed offsets of one group."""

    chance: random.Random
    logs: dict[TopicPartition, list[ConsumerRecord]] = field(default_factory=lambda: defaultdict(list))
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    failing_polls: int = 0
    headers: Sequence[tuple[str, bytes]] = ()

    def write(self, partition: TopicPartition, key: bytes, delay: float) -> int:
        """Appends a record whose work takes ``delay`` seconds; returns its offset."""
        offset = len(self.logs[partition])
        value = f"{delay}".encode()
        self.logs[partition].append(
            ConsumerRecord(partition.topic, partition.partition, offset, 0, 0, key, value, None, 0, 0, self.headers)
        )
        return offset

    async def pause(self) -> None:
        """As long as a request takes: some turns of the loop, or none."""
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)


class ModelWriter(RecordWriter):
    """Transactions of one input partition that always succeed."""

    needs_renewal = False

    def __init__(self, cluster: Cluster) -> None:
        self.deadline_seconds = 3.0
        self.cluster = cluster

    async def start(self) -> None:
        await self.cluster.pause()

    async def start_and_read_offset(self, _: str, partition: TopicPartition) -> OffsetAndMetadata | None:
        await self.start()
        await self.cluster.pause()
        offset = self.cluster.committed.get(partition)
        return None if offset is None else OffsetAndMetadata(offset, "")

    async def write(self, *given: Any, **_: Any) -> None:
        await self.cluster.pause()
        self.cluster.committed |= {partition: meant.offset for partition, meant in given[3].items()}

    async def stop(self, *_: Any) -> None:
        await self.cluster.pause()


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
        """Records from the position on, which moves with each of them."""
        position = self._positions[partition]
        if position is None:
            return []
        taken: list[ConsumerRecord] = []
        waiting = [record for record in self._cluster.logs[partition] if record.offset >= position]
        for record in waiting[:most]:
            self._positions[partition] = record.offset + 1
            taken.append(record)
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
        return {partition: len(self._cluster.logs[partition]) for partition in partitions}


class ModelConsumer(CountingConsumer, _ModelConsumer):
    """The product's consumer over the model of aiokafka's."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster=cluster)

    async def committed(self, partition: TopicPartition) -> int | None:
        await self._cluster.pause()
        return self._cluster.committed.get(partition)


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
                self.writer(),
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

    def writer(self) -> ModelWriter:
        """That of a partition."""
        return ModelWriter(self.cluster)

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


class ModelWork(RecordWork):
    """Work that takes as long as the record says, and writes one output for it, which names the offset."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency

    @property
    def concurrency(self) -> int:
        return self._concurrency

    def begin(self, record: ConsumerRecord) -> Done | Pending:
        delay = float(record.value.split()[0])
        started = Started(Input.of(record), None, delay, no_spans(record))
        return Pending(PAGE, Retry(RetryReason.UNAVAILABLE), started) if delay else _output(record)

    async def complete(self, pending: Pending) -> Done:
        await asyncio.sleep(pending.started.at)
        return _output(pending.started.input.record)

    def refuse(self, record: ConsumerRecord, refusal: Dead) -> Done:  # noqa: ARG002 - the signature is the product's
        return _output(record)


def _output(record: ConsumerRecord) -> Done:
    return Done.of(OutputRecord("out", record.key, str(record.offset).encode(), ()))
