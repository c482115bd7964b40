"""Bounded reads on a reader that holds its records in memory: its pauses, its ends and its time limits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    NotCoordinatorForGroupError,
)
from aiokafka.structs import OffsetAndMetadata

from streams.kafka import log_reader
from streams.kafka.groups import GroupState, read_groups
from streams.kafka.log_reader import assign_paused, follow, patiently, records_between
from streams.kafka.settings import KafkaSettings

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


class Reader:
    """A reader of partitions with these offsets; every other offset below ``end`` is a transaction marker."""

    def __init__(self, ends: dict[TopicPartition, int], offsets: dict[TopicPartition, list[int]]) -> None:
        self.ends = ends
        self.offsets = offsets
        self.at = dict.fromkeys(ends, 0)
        self.paused: set[TopicPartition] = set()

    def assign(self, partitions: list[TopicPartition]) -> None:
        assert set(partitions) == set(self.ends)

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused -= set(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.at[partition] = offset

    async def position(self, partition: TopicPartition) -> int:
        return self.at[partition]

    async def getmany(self, *partitions: TopicPartition, **_: Any) -> dict[TopicPartition, list[Any]]:
        await asyncio.sleep(0.001)
        polled = {}
        for partition in set(partitions) - self.paused:
            new = [offset for offset in self.offsets[partition] if offset >= self.at[partition]][:2]
            records = [SimpleNamespace(topic="t", partition=partition.partition, offset=offset) for offset in new]
            self.at[partition] = new[-1] + 1 if new else self.ends[partition]
            polled[partition] = records
        return polled


async def read(reader: Any, spans: dict[TopicPartition, tuple[int, int]], **limits: Any) -> list[tuple[int, int]]:
    return [(one.partition, one.offset) async for one in records_between(reader, spans, **limits)]


async def test_reader_covers_the_offset_range_and_pauses_again() -> None:
    reader: Any = Reader({ONE: 9, TWO: 4}, {ONE: [0, 1, 2, 5, 6, 7], TWO: [0, 3]})
    assign_paused(reader, [ONE, TWO])
    assert await read(reader, {ONE: (1, 7), TWO: (4, 4)}) == [(0, 1), (0, 2), (0, 5), (0, 6)]
    assert reader.paused == {ONE, TWO}
    assert sorted(await read(reader, {ONE: (5, 9), TWO: (0, 4)})) == [(0, 5), (0, 6), (0, 7), (1, 0), (1, 3)]


async def test_only_the_first_record_of_each_partition() -> None:
    reader = Reader({ONE: 9, TWO: 9}, {ONE: [2, 3], TWO: [7]})
    assert sorted(await read(reader, {ONE: (0, 9), TWO: (0, 9)}, first_only=True)) == [(0, 2), (1, 7)]


async def test_a_caller_that_stops_early_leaves_the_partitions_paused() -> None:
    reader: Any = Reader({ONE: 9}, {ONE: [0, 1, 2]})
    async with aclosing(records_between(reader, {ONE: (0, 9)})) as records:
        assert (await anext(records)).offset == 0
    assert reader.paused == {ONE}


class Silent(Reader):
    """It never gets further than its records."""

    async def getmany(self, *partitions: TopicPartition, **options: Any) -> dict[TopicPartition, list[Any]]:
        before = dict(self.at)
        polled = await super().getmany(*partitions, **options)
        self.at |= {at: before[at] for at, records in polled.items() if not records}
        return polled


async def test_silence_times_out_and_a_slow_caller_does_not() -> None:
    with pytest.raises(KafkaTimeoutError, match=r"no record came for 0.02 s; partitions left: 1"):
        await read(Silent({ONE: 3}, {ONE: []}), {ONE: (0, 3)}, patience_seconds=0.02)
    found = []
    reader: Any = Reader({ONE: 4}, {ONE: [0, 1, 2, 3]})
    async for record in records_between(reader, {ONE: (0, 4)}, patience_seconds=0.02):
        await asyncio.sleep(0.03)
        found.append(record.offset)
    assert found == [0, 1, 2, 3]


async def test_a_limit_holds_although_records_come() -> None:
    reader = Reader({ONE: 10_000}, {ONE: list(range(10_000))})
    with pytest.raises(KafkaTimeoutError, match="partitions left: 1"):
        await read(reader, {ONE: (0, 10_000)}, patience_seconds=60.0, limit_seconds=0.02)


class Cluster:
    """What a follower sees at each of its looks: partitions, or an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, reader: Any, *looks: list[TopicPartition] | Exception) -> None:
        self.looks = list(looks)
        monkeypatch.setattr(log_reader, "existing_partitions", self.existing)
        monkeypatch.setattr(log_reader, "make_reader", lambda *_, **__: reader)
        monkeypatch.setattr(log_reader, "opened", self.opened)
        monkeypatch.setattr(log_reader, "_LOOK_SECONDS", 0.0)
        monkeypatch.setattr(log_reader, "_NO_TOPIC_SECONDS", 0.0)

    async def existing(self, *_: Any) -> list[TopicPartition]:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, Exception):
            raise look
        return look

    @staticmethod
    @asynccontextmanager
    async def opened(client: Any) -> AsyncIterator[Any]:
        yield client


class Followed(Reader):
    """A reader whose assignment changes."""

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned = partitions

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    async def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {at: self.ends[at] for at in partitions}

    async def getmany(self, *_: TopicPartition, **__: Any) -> dict[TopicPartition, list[Any]]:
        return await super().getmany(*self.assigned)


@pytest.mark.parametrize("look", [[TWO], KafkaConnectionError("restarts")])
async def test_a_look_that_misses_a_topic_loses_nothing(monkeypatch: pytest.MonkeyPatch, look: Any) -> None:
    reader = Followed({ONE: 4, TWO: 0}, {ONE: [0, 1, 2, 3], TWO: []})
    Cluster(monkeypatch, reader, [ONE, TWO], look, [ONE, TWO])
    found: list[int] = []
    async with aclosing(follow(KafkaSettings(), ["t"], "earliest")) as lists:
        async for records in lists:
            found += [record.offset for record in records]
            if len(found) >= 4:
                break
    assert found == [0, 1, 2, 3]


async def test_a_topic_that_was_created_again_is_read_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    Cluster(monkeypatch, Followed({ONE: 2}, {ONE: [0, 1]}), [ONE])
    positions = {ONE: 900}
    lists = follow(KafkaSettings(), ["t"], "earliest", positions=positions, to_end=True)
    assert [record.offset async for records in lists for record in records] == [0, 1]
    assert positions == {ONE: 2}


async def test_topics_that_do_not_exist_have_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    Cluster(monkeypatch, Followed({}, {}), [])
    assert [records async for records in follow(KafkaSettings(), ["t"], "earliest", to_end=True)] == []


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "_PAUSE_SECONDS", 0.0)


async def test_a_broker_that_is_busy_is_asked_again() -> None:
    answers: list[KafkaError | str] = [GroupCoordinatorNotAvailableError(), NodeNotReadyError(), "well"]

    async def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    assert await patiently(ask) == "well"


@pytest.mark.parametrize(
    ("error", "patience"), [(GroupAuthorizationFailedError(), 20.0), (NodeNotReadyError(), 0.0)], ids=["no", "late"]
)
async def test_refusal_is_raised_at_once_and_silence_after_a_time(
    error: KafkaError, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "_PATIENCE_SECONDS", patience)

    async def ask() -> str:
        raise error

    with pytest.raises(type(error)):
        await patiently(ask)


class Moved:
    """An admin client of a cluster whose group has just moved from broker 1 to broker 2."""

    def __init__(self) -> None:
        self.coordinators = [1, 2]

    async def find_coordinator(self, _: str) -> int:
        return self.coordinators.pop(0)

    async def list_consumer_group_offsets(self, _: str, coordinator: int) -> dict[TopicPartition, Any]:
        if coordinator == 1:
            raise NotCoordinatorForGroupError
        return {TopicPartition("t", 0): OffsetAndMetadata(7, ""), TopicPartition("t", 1): OffsetAndMetadata(-1, "")}

    async def describe_consumer_groups(self, _: list[str], coordinator: int) -> list[Any]:
        assert coordinator == 2
        return [SimpleNamespace(groups=[(0, "", "", "", "", ["a member"])])]


async def test_a_group_that_has_moved_is_read_from_its_new_broker() -> None:
    assert await read_groups(Moved(), ["g"]) == {"g": GroupState(1, {TopicPartition("t", 0): 7})}
