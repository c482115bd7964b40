"""The plan of a request, and its transitions from the newest state, which other processes may have changed."""

from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.replays import OffsetRange, ReplayPlan, ReplayStage, ReplayState, ReplayTarget
from streams.cli.replay import replay
from streams.replay.plan import (
    ReplayError,
    ReplayRequest,
    finished,
    make_plan,
    mark_begun,
    merged,
    routes,
    transition,
    with_deleted,
)
from streams.settings.model import Settings, load_settings
from streams.topology import HANDLERS
from tests.samples import the_handler

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
OFFLINE = load_settings()
PAID = load_settings(llm={"base_url": "http://127.0.0.1:1/v1", "model": "m"})


def plan(handler: str, settings: Settings = OFFLINE, **wishes: Any) -> ReplayPlan:
    return make_plan(ReplayRequest(plan="again", handler=handler, **wishes), settings, NOW)


def test_results_go_to_shadows_and_names_are_the_plan_s() -> None:
    made = plan("score_page")
    [stage] = made.stages
    assert (made.state, made.target) == (ReplayState.PLANNED, ReplayTarget.SHADOW)
    assert (stage.topic, stage.rewritten) == ("pages.crawled.v1", ("pages.scored.v1",))
    assert made.run.startswith("replay-again-")
    assert made.run != make_plan(ReplayRequest(plan="again", handler="score_page"), OFFLINE, NOW.replace(hour=9)).run


def test_what_reaches_the_web_is_done_on_demand_only() -> None:
    with pytest.raises(ReplayError, match="--fetch"):
        plan("fetch_page")
    assert plan("fetch_page", fetch=True).fetch


def test_paid_replay_needs_a_cost_bound_and_offline_is_free() -> None:
    assert plan("judge_relevance").max_cost_usd is None
    with pytest.raises(ReplayError, match="--max-cost"):
        plan("judge_relevance", settings=PAID)
    assert plan("judge_relevance", settings=PAID, max_cost_usd=0.0).max_cost_usd == 0.0


def test_live_output_needs_readers_dedupe_and_does_not_fetch() -> None:
    assert plan("score_page", live=True).target is ReplayTarget.LIVE
    with pytest.raises(ReplayError, match=r"readers of results\.classified\.v1 .* --readers-dedupe"):
        plan("classify_results", live=True)
    [stage] = plan("classify_results", live=True, readers_dedupe=True).stages
    assert stage.rewritten == ("results.classified.v1",)
    [stage] = plan("classify_results", live=True, readers_dedupe=True, fetch=True).stages
    assert stage.rewritten == ("results.classified.v1", "extraction.needed.v1")
    [stage] = plan("classify_results").stages
    assert "extraction.needed.v1" in stage.rewritten


def test_no_handler_is_called_as_a_command_of_replays_is() -> None:
    commands = {command.name for command in replay.registered_commands}
    assert not commands & {handler.name for handler in HANDLERS}


def test_a_handler_of_the_index_needs_to_live() -> None:
    for name in ("index_page", "index_utterance"):
        with pytest.raises(ReplayError, match=f"{name} writes to the index, .* --to-live"):
            plan(name)
        assert plan(name, live=True, readers_dedupe=True).target is ReplayTarget.LIVE
    assert plan("rank_results").target is ReplayTarget.SHADOW, "it only searches"


def test_results_and_dead_letters_have_places_of_the_plan() -> None:
    places, handler = routes(plan("judge_relevance")), the_handler("judge_relevance")
    assert set(places) == {*(topic.name for topic in handler.emits), "relevance.requested.v1.assay.judge_relevance.dlq"}
    assert all(place.endswith((".replay.again", ".replay.again.dlq")) for place in places.values())


def test_live_mode_keeps_dead_letters_apart_and_does_not_fetch() -> None:
    assert routes(plan("classify_results", live=True, readers_dedupe=True)) == {
        "results.classified.v1": "results.classified.v1",
        "retrieval.batches.v1.assay.classify_results.dlq": (
            "retrieval.batches.v1.assay.classify_results.replay.again.dlq"
        ),
    }


STARTED = datetime(2026, 1, 1, tzinfo=UTC)
STAGE = ReplayStage(handler="one", topic="one", config_version="1")


def plan_in(state: ReplayState = ReplayState.RUNNING) -> ReplayPlan:
    return ReplayPlan(
        plan="p", run="replay-p-0a1b2c3d", state=state, stages=(STAGE,), created_at=STARTED, updated_at=STARTED
    )


def span(partition: int, start: int, end: int) -> OffsetRange:
    return OffsetRange(partition=partition, start=start, end=end)


@pytest.mark.parametrize("state", [ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED])
def test_a_plan_is_finished_once(state: ReplayState) -> None:
    done = finished(plan_in(state))
    assert done is not None
    assert (done.stage, done.state) == (1, ReplayState.FINISHED)
    assert finished(done) is None


def test_a_plan_begins_once_and_only_while_it_runs() -> None:
    first = mark_begun(plan_in())
    assert first is not None
    assert [stage.begun for stage in first.stages] == [True]
    assert mark_begun(first) is None
    for state in (ReplayState.FINISHED, ReplayState.CANCELLED, ReplayState.PAUSED):
        assert mark_begun(plan_in(state)) is None


def test_deleted_ranges_are_added_once_for_all_processes() -> None:
    told = with_deleted(plan_in(), [span(1, 5, 9), span(0, 0, 2)])
    assert told is not None
    assert told.stages[0].deleted == (span(0, 0, 2), span(1, 5, 9))
    assert with_deleted(told, [span(1, 6, 8)]) is None
    more = with_deleted(told, [span(1, 8, 12)])
    assert more is not None
    assert more.stages[0].deleted == (span(0, 0, 2), span(1, 5, 12))
    assert merged([span(0, 4, 6), span(0, 0, 4), span(1, 6, 7)]) == [span(0, 0, 6), span(1, 6, 7)], "they touch"
    assert merged([]) == []


def test_work_begins_on_the_terms_that_are_asked_for() -> None:
    resumed = transition(plan_in(ReplayState.PAUSED), ReplayState.RUNNING, max_cost_usd=2.0)
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
        transition(plan_in(ReplayState.FINISHED), state)
    assert transition(plan_in(ReplayState.FINISHED), ReplayState.PAUSED, "why") is None
