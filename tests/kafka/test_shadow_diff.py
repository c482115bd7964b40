"""The decisions of a replay on a real Kafka, beside the live decisions on the same inputs."""

import pytest

from schemas.replays import ReplayPlan
from streams.replay.diff_pages import PageDifferences
from streams.replay.shadow_diff import ShadowDiff, comparable_stage, shadow_diff
from streams.settings.changes import changed
from streams.settings.model import Settings
from streams.topology import REPLAYS
from tests.kafka.installation import SCORE_PAGE, Installation, Installing, handlers_named, page
from tests.kafka.replays import planned, replayed
from tests.samples import instance


@pytest.fixture
async def assay(installing: Installing) -> Installation:
    """Eight scored pages, and two that only a replay scores."""
    assay = await installing(handlers_named("score_page", "index_page", "classify_results"), [REPLAYS])
    await assay.feed([page(number) for number in range(8)])
    await assay.drain(*SCORE_PAGE)
    await assay.feed([page(number) for number in range(8, 10)])
    return assay


async def differences(settings: Settings, plan: ReplayPlan, most: int = 100) -> ShadowDiff | None:
    chosen = comparable_stage(plan)
    assert chosen is not None
    return await shadow_diff(settings, *chosen, plan.plan, most=most, limit=3)


async def test_other_rules_are_compared_with_the_live_decisions(assay: Installation) -> None:
    other = changed(assay.settings, {"source_rules": {"base_scores": {"tier_3": 40}}})
    found = await differences(assay.settings, await replayed(other, "score_page"))
    assert found is not None
    assert (found.handler, found.records, found.without_live) == ("score_page", 10, 2)
    comparison = instance(PageDifferences, found.comparison)
    assert (comparison.inputs, comparison.moved.count, comparison.moved.more) == (8, 8, 5)
    move = comparison.moved.items[0]
    assert (move.score_now, move.score_then, move.tier_now, move.tier_then) == (10, 40, "C", "B")
    some = await differences(assay.settings, await replayed(other, "score_page", plan="more"), most=4)
    assert some is not None
    assert (some.records, some.kept >= 10) == (4, True)


async def test_a_replay_under_the_same_rules_changes_nothing(assay: Installation) -> None:
    found = await differences(assay.settings, await replayed(assay.settings, "score_page"))
    assert found is not None
    comparison = instance(PageDifferences, found.comparison)
    assert (comparison.inputs, comparison.unchanged, comparison.moved.count) == (8, 8, 0)


async def test_a_plan_without_results_has_no_differences(assay: Installation) -> None:
    assert await differences(assay.settings, await planned(assay.settings, "score_page")) is None


async def test_stages_that_read_a_shadow_are_not_compared(assay: Installation) -> None:
    assert comparable_stage(await planned(assay.settings, "index_page")) is None
