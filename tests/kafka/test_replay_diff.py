"""``assay replay --config OTHER.yaml --diff``: what another configuration would change for the records of a topic."""

import json
from datetime import UTC, datetime

import pytest

from schemas.pages import CrawledPage
from streams.cli.replay_run import tell_diff
from streams.replay.admin import resolved
from streams.replay.plan import ReplayRequest, make_plan
from streams.replay.ranges import EARLIEST, LATEST
from tests.kafka.installation import SCORED, Installing, install

LISTED = "https://health.gov.tw/"
"""The pages of this host are in tier B, by 40 points for their source alone; the others are in tier C."""
HTML = "<title>Page</title><p>Some text that is in every page.</p>"
PAGES = [CrawledPage(url=f"{host}{n}", html=HTML) for n in range(20) for host in (LISTED, "https://site.example/")]


@pytest.mark.usefixtures("children")
async def test_diff_counts_the_pages_that_a_threshold_moves(
    installing: Installing, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages in two transactions, and one record that is no page."""
    place = await installing()
    records = [(page.url.encode(), page.to_json()) for page in PAGES]
    for some in (records[:15], records[15:]):
        await place.feed(some, transactional=True)
    await place.feed([(b"broken", b"{")])
    wishes = ReplayRequest(plan="diff", handler="score_page")
    plan = await resolved(place.settings, make_plan(wishes, place.settings, datetime.now(UTC)), (EARLIEST, LATEST))
    kafka = place.settings.kafka
    then = install(kafka.bootstrap_servers, kafka.topic_prefix, tiered_indexing={"tier_b": {"min_cts": 45}})
    assert await tell_diff(place.settings, then, plan, len(PAGES), as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pages"], told["moved_count"]) == (len(PAGES) + 1, 20)
    assert {move["url"] for move in told["moved"]} == {f"{LISTED}{n}" for n in range(20)}
    assert {(move["now"]["decision"], move["then"]["decision"]) for move in told["moved"]} == {("B", "C")}
    assert told["dead"] == {"now": {"undecodable": 1}, "then": {"undecodable": 1}}
    assert await place.read(SCORED) == [], "nothing is written"
