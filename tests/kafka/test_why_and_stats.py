"""``assay why`` and ``assay stats`` on a real Kafka: all decisions on a subject, and counts over a topic."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from schemas.extraction import ExtractionNeeded
from streams.cli.stats import run_topic_stats
from streams.settings.model import Settings
from streams.topology import (
    DOCUMENTS_INDEXED,
    EXTRACTION_NEEDED,
    PAGES_SCORED,
    RESULTS_CLASSIFIED,
    RETRIEVAL_EVALUATED,
)
from tests.command_line import Done, Ran
from tests.kafka.installation import SCORE_PAGE, Installation, Installing, command
from tests.samples import EXAMPLES

URL = "https://a.example/report"
HTML = "<title>Report</title><p>The report of the commission has 12 pages.</p>"


def crawled(url: str, html: str = HTML) -> tuple[bytes, bytes]:
    return url.encode(), json.dumps({"url": url, "html": html}).encode()


def why(settings: Settings, capsys: pytest.CaptureFixture[str], *words: str) -> Done:
    return Done(*asyncio.run(command(settings, capsys, "why", *words)))


async def judged(installing: Installing) -> Installation:
    """Three versions of a page among 30 others, one of them refused, and an extraction of the same domain."""
    assay = await installing(topics=(EXTRACTION_NEEDED, RESULTS_CLASSIFIED, RETRIEVAL_EVALUATED))
    for version in range(3):
        await assay.feed([crawled(f"https://a.example/{version}/{number}") for number in range(10)])
        await assay.feed([crawled(URL, "<div>" * 5000 if version == 1 else HTML)])
    example = json.loads(next((EXAMPLES / EXTRACTION_NEEDED.name).glob("*.json")).read_text("utf-8"))
    for target in (URL, "https://a.example/another"):
        needed = ExtractionNeeded.model_validate(example | {"target_url": target})
        await assay.feed([(b"a.example", needed.to_json())], EXTRACTION_NEEDED.name)
    await assay.drain(*SCORE_PAGE)
    return assay


@pytest.fixture
def settings(installing: Installing) -> Settings:
    return asyncio.run(judged(installing)).settings


def test_decisions_on_a_page_come_newest_first(capsys: pytest.CaptureFixture[str], settings: Settings) -> None:
    done = why(settings, capsys, URL, "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert done.status == 0
    assert [one["at"] for one in found] == sorted((one["at"] for one in found), reverse=True)
    verdicts = [one["verdict"].split(",")[0].split(":")[0] for one in found]
    assert sorted(verdicts) == sorted(
        ["score 10"] * 2 + ["crawled"] * 3 + ["dead letter of score_page", "extraction needed"]
    )
    scores = [one for one in found if one["verdict"].startswith("score")]
    assert scores[0]["by"] == "score_page"
    assert scores[0]["reasons"][0] == "+10 a.example is not listed"
    shown = why(settings, capsys, "https://A.example/report?utm_source=x", "--limit", "2")
    assert shown.out.count("score_page: score 10, tier C, label LOW") in (1, 2)
    assert max(map(len, shown.out.splitlines())) <= 166


def test_topic_is_counted_with_its_refusals(ran: Ran, settings: Settings) -> None:
    counted = ran(run_topic_stats, settings, PAGES_SCORED, None, as_json=True).document
    assert (counted["events"], counted["refusals"]) == (32, {"too_complex": 1})
    assert counted["fields"]["tier"] == {"C": 32}
    assert counted["scores"]["10-19"] == 32
    later = datetime.now(UTC) + timedelta(days=1)
    assert ran(run_topic_stats, settings, PAGES_SCORED, later, as_json=True).document["events"] == 0
    done = ran(run_topic_stats, settings, DOCUMENTS_INDEXED, None, as_json=True)
    assert (done.status, "topics create" in done.err) == (2, True)
