"""What a process learns about its plan while others may drop it, and begin another one under its name."""

import asyncio
from datetime import UTC, datetime

import pytest
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from schemas.replays import ReplayPlan, ReplayState
from streams.replay.plan_store import PlanStore
from streams.replay.session import PlanSession
from streams.settings.model import load_settings
from streams.telemetry.metrics import Metrics
from tests.streams.doubles import VirtualClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def plan(run: str = "replay-p-0a1b2c3d", state: ReplayState = ReplayState.RUNNING) -> ReplayPlan:
    return ReplayPlan(plan="p", run=run, state=state, stages=(), stage=0, created_at=NOW, updated_at=NOW)


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


async def test_newest_is_what_the_store_has_now() -> None:
    cancelled = plan(state=ReplayState.CANCELLED)
    assert await session(Plans(plan(), cancelled)).newest(plan()) == cancelled


async def test_newest_is_dropped_if_another_plan_has_the_name() -> None:
    newest = await session(Plans(plan(), plan("replay-p-ffffffff"))).newest(plan())
    assert (newest.run, newest.state) == (plan().run, ReplayState.DROPPED)


@pytest.mark.parametrize("error", [KafkaError("away"), OSError("no route")])
async def test_newest_is_the_last_known_while_the_cluster_is_away(error: Exception) -> None:
    assert await session(Plans(plan(), plan("replay-p-ffffffff"), error)).newest(plan()) == plan()
