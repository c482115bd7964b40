"""Decisions under two configurations, in a child process and in the process itself."""

import asyncio
from collections.abc import Mapping

import pytest

from handlers.score_page import ScorePageRules
from schemas.event import Event
from schemas.outcome import Dead, DeadReason, Outcome
from schemas.pages import CrawledPage, ScoredPage
from schemas.rules import Section
from streams.workers.handler_jobs import RawRecord
from streams.workers.settings import WorkersSettings
from streams.workers.trials import Trials
from tests.rules import shipped_rules
from tests.samples import emitted, instance, the_handler
from tests.streams.workers.page_handlers import ASKING

RULES = shipped_rules(ScorePageRules)
PAGE = CrawledPage(url="https://a.example/", html="<title>T</title><h2>Part</h2><p>Text.</p>")
POINTS = {"tier_1": 40, "tier_2": 25}


def points_of_tier_3(points: int) -> dict[str, Section]:
    scores = RULES.source_rules.base_scores.model_copy(update={"tier_3": points})
    return {"source_rules": RULES.source_rules.model_copy(update={"base_scores": scores})}


def tried(
    settings: WorkersSettings, *jobs: tuple[Event | RawRecord, Mapping[str, Section]]
) -> list[tuple[Outcome, Outcome]]:
    async def work() -> list[tuple[Outcome, Outcome]]:
        async with Trials(the_handler("score_page"), RULES, settings) as trials:
            return [await trials.outcomes(*job) for job in jobs]

    return asyncio.run(work())


@pytest.mark.parametrize("processes", [0, 1])
def test_a_page_is_scored_under_both_configurations(processes: int) -> None:
    raw = RawRecord(PAGE.to_json(), (), None)
    jobs = [(PAGE, points_of_tier_3(points)) for points in range(5, 15)]
    found = tried(WorkersSettings(processes=processes), *jobs, (raw, {}), (PAGE, points_of_tier_3(5)))
    scores = [[emitted(ScoredPage, outcome).cts_score for outcome in pair] for pair in found]
    assert scores == [*([18, points + 8] for points in range(5, 15)), [18, 18], [18, 13]]
    versions = {emitted(ScoredPage, then).config_version for _, then in found}
    assert len(versions) == 10, "20 points for the third tier are a version, 10 are that of the shipped rules"


def test_a_page_that_is_too_deep_or_no_page_is_dead_under_both() -> None:
    found = tried(WorkersSettings(processes=1), (RawRecord(b"no page", (), None), {}))
    assert {instance(Dead, outcome).reason for outcome in found[0]} == {DeadReason.UNDECODABLE}


def test_a_page_over_its_time_is_dead_and_the_next_is_scored() -> None:
    long = CrawledPage(url="https://a.example/", html="<p>" + "word " * 1_500_000)
    found = tried(WorkersSettings(processes=1, cpu_seconds=0.05, wall_seconds=60), (long, {}), (PAGE, {}))
    assert instance(Dead, found[0][0]) == found[0][1]
    assert emitted(ScoredPage, found[1][0]).cts_score == 18


def test_a_handler_that_makes_requests_is_refused() -> None:
    with pytest.raises(ValueError, match="makes requests"):
        Trials(ASKING, shipped_rules(ScorePageRules), WorkersSettings())
