"""The ledger where nothing can be written; its work on a real broker is tested in tests/kafka."""

from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka.errors import KafkaError, KafkaTimeoutError, ProducerFenced, UnknownError

from schemas.replays import ReplayPlan, ReplayState
from streams.replay.ledger import Ledger
from streams.settings import load_settings
from tests.streams.doubles import VirtualClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Unwritable(Ledger):
    """A ledger without a cluster, whose writes all fail."""

    def __init__(self, clock: VirtualClock, error: KafkaError) -> None:
        super().__init__(load_settings(), clock)
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
    """As aiokafka's sender ends where the broker has no name for its trouble."""
    error = KafkaError("Unexpected error during batch delivery")
    error.__cause__ = UnknownError("a disk is gone")
    return error


@pytest.mark.parametrize(("error", "said"), [(_without_name(), "a disk is gone"), (ProducerFenced(), "ProducerFenced")])
async def test_unwritable_ledger_reports_both_possible_causes(error: KafkaError, said: str) -> None:
    """A broker that fails for good looks like others that write: the words fit both, and the error is there."""
    clock = VirtualClock()
    ledger = Unwritable(clock, error)
    with pytest.raises(KafkaTimeoutError, match="or the broker fails") as told:
        await ledger.change("p", lambda _: plan())
    assert said in str(told.value)
    assert told.value.__cause__ is error
    assert ledger.writes > 1
    assert clock.seconds >= 60


async def test_other_trouble_is_not_tried_again() -> None:
    ledger = Unwritable(VirtualClock(), KafkaTimeoutError("no answer"))
    with pytest.raises(KafkaTimeoutError, match="no answer"):
        await ledger.change("p", lambda _: plan())
    assert ledger.writes == 1
