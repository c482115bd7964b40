"""TSV is published to a real Kafka, scored by ``score_page`` and exported again, with the same scores each time."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.pages import ScoredPage
from streams.cli.export import Export
from streams.cli.publish import Publication, run_publish
from streams.kafka.clients import make_producer, opened
from streams.settings.model import Settings
from streams.topology import HANDLERS, PAGES_CRAWLED, PAGES_SCORED
from tests.kafka.installation import Installation, Installing, installed
from tests.samples import EXAMPLES
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


def feed(settings: Settings, *values: bytes | None) -> None:
    asyncio.run(
        Installation(settings).feed([(b"k", value) for value in values], topic=PAGES_SCORED.name, transactional=True)
    )


def test_export_starts_and_ends_where_requested(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES / "pages.scored.v1"
    old, new = (example / "minimal.json").read_bytes(), (example / "government_notice.json").read_bytes()
    feed(settings, old, b"no page", None, new)
    assert Export().run(settings) == 1
    out, err = capsys.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()] == [json.loads(v)["url"] for v in (old, new)]
    assert ["/1: undecodable" in err, "/2: undecodable" in err, "exported 2, refused 2" in err] == [True] * 3
    assert Export(start="2", most=1).run(settings) == 1
    assert "exported 0, refused 1" in capsys.readouterr().err
    for start in ("latest", "99"):
        assert Export(start=start).run(settings) == 0
        assert "exported 0, refused 0" in capsys.readouterr().err


async def test_an_open_transaction_holds_nothing_up(
    kafka: str, topic_prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (await installed(kafka, topic_prefix)).settings
    producer = make_producer(settings.kafka, f"{topic_prefix}open", "test")
    async with opened(producer), producer.transaction():
        await producer.send_and_wait(topic_prefix + PAGES_SCORED.name, b"{}", partition=0)
        assert await asyncio.to_thread(Export(output=tmp_path / "pages.tsv").run, settings) == 0
    assert "exported 0" in capsys.readouterr().out
