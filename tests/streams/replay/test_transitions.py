"""Transitions start from a plan's newest state, which other processes may have changed."""

from datetime import UTC, datetime

import pytest

from schemas.replays import OffsetRange, ReplayPlan, ReplayStage, ReplayState
from streams.replay.plan import ReplayError, at_start, finished, merged, transition, with_deleted

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
    assert at_start(plan(state)) is None


def test_a_plan_begins_once() -> None:
    first = at_start(plan())
    assert first is not None
    assert [stage.begun for stage in first.stages] == [True]
    assert at_start(first) is None


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
    resumed = transition(plan(ReplayState.PAUSED), ReplayState.RUNNING, max_cost_usd=2.0)
    assert resumed is not None
    assert (resumed.state, resumed.max_cost_usd, resumed.rate) == (ReplayState.RUNNING, 2.0, None)
    assert transition(resumed, ReplayState.RUNNING, max_cost_usd=2.0) is None, "it runs on these terms already"
    faster = transition(resumed, ReplayState.RUNNING, rate=50.0)
    assert faster is not None
    assert (faster.state, faster.max_cost_usd, faster.rate) == (ReplayState.RUNNING, 2.0, 50.0)


@pytest.mark.parametrize(
    ("state", "words"), [(ReplayState.RUNNING, "left to do"), (ReplayState.CANCELLED, "to cancel")]
)
def test_a_plan_that_is_over_is_not_moved(state: ReplayState, words: str) -> None:
    with pytest.raises(ReplayError, match=f"is finished; there is nothing {words}"):
        transition(plan(ReplayState.FINISHED), state)
    assert transition(plan(ReplayState.FINISHED), ReplayState.PAUSED, "why") is None
