"""Transitions start from a plan's newest state, which other processes may have changed."""

from datetime import UTC, datetime

import pytest

from schemas.replays import OffsetRange, ReplayPlan, ReplayStage, ReplayState
from streams.replay.plan import ReplayError
from streams.replay.transitions import begun, finished, merged, started, with_deleted

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAGE = ReplayStage(handler="one", topic="one", config_version="1")


def plan(state: ReplayState = ReplayState.RUNNING) -> ReplayPlan:
    return ReplayPlan(plan="p", run="replay-p-0a1b2c3d", state=state, stages=(STAGE,), created_at=NOW, updated_at=NOW)


def span(partition: int, start: int, end: int) -> OffsetRange:
    return OffsetRange(partition=partition, start=start, end=end)


@pytest.mark.parametrize("state", [ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED])
def test_a_plan_is_finished_once(state: ReplayState) -> None:
    done = finished(plan(state))
    assert done is not None
    assert (done.stage, done.state) == (1, ReplayState.FINISHED)
    assert finished(done) is None


@pytest.mark.parametrize("state", [ReplayState.FINISHED, ReplayState.CANCELLED, ReplayState.PAUSED])
def test_a_process_that_is_behind_starts_nothing(state: ReplayState) -> None:
    assert begun(plan(state)) is None


def test_a_plan_begins_once() -> None:
    first = begun(plan())
    assert first is not None
    assert [stage.begun for stage in first.stages] == [True]
    assert begun(first) is None


def test_deleted_ranges_are_added_once_for_all_processes() -> None:
    told = with_deleted(plan(), [span(1, 5, 9), span(0, 0, 2)])
    assert told is not None
    assert told.stages[0].deleted == (span(0, 0, 2), span(1, 5, 9))
    assert with_deleted(told, [span(1, 6, 8)]) is None
    more = with_deleted(told, [span(1, 8, 12)])
    assert more is not None
    assert more.stages[0].deleted == (span(0, 0, 2), span(1, 5, 12))


def test_ranges_that_touch_are_one() -> None:
    assert merged([span(0, 4, 6), span(0, 0, 4), span(1, 6, 7)]) == [span(0, 0, 6), span(1, 6, 7)]
    assert merged([]) == []


def test_work_begins_on_the_terms_that_are_asked_for() -> None:
    resumed = started(plan(ReplayState.PAUSED), {"max_cost_usd": 2.0}, shared=True)
    assert resumed is not None
    assert (resumed.state, resumed.max_cost_usd, resumed.rate) == (ReplayState.RUNNING, 2.0, None)
    assert started(resumed, {"max_cost_usd": 2.0}, shared=True) is None, "it runs on these terms already"
    faster = started(resumed, {"rate": 50.0}, shared=True)
    assert faster is not None
    assert (faster.state, faster.max_cost_usd, faster.rate) == (ReplayState.RUNNING, 2.0, 50.0)


def test_a_plan_that_others_have_finished_keeps_its_terms() -> None:
    done = plan(ReplayState.FINISHED)
    assert started(done, {"max_cost_usd": 2.0}, shared=True) is None
    with pytest.raises(ReplayError, match="nothing left to do"):
        started(done, {"max_cost_usd": 2.0}, shared=False)
