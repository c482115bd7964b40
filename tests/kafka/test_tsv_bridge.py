"""TSV (R-201) is published to a real Kafka, scored by ``score_page``, exported and scored alike again."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.pages import ScoredPage
from streams.cli.export import Export
from streams.cli.publish import Publication, run_publish
from streams.settings.model import Settings
from streams.topology import HANDLERS, PAGES_CRAWLED
from tests.kafka.installation import Installation, Installing
from tests.tables import tables

TABLES = tables(__file__)

SCORE_PAGE = HANDLERS[0]
ROWS = TABLES["rows"]
SCORES = TABLES["scores"]


@pytest.fixture
def settings(installing: Installing) -> Settings:
    return asyncio.run(installing()).settings


def score_all(settings: Settings) -> list[ScoredPage]:
    async def work() -> list[ScoredPage]:
        installation = Installation(settings)
        await installation.drain(SCORE_PAGE)
        return await installation.events(ScoredPage)

    return asyncio.run(work())


def verdicts(pages: list[ScoredPage]) -> dict[str, Any]:
    return {page.url: (page.cts_score, page.tier, page.label_source) for page in pages}


def test_exported_and_republished_pages_have_the_same_scores(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.tsv", tmp_path / "second.tsv"
    first.write_text("\n".join(ROWS))
    assert run_publish(settings, Publication(topic=PAGES_CRAWLED, paths=[first], as_json=True)) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["published"], answer["refused"]) == (4, 1)
    pages = score_all(settings)
    assert verdicts(pages) == SCORES
    assert Export(output=second).run(settings, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["exported"], answer["refused"]) == (4, 0)
    assert run_publish(settings, Publication(topic=PAGES_CRAWLED, paths=[second], as_json=True)) == 0
    again = score_all(settings)
    assert len(again) == 8
    assert verdicts(again) == SCORES
    assert {page.url: page.trust_features for page in again} == {page.url: page.trust_features for page in pages}
    assert Export(output=tmp_path / "third.tsv", newest=True).run(settings, as_json=True) == 0
    assert sorted((tmp_path / "third.tsv").read_text().splitlines()) == sorted(second.read_text().splitlines())
