import json
from pathlib import Path
from typing import Any

import pytest

import streams.publish.sources
from streams.cli.publish import Publication, run_publish
from streams.settings.model import Settings, load_settings
from tests.archives import warc_record
from tests.command_line import Done, Ran

PAGES = "pages.crawled.v1"


@pytest.fixture
def nowhere() -> Settings:
    return load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"})


@pytest.fixture
def publish(ran: Ran, nowhere: Settings) -> Ran:
    """``publish(path, …, **options)``: publishes pages, and tells so as JSON, where there is no Kafka."""

    def call(*paths: Path, topic: str = PAGES, settings: Settings = nowhere, **options: Any) -> Done:
        asked = {"as_json": True, **options}
        return ran(lambda: run_publish(settings, Publication(topic=topic, paths=[*paths], **asked)))

    return call


ROWS = b"https://a.example/1\tT\ttext\t2026-01-02\nbad\nhttps://a.example/2\tT\ttext\t\t{}\n"


def test_a_check_sends_nothing_and_needs_no_kafka(publish: Ran, tmp_path: Path) -> None:
    path = tmp_path / "pages.tsv"
    path.write_bytes(ROWS)
    done = publish(path, check=True)
    told = done.document
    assert (done.status, told["published"], told["valid"], told["refused"]) == (1, 0, 2, 1)
    assert done.err == f"assay publish: {path}:2: 1 columns, 5 (or without quality_metadata 4) expected\n"
    path.write_bytes(ROWS.replace(b"bad\n", b""))
    done = publish(path, as_json=False, check=True)
    assert done.status == 0
    assert done.out.startswith("2 valid for pages.crawled.v1 (1,465 bytes), 0 refused, in ")
    archive = tmp_path / "crawl.warc"
    archive.write_bytes(warc_record("https://a.example/", b"", "request") * 2 + b"damaged")
    assert publish(archive, check=True).document["passed_over"] == {"request": 2}
    done = publish(archive, as_json=False, check=True)
    assert ", 1 refused, passed over 2 (2 request), in " in done.out


CLAIM = b'{"claim_id": "c%d", "claim_text": "The bridge was built in 1932.", "source_text": "Built in 1932."}\n'


def test_a_dry_run_says_what_handlers_will_do_and_needs_no_kafka(
    publish: Ran, nowhere: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_bytes(b"".join(CLAIM % number for number in range(10)))
    settings = nowhere.model_copy(update={"llm": nowhere.llm.model_copy(update={"cache_path": None})})
    options = {"topic": "claims.extracted.v1", "settings": settings, "rate": 2.0, "dry_run": True}
    told = publish(path, **options).document
    assert (told["published"], told["valid"], told["refused"], told["seconds_at_rate"]) == (0, 10, 0, 5.0)
    records = {handler["handler"]: handler["records"] for handler in told["estimate"]["handlers"]}
    assert records["decontextualize_claim"] == 10
    done = publish(path, as_json=False, **options)
    assert done.status == 0
    assert done.out.startswith("10 valid for claims.extracted.v1 (")
    assert ", 5.0 s at 2 a second), 0 refused, in " in done.out.splitlines()[0]
    assert "decontextualize_claim" in done.out


def test_what_is_refused_is_kept_where_it_ends_nothing_else(publish: Ran, tmp_path: Path) -> None:
    folder, deeper = tmp_path / "pages", tmp_path / "pages" / "deeper"
    deeper.mkdir(parents=True)
    page, other = folder / "1.html", tmp_path / "notes.txt"
    for path in (page, other):
        path.write_text("<p>mine</p>")
    hard, soft, way = tmp_path / "hard", tmp_path / "soft", tmp_path / "way"
    hard.hardlink_to(page)
    soft.symlink_to(page)
    way.symlink_to(folder)

    def said(kept: Path, *paths: Path) -> str:
        done = publish(*paths, check=True, refused=kept)
        assert done.status == 2
        return done.complaint

    for kept in (page, folder / "new", deeper / "new", way / "new", soft):
        assert "is one of the sources, or in one" in said(kept, folder)
    lines = tmp_path / "pages.jsonl"
    lines.write_text("{}")
    (tmp_path / "linked").hardlink_to(lines)
    assert "is one of the sources" in said(tmp_path / "linked", lines)
    assert "contains something other" in said(hard, folder)
    assert "contains something other" in said(other, lines)
    assert "is a folder" in said(tmp_path, lines)
    assert page.read_text() == other.read_text() == "<p>mine</p>"
    assert lines.read_text() == "{}"


def test_a_check_keeps_what_is_refused_whole(publish: Ran, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_bytes(b"no page\n" * 30)
    kept = tmp_path / "kept"
    kept.write_text('{"place": "p:1", "reason": "from before"}\n' * 1000)
    done = publish(tmp_path / "pages.jsonl", check=True, refused=kept)
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert (done.status, [line["line"] for line in lines]) == (1, ["no page"] * 30)
    assert (len(done.err.splitlines()), "keeps them all" in done.err) == (21, False)


@pytest.mark.parametrize("stated", ["tsv", "jsonl", None])
def test_standard_input_can_be_tsv(
    publish: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str | None
) -> None:
    (tmp_path / "rows").write_bytes(ROWS)
    with (tmp_path / "rows").open("rb") as rows:
        monkeypatch.setattr(streams.publish.sources, "STANDARD_INPUT", rows.fileno())
        done = publish(Path("-"), lines=stated, check=True)
    assert (done.status, done.document["valid"]) == (1, 2 if stated == "tsv" else 0)
