"""The store if nothing can be written; tests/kafka tests its work on a real broker."""

from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka.errors import KafkaError, KafkaTimeoutError, ProducerFenced, UnknownError

from schemas.replays import ReplayPlan, ReplayState
from streams.replay.plan_store import PlanStore
from streams.settings.model import load_settings
from tests.streams.doubles import VirtualClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Unwritable(PlanStore):
    """A store without a cluster, whose writes all fail."""

    def __init__(self, clock: VirtualClock, error: KafkaError) -> None:
        super().__init__(load_settings(), clock, lambda: 0.5)
        self.error = error
        self.writes = 0

    async def refresh(self) -> dict[str, ReplayPlan]:
        return {}

    async def _write(self, *_: Any) -> ReplayPlan | None:
        self.writes += 1
        raise self.error


def plan() -> ReplayPlan:
    return ReplayPlan(
        plan="p", run="replay-p-0a1b2c3d", state=ReplayState.RUNNING, stages=(), stage=0, created_at=NOW, updated_at=NOW
    )


def _without_name() -> KafkaError:
    """The error of aiokafka's sender after an unknown error of the broker."""
    error = KafkaError("Unexpected error during batch delivery")
    error.__cause__ = UnknownError("a disk is gone")
    return error


@pytest.mark.parametrize(("error", "said"), [(_without_name(), "a disk is gone"), (ProducerFenced(), "ProducerFenced")])
async def test_a_writer_that_always_fails_reports_the_error(error: KafkaError, said: str) -> None:
    """A broker that always fails looks like constant fencing, so the message names both and the error."""
    clock = VirtualClock()
    store = Unwritable(clock, error)
    with pytest.raises(KafkaTimeoutError, match="or the broker fails") as told:
        await store.change("p", lambda _: plan())
    assert said in str(told.value)
    assert told.value.__cause__ is error
    assert store.writes > 1
    assert clock.seconds >= 60
    assert set(clock.pauses) == {0.5}


async def test_other_errors_are_not_retried() -> None:
    store = Unwritable(VirtualClock(), KafkaTimeoutError("no answer"))
    with pytest.raises(KafkaTimeoutError, match="no answer"):
        await store.change("p", lambda _: plan())
    assert store.writes == 1
