"""Requests to a cluster that is starting, or that has just lost a broker."""

import pytest
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    KafkaError,
    NodeNotReadyError,
)

from streams.kafka import groups
from streams.kafka.groups import _patiently


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_PAUSE_SECONDS", 0.0)


async def test_a_broker_that_is_busy_is_asked_again() -> None:
    answers: list[KafkaError | str] = [GroupCoordinatorNotAvailableError(), NodeNotReadyError(), "well"]

    async def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    assert await _patiently(ask) == "well"


@pytest.mark.parametrize(
    ("error", "patience"), [(GroupAuthorizationFailedError(), 20.0), (NodeNotReadyError(), 0.0)], ids=["no", "late"]
)
async def test_refusal_is_raised_at_once_and_silence_after_a_time(
    error: KafkaError, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_SECONDS", patience)

    async def ask() -> str:
        raise error

    with pytest.raises(type(error)):
        await _patiently(ask)
