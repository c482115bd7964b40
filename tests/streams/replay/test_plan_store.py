"""The store if nothing can be written, and if others change the plan; tests/kafka has a real broker."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka.errors import KafkaError, KafkaTimeoutError, ProducerFenced, UnknownError
from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan, ReplayState
from streams.replay.plan_store import PlanSession, PlanStore
from streams.settings.model import load_settings
from streams.telemetry.metrics import Metrics
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


def plan(run: str = "replay-p-0a1b2c3d", state: ReplayState = ReplayState.RUNNING) -> ReplayPlan:
    return ReplayPlan(plan="p", run=run, state=state, stages=(), stage=0, created_at=NOW, updated_at=NOW)


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


class Plans(PlanStore):
    """A store without a cluster; with an error it keeps what it has read before."""

    def __init__(self, stored: ReplayPlan, newest: ReplayPlan, error: Exception | None = None) -> None:
        super().__init__(load_settings(), VirtualClock())
        self.rows = {"p": stored}
        self._newest = newest
        self._error = error

    async def refresh(self) -> dict[str, ReplayPlan]:
        if self._error is not None:
            raise self._error
        self.rows["p"] = self._newest
        return self.rows


def session(store: PlanStore) -> PlanSession:
    return PlanSession(load_settings(), store, "p", VirtualClock(), Metrics(CollectorRegistry()), asyncio.Event())


async def test_newest_is_dropped_if_another_plan_has_the_name() -> None:
    newest = await session(Plans(plan(), plan("replay-p-ffffffff"))).newest(plan())
    assert (newest.run, newest.state) == (plan().run, ReplayState.DROPPED)


@pytest.mark.parametrize("error", [KafkaError("away"), OSError("no route")])
async def test_newest_is_the_last_known_while_the_cluster_is_away(error: Exception) -> None:
    assert await session(Plans(plan(), plan("replay-p-ffffffff"), error)).newest(plan()) == plan()
