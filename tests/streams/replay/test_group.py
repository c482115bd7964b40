"""How far a group has come is what the cluster tells, and nothing where it tells nothing."""

from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from schemas.replays import OffsetRange
from streams.kafka.groups import GroupState
from streams.replay.group import Gap, deleted_ranges, remaining

ENDS = {TopicPartition("t", 0): 10, TopicPartition("t", 1): 4}


class Cluster:
    """A group and its consumer: partition 1 was emptied by retention, and shows no record after its gap."""

    def __init__(self) -> None:
        self.down = False
        self.consumer = self
        cursors = {0: SimpleNamespace(next_offset=8, position=8), 1: SimpleNamespace(next_offset=1, position=9)}
        self.partitions = {TopicPartition("t", n): SimpleNamespace(cursor=cursor) for n, cursor in cursors.items()}

    async def beginning_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        if self.down:
            raise KafkaError("away")
        return {place: (5, 9)[place.partition] for place in places}


def test_offsets_that_are_left() -> None:
    state = GroupState(2, {TopicPartition("t", 0): 7, TopicPartition("t", 1): 9, TopicPartition("u", 0): 1})
    assert remaining(state, ENDS) == 3


def test_group_without_known_offsets_has_no_progress() -> None:
    assert remaining(GroupState(1), ENDS) is None
    assert remaining(GroupState(1, {TopicPartition("t", 0): 7}), ENDS) is None


async def test_deleted_parts_of_gaps_are_reported_once() -> None:
    """Up to the first offset that is left: the rest of a gap are markers. Nothing is lost while the cluster is down."""
    group: Any = Cluster()
    gaps: list[Gap] = [(TopicPartition("t", 0), 2, 7)]
    group.down = True
    assert await deleted_ranges(group, gaps, ENDS) == []
    assert len(gaps) == 1
    group.down = False
    found = [OffsetRange(partition=0, start=2, end=5), OffsetRange(partition=1, start=1, end=4)]
    assert await deleted_ranges(group, gaps, ENDS) == found
    assert gaps == []
    group.partitions.clear()
    assert await deleted_ranges(group, gaps, ENDS) == []
