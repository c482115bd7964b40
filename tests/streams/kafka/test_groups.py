"""Requests to a cluster that is starting, or that has just lost a broker."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    KafkaError,
    NodeNotReadyError,
    NotCoordinatorForGroupError,
)
from aiokafka.structs import OffsetAndMetadata

from streams.kafka import log_reader
from streams.kafka.groups import GroupState, read_groups
from streams.kafka.log_reader import patiently


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
