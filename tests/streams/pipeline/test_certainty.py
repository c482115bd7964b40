"""Every commit comes to a certain end, whatever its stage says."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from prometheus_client import CollectorRegistry

from streams.codec import OutputRecord
from streams.pipeline.commit import CommitDoubtError, Committer, OutputRefusedError, Settled
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.metrics import PipelineMetrics
from streams.telemetry.metrics import Metrics
from tests.streams.doubles import VirtualClock

PARTITION = TopicPartition("t", 0)


class Stage:
    """A group's offset, and what goes wrong before it is moved or after."""

    def __init__(self, offset: int | None = 5) -> None:
        self.offset = offset
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.opening: list[Exception] = []
        self.needs_renewal = False
        self.calls: list[str] = []

    async def open(self) -> int | None:
        self.calls.append("open")
        if self.opening:
            raise self.opening.pop(0)
        return self.offset

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:  # noqa: ARG002
        self.calls.append("commit")
        if self.before:
            raise self.before.pop(0)
        self.offset = next_offset
        if self.after:
            raise self.after.pop(0)

    async def close(self) -> None:
        self.calls.append("close")


class Consumer:
    async def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 3)


class Bench:
    """Commits over a stage, with a clock and metrics."""

    def __init__(self, stage: Stage) -> None:
        self.clock, self.registry = VirtualClock(), CollectorRegistry()
        observer = PipelineMetrics(Metrics(self.registry), "toy")
        consumer = cast("CountingConsumer", Consumer())
        self.commits = Committer(PARTITION, consumer, stage, self.clock, observer)

    def count(self, result: str) -> Any:
        labels = {"handler": "toy", "result": result, "lane": "live"}
        return self.registry.get_sample_value("assay_transactions_total", labels) or 0


def since(bench: Bench) -> float | None:
    return bench.commits.failing_since


async def test_stage_opening_is_retried_with_growing_pauses() -> None:
    stage = Stage()
    stage.opening = [KafkaConnectionError("away"), TimeoutError(), OSError("away")]
    bench = Bench(stage)
    assert await bench.commits.open() == 5
    assert stage.calls == ["open", "close"] * 3 + ["open"]
    assert bench.clock.pauses == [0.2, 0.5, 1.0]


async def test_group_without_an_offset_starts_at_the_first_record() -> None:
    assert await Bench(Stage(None)).commits.open() == 3


async def test_a_commit_that_went_well_moves_the_offset() -> None:
    bench = Bench(Stage())
    await bench.commits.open()
    assert await bench.commits.commit((), 9) == Settled(9)
    assert (bench.count("committed"), bench.count("in_doubt")) == (1, 0)


async def test_a_doubt_is_settled_by_the_offset_of_the_group() -> None:
    stage = Stage()
    bench = Bench(stage)
    await bench.commits.open()
    stage.after = [CommitDoubtError("no answer")]
    assert await bench.commits.commit((), 9) == Settled(9)
    assert since(bench) is None, "it was committed, so nothing is failing"
    stage.before = [CommitDoubtError("no answer")]
    assert await bench.commits.commit((), 12) == Settled(9)
    assert since(bench) == 0.0
    assert bench.count("in_doubt") == 2


async def test_repeated_commit_failures_back_off_and_are_reported() -> None:
    stage = Stage()
    bench = Bench(stage)
    await bench.commits.open()
    stage.before = [CommitDoubtError("no")] * 4
    for _ in range(4):
        assert await bench.commits.commit((), 9) == Settled(5)
    assert bench.clock.pauses == [0.2, 0.5, 1.0]
    assert since(bench) == 0.0
    assert await bench.commits.commit((), 9) == Settled(9)
    assert since(bench) is None


async def test_refused_output_is_reported() -> None:
    stage = Stage()
    stage.before = [OutputRefusedError("too large")]
    bench = Bench(stage)
    await bench.commits.open()
    assert await bench.commits.commit((), 9) == Settled(5, "too large")


@pytest.mark.parametrize("meanwhile", [9, 40])
async def test_worn_producer_is_replaced_and_the_offset_read_again(meanwhile: int) -> None:
    stage = Stage()
    bench = Bench(stage)
    await bench.commits.open()
    stage.needs_renewal = True
    real_open = stage.open

    async def somebody_else() -> int | None:
        stage.offset = meanwhile
        return await real_open()

    stage.open = somebody_else  # type: ignore[method-assign]
    assert await bench.commits.commit((), 9) == Settled(meanwhile)
    assert stage.calls == ["open", "commit", "close", "open"]
