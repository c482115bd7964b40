"""``assay replay --config OTHER.yaml --diff``: what another configuration would change for the records of a topic."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Emit
from schemas.pages import CrawledPage, ScoredPage
from schemas.replays import ReplayPlan, ReplaySelection
from streams.cli.replay_run import tell_diff
from streams.replay.admin import resolved
from streams.replay.plan import ReplayRequest, make_plan
from streams.replay.ranges import EARLIEST, LATEST
from streams.settings.model import Settings
from streams.topology import RETRIEVAL_BATCHES, SNIPPETS_REQUESTED
from tests.kafka.installation import SCORED, Installation, Installing, install
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

PAGES = 240
HOSTS = ("site.example", "udn.com", "health.gov.tw")
PARTS = TABLES["parts"]
HIGHER = 45


def varied(number: int) -> CrawledPage:
    """Pages whose scores differ: by their host, and by their contents."""
    parts = "".join(part for at, part in enumerate(PARTS) if number >> at & 1)
    return CrawledPage(
        url=f"https://{HOSTS[number % 3]}/{number}",
        html=f"<title>Page {number}</title>{parts}<p>Some text that is in every page.</p>",
        fetched_at=datetime(2025, 6, 1, tzinfo=UTC),
    )


@pytest.fixture
async def place(installing: Installing) -> Installation:
    """Pages in several transactions, and one record that is no page."""
    place = await installing(topics=[RETRIEVAL_BATCHES, SNIPPETS_REQUESTED])
    pages = [(page.url.encode(), page.to_json()) for page in map(varied, range(PAGES))]
    for start in range(0, PAGES, 80):
        await place.feed(pages[start : start + 80], transactional=True)
    await place.feed([(b"broken", b"{")])
    return place


def other(place: Installation, **flags: Any) -> Settings:
    kafka = place.settings.kafka
    return install(kafka.bootstrap_servers, kafka.topic_prefix, **flags)


async def plan_of(place: Installation, handler: str, **selection: Any) -> ReplayPlan:
    wishes = ReplayRequest(plan="diff", handler=handler, selection=ReplaySelection.model_validate(selection))
    return await resolved(place.settings, make_plan(wishes, place.settings, datetime.now(UTC)), (EARLIEST, LATEST))


def scores() -> dict[str, ScoredPage]:
    """What the handler itself says of each page, under the shipped rules."""
    found = {}
    rules = install("", "").rules(ScorePageRules)
    for number in range(PAGES):
        outcome = instance(Emit, score_page(varied(number), rules))
        [page] = outcome.events
        assert isinstance(page, ScoredPage)
        found[page.url] = page
    return found


@pytest.mark.usefixtures("children")
async def test_diff_counts_the_pages_that_a_threshold_moves(
    place: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """The count is the one computed directly: those in tier B whose score is below the new bound of it."""
    least = place.settings.tiered_indexing.tier_b.min_cts
    pages = scores()
    moved = {url for url, page in pages.items() if page.tier == "B" and (page.cts_score or 0) < HIGHER}
    assert least < HIGHER
    assert 20 < len(moved) < sum(page.tier == "B" for page in pages.values())
    then = other(place, tiered_indexing={"tier_b": {"min_cts": HIGHER}})
    assert await tell_diff(place.settings, then, await plan_of(place, "score_page"), PAGES, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] == PAGES + 1
    assert told["moved_count"] == len(moved)
    assert {move["url"] for move in told["moved"]} == moved
    assert {(move["now"]["decision"], move["then"]["decision"]) for move in told["moved"]} == {("B", "C")}
    tiers = Counter(page.tier for page in pages.values())
    assert told["matrix"]["B"] == {"A": 0, "B": tiers["B"] - len(moved), "C": len(moved), "dead": 0}
    assert told["matrix"]["A"]["A"] == tiers["A"]
    assert told["dead"] == {"now": {"undecodable": 1}, "then": {"undecodable": 1}}
    assert await place.read(SCORED) == [], "nothing is written"
