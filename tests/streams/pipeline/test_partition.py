"""One partition: late results, and positions that move without records."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from aiokafka import TopicPartition

from streams.pipeline.commit import CommitResult, Committer
from streams.pipeline.consumer import PartitionCursor
from streams.pipeline.partition import Held, Partition
from streams.pipeline.processor import Done, RecordWork
from streams.settings.model import PipelineSettings
from streams.topology.codec import OutputRecord
from tests.streams.doubles import VirtualClock, raw_record

PLACE = TopicPartition("in", 0)
DONE = Done.of(OutputRecord("out", b"a", b"0", ()))


class Commits(Committer):
    """Commits that work."""

    def __init__(self) -> None:
        self.made: list[int] = []

    async def open(self) -> int:
        return 0

    async def commit(self, outputs: Sequence[OutputRecord], next_offset: int) -> CommitResult:  # noqa: ARG002
        self.made.append(next_offset)
        return CommitResult(next_offset)

    async def close(self) -> None:
        """Holds nothing."""


class Cursor(PartitionCursor):
    """A place that the test moves."""

    def __init__(self) -> None:
        self.next_offset = self.delivered_to = 0
        self.closed = self.breaker_open = False

    @property
    def position(self) -> int:
        return max(self.next_offset, self.delivered_to)

    def start_at(self, offset: int, room: int) -> None:  # noqa: ARG002
        self.next_offset = offset

    def set_room(self, records: int) -> None:
        """No consumer asks."""

    def discards_poll(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


async def opened(commits: Commits, cursor: Cursor) -> tuple[Partition, list[Held]]:
    """A running partition, and the records that it has started."""
    started: list[Held] = []
    settings = PipelineSettings(commit_linger_seconds=0.0)
    partition = Partition(
        PLACE,
        cursor,
        commits,
        cast("RecordWork", None),
        settings,
        VirtualClock(),
        lambda _, held: started.append(held),
        serialize_by_key=True,
    )
    partition.open()
    await asyncio.sleep(0)
    assert partition.opened
    return partition, started


async def test_a_late_result_does_not_start_the_next_record() -> None:
    """Another process moved the offset, so the records are taken in again."""
    records = [raw_record(offset=number) for number in range(2)]
    partition, started = await opened(Commits(), Cursor())
    partition.admit(records)
    partition._resume_from(0)
    partition.admit(records)
    late, again = started
    partition.finish(late, DONE)
    assert started == [late, again]
    await partition.close(0)


@pytest.mark.parametrize(("moved", "made"), [(0, []), (7, [7])])
async def test_a_position_behind_markers_is_committed(moved: int, made: list[int]) -> None:
    commits, cursor = Commits(), Cursor()
    partition, _ = await opened(commits, cursor)
    cursor.delivered_to = moved
    partition.tick()
    await asyncio.sleep(0.01)
    assert commits.made == made
    await partition.close(0)
