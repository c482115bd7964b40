import re
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.replays import PLAN_NAME, ReplayPlan, ReplayState, ReplayTarget
from streams.cli.replay import replay
from streams.replay.plan import ReplayError, ReplayRequest, make_plan, routes
from streams.settings.model import Settings, load_settings
from streams.topology import HANDLERS, TOPICS
from streams.topology.names import replay_dead_letters
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


def test_the_longest_names_are_topics_and_groups() -> None:
    name = "x" * 48
    assert re.fullmatch(PLAN_NAME, name)
    for handler in HANDLERS:
        assert len(replay_dead_letters(handler, name)) + 64 < 249
    assert max(len(topic.name) for topic in TOPICS) + len(".replay.") + 48 + 64 < 249


def test_a_handler_of_the_index_needs_to_live() -> None:
    for name in ("index_page", "index_utterance"):
        with pytest.raises(ReplayError, match=f"{name} writes to the index, .* --to-live"):
            plan(name)
        assert plan(name, live=True, readers_dedupe=True).target is ReplayTarget.LIVE
    assert plan("rank_results").target is ReplayTarget.SHADOW, "it only searches"


def test_an_unknown_handler_is_refused() -> None:
    with pytest.raises(ReplayError, match="no handler 'nope'"):
        plan("nope")


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
