from datetime import UTC, datetime
from typing import Any

from schemas.replays import ReplayPlan
from streams.replay.plan import ReplayRequest, make_plan
from streams.replay.shadow import routes
from streams.settings.model import Settings, load_settings
from streams.topology import Handler
from tests.samples import the_handler

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


def plan(handler: str, settings: Settings, **wishes: Any) -> tuple[ReplayPlan, Handler]:
    found = the_handler(handler)
    return make_plan(ReplayRequest(plan="again", handler=handler, **wishes), settings, NOW), found


def test_results_and_dead_letters_have_places_of_the_plan() -> None:
    made, handler = plan("judge_relevance", load_settings())
    places = routes(made, handler, made.stages[0].rewritten)
    assert set(places) == {*(topic.name for topic in handler.emits), "relevance.requested.v1.assay.judge_relevance.dlq"}
    assert all(place.endswith((".replay.again", ".replay.again.dlq")) for place in places.values())


def test_live_mode_keeps_dead_letters_apart_and_does_not_fetch() -> None:
    made, handler = plan("classify_results", load_settings(), live=True, readers_dedupe=True)
    assert routes(made, handler, made.stages[0].rewritten) == {
        "results.classified.v1": "results.classified.v1",
        "retrieval.batches.v1.assay.classify_results.dlq": (
            "retrieval.batches.v1.assay.classify_results.replay.again.dlq"
        ),
    }


def test_a_shadow_of_rankings_searches_the_live_index() -> None:
    settings = load_settings(index={"url": "http://127.0.0.1:1"})
    made, handler = plan("rank_results", settings)
    assert set(routes(made, handler, made.stages[0].rewritten)) == {
        "ranking.completed.v1",
        "ranking.requested.v1.assay.rank_results.dlq",
    }
