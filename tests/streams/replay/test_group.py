"""How far a group has come is what the cluster tells, and nothing where it tells nothing."""

from aiokafka import TopicPartition

from streams.kafka.groups import GroupState
from streams.replay.group import GroupProgress

ENDS = {TopicPartition("t", 0): 10, TopicPartition("t", 1): 4}


def test_offsets_that_are_left() -> None:
    state = GroupState(2, {TopicPartition("t", 0): 7, TopicPartition("t", 1): 9, TopicPartition("u", 0): 1})
    assert GroupProgress.of(state, ENDS) == GroupProgress(remaining=3, members=2)


def test_group_without_known_offsets_has_no_progress() -> None:
    assert GroupProgress.of(GroupState(1), ENDS) is None
    assert GroupProgress.of(GroupState(1, {TopicPartition("t", 0): 7}), ENDS) is None
