"""Reviews on a real Kafka: each is exported with the decision and its input."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.review import DecisionReviewed, ReviewedDecision
from streams.cli.export import Export
from streams.settings.model import Settings
from streams.topology import DECISIONS_REVIEWED, PAGES_SCORED, RESULTS_CLASSIFIED
from tests.command_line import Ran
from tests.kafka.installation import SCORE_PAGE, Installation, Installing
from tests.tables import tables

TABLES = tables(__file__)

URLS = [f"https://a.example/{number}" for number in range(5)]


def crawled(url: str) -> tuple[bytes, bytes]:
    return url.encode(), json.dumps({"url": url, "html": f"<title>{url}</title><h2>Part</h2><p>Text.</p>"}).encode()


async def reviewed(installing: Installing) -> Installation:
    """Five scored pages; four are marked, one of them twice, and one mark is about a decision that is gone."""
    assay = await installing(topics=(PAGES_SCORED, RESULTS_CLASSIFIED, DECISIONS_REVIEWED))
    await assay.feed([crawled(url) for url in URLS])
    await assay.drain(*SCORE_PAGE)
    places = {(record.key or b"").decode(): record for record in await assay.read(PAGES_SCORED.name)}

    def mark(url: str, right: bool, **more: Any) -> tuple[bytes, bytes]:
        record = places[url]
        event = json.loads(record.value)
        decision = ReviewedDecision(
            topic=PAGES_SCORED.name,
            partition=record.partition,
            offset=record.offset,
            event_id=event["event_id"],
            handler="score_page",
            config_version=event["config_version"],
            subject=url,
        )
        return url.encode(), DecisionReviewed(decision=decision, right=right, **more).to_json()

    gone = ReviewedDecision(
        topic=RESULTS_CLASSIFIED.name, partition=0, offset=7, handler="classify_results", subject="batch"
    )
    await assay.feed(
        [
            mark(URLS[0], True),
            mark(URLS[1], False, expected="A", note="a public authority", reviewer="Ida"),
            mark(URLS[2], True),
            mark(URLS[2], False),
            (b"batch", DecisionReviewed(decision=gone, right=True).to_json()),
            (b"x", b"no review"),
        ],
        topic=DECISIONS_REVIEWED.name,
        transactional=True,
    )
    return assay


@pytest.fixture
def settings(installing: Installing) -> Settings:
    return asyncio.run(reviewed(installing)).settings


def rows(text: str) -> dict[str, dict[str, Any]]:
    return {row["subject"]: row for row in map(json.loads, text.splitlines())}


def test_each_review_has_its_decision_and_its_input(ran: Ran, settings: Settings, tmp_path: Path) -> None:
    output = tmp_path / "reviews.jsonl"
    done = ran(Export(form="reviews", output=output, as_json=True).run, settings)
    assert done.status == 1, "one record is no review"
    assert ": undecodable: " in done.err
    assert done.document | {"seconds": 0} == TABLES["each_review_has_its_decision_and_its_input"]
    found = rows(output.read_text("utf-8"))
    assert set(found) == {*URLS[:3], "batch"}
    for url in URLS[:3]:
        row = found[url]
        assert row["decision"]["event"]["url"] == row["input"]["event"]["url"] == url
        assert (row["handler"], row["decided"], row["missing"]) == ("score_page", "C", [])
        assert row["config_version"] == row["decision"]["event"]["config_version"]
    verdicts = {url: (row["right"], row["expected"], row["label"]) for url, row in found.items()}
    assert verdicts == {
        URLS[0]: (True, None, "C"),
        URLS[1]: (False, "A", "A"),
        URLS[2]: (False, None, None),
        "batch": (True, None, None),
    }
    assert (found[URLS[1]]["note"], found[URLS[1]]["reviewer"]) == ("a public authority", "Ida")
    assert found["batch"]["missing"] == ["the decision is gone: results.classified.v1/0/7"]
    assert found["batch"]["input"] is None
