"""The whole run: its message without data, and its figures with a little data."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tools import labelled
from tools.accuracy import contestants, errors, plan_rules, schema_types, speed, table
from tools.accuracy.__main__ import main
from tools.accuracy.contestants import ASSAY
from tools.accuracy.labels import SCHEMA_SET, pages

HTML = """<html lang=en><head><title>Tea</title><meta property="article:published_time" content="2024-03-05T10:00:00Z">
<meta name="author" content="Ann Smith"><script type="application/ld+json">{"@type": "NewsArticle"}</script></head>
<body><article><h1>Tea</h1><h2>Picking</h2><p>Leaves are picked by hand in spring, before the first rain comes.</p>
</article></body></html>"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one labelled page, and Assay as the only contestant."""
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    monkeypatch.setattr(contestants, "versions", lambda: None)
    monkeypatch.setattr(speed, "versions", lambda: None)
    folder = tmp_path / "twnews_zh_hant"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "a.html.gz").write_bytes(gzip.compress(HTML.encode()))
    case: dict[str, object] = {
        "id": "a",
        "file": "pages/a.html.gz",
        "url": "https://news.example/a",
        "published": "2024-03-05 10:00:00",
    }
    case |= {"author": "Ann Smith", "title": "Tea", "must_contain": ["picked by hand"]}
    (folder / "cases.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    return tmp_path


def test_without_data_one_line_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(labelled, "DATA", tmp_path / "nowhere")
    assert main([]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("skipped: no labelled pages")


def test_one_page_is_measured(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (7.25, 0.0, 0.0))
    kept = tmp_path / "figures.json"
    assert main(["--only", "dates", "authors", "text", "features", "speed", "errors", "--json", str(kept)]) == 0
    printed = capsys.readouterr().out
    assert "| twnews_zh_hant | 1 | 1.000 / 1.000 |" in printed
    assert "0 raised" in printed
    assert "load 7.2 at the start" in printed
    tallies = json.loads(kept.read_text("utf-8"))["tallies"]
    assert tallies["title, equal to the label"][f"together: {ASSAY}"] == {"labelled": 1, "right": 1, "wrong": 0}


def test_page_that_raises_is_reported_and_fails_the_run(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fall(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(contestants, "score_page", fall)
    assert main(["--only", "dates", "errors", "--misses", "1"]) == 1
    printed = capsys.readouterr().out
    assert "1 raised" in printed
    assert "ValueError: broken" in printed


def test_errors_reads_every_page(data: Path) -> None:
    (data / "twnews_zh_hant" / "pages" / "b.html").write_bytes(b"%PDF-1.7 \x00\x01")
    found = errors.read_all()
    assert found.pages == {"twnews_zh_hant": 2}
    assert [place for place, _ in found.refused] == ["twnews_zh_hant/pages/b.html"]


def test_schema_types_count_only_forms_that_name_a_labelled_type(data: Path) -> None:
    (data / SCHEMA_SET).mkdir()
    case = {
        "id": "x",
        "types": ["Recipe", "name"],
        "jsonld_is_example": True,
        "html_jsonld": '<script type="application/ld+json">{"@type": "Recipe"}</script>',
        "html_microdata": '<div itemscope itemtype="https://schema.org/Recipe"></div>',
        "html_plain": "a recipe",
    }
    wrong = case | {"id": "y", "types": ["Event"], "html_microdata": "<p itemscope>", "jsonld_is_example": False}
    inside = '{"@type": "Museum", "hasMap": {"@type": "Map"}}'
    nested = case | {"id": "z", "types": ["Map"], "html_jsonld": inside, "html_microdata": None}
    text = "".join(json.dumps(line) + "\n" for line in (case, wrong, nested))
    (data / SCHEMA_SET / "cases.jsonl").write_text(text, "utf-8")
    by_label, by_either, plain, plain_wrong = schema_types.types()
    assert (by_label.of(ASSAY).labelled, by_label.of(ASSAY).right, plain, plain_wrong) == (3, 2, 3, 0)
    assert (by_either.of(ASSAY).labelled, by_either.of(ASSAY).right) == (3, 3)
    assert [miss.label for miss in by_label.misses] == ["Map"]


def test_the_plans_rules_read_their_marks_only() -> None:
    found = plan_rules.read(HTML)
    assert found["date"] == "2024-03-05T10:00:00Z"
    assert found["authors"] == ("Ann Smith",)
    assert found["schema_type"] == "NewsArticle"
    data = (
        '<script type="application/ld+json">{"@type": "Article", "author": [{"name": "Bo Lee"}, "Cy Park", 3]}</script>'
    )
    assert plan_rules.read(data)["authors"] == ()
    assert plan_rules.read(data, schema_author=True)["authors"] == ("Bo Lee", "Cy Park")
    assert plan_rules.read("<span class=byline>Ann</span><script type='application/ld+json'>{</script>") == {
        "date": None,
        "authors": ("Ann",),
        "has_byline": True,
        "schema_type": None,
        "has_headings": False,
    }


def test_answers_of_others_are_kept(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "CACHE", tmp_path / "kept.json")
    monkeypatch.setattr(contestants, "versions", lambda: "a parser 1")
    (page,) = pages("twnews_zh_hant")
    (key,) = contestants.keys([page])
    kept = {"of": contestants.cache_name(), "answers": {key: {"htmldate": {"date": "2024-03-05"}}}}
    contestants.CACHE.write_text(json.dumps(kept), "utf-8")
    ((_, answers),) = contestants.answers([page])
    assert answers["htmldate"].date == "2024-03-05"
    assert answers[contestants.PLAN].authors == ("Ann Smith",)


def test_figures_go_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "accuracy.md"
    begin, end = table.JUDGED_FIGURES
    docs.write_text(f"before\n{begin}\nold\n{end}\nafter\n", "utf-8")
    monkeypatch.setattr(table, "DOCS", docs)
    table.write("new\n", table.JUDGED_FIGURES)
    assert docs.read_text("utf-8") == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"


def test_a_part_of_a_section_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "dates", "results", "listings", "loops", "--write"])
    assert "add authors content errors" in capsys.readouterr().err
