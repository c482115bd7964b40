"""Result types and listings on a few written pages: which contestant answers what, and what counts as right."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.retrieval import ResultType, RetrievedContent
from tools import labelled
from tools.accuracy import listings, result_types, seed_rules
from tools.accuracy.__main__ import main
from tools.training import by_site
from tools.training.__main__ import main as train
from tools.training.cases import read_cases

PROSE = "The barge came in on the morning tide and was made fast beside the old customs house, and many waited there. "
ITEM = "<title>Dredging begins</title><meta name=description content='Work began on Monday.'><body><h1>It begins</h1>"
CARD = '<li class="card"><h3><a href="/event/{0}">A night of music in the hall, number {0}</a></h3></li>'
LISTING = f"<title>All events</title><body><ul>{''.join(map(CARD.format, range(9)))}</ul><a href='?page=2'>Next</a>"
LOGIN = "<title>Log in</title><body><form><input type=password></form><p>Forgot your password?</p>"
LISTED = [f"https://list.example/event/{number}" for number in range(9)]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sites of each type, a listing with its items, and one with its next page."""
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    few = {mode: replace(recipe, rounds=2) for mode, recipe in by_site.RECIPES.items()}
    monkeypatch.setattr(by_site, "RECIPES", few)
    pages = {"SPECIFIC_CONTENT": ITEM + f"<p>{PROSE}</p>" * 9, "AGGREGATOR": LISTING, "NAVIGATION": LOGIN}
    typed: list[dict[str, object]] = [
        {
            "id": f"{label} {site}",
            "url": f"https://{label.lower().replace('_', '-')}{site}.example/{'a-b-c' if site else ''}",
            "suggested_label": label,
            "file": f"{label}.html",
            **dict.fromkeys(("publish_date", "author", "title", "must_contain", "must_not_contain", "page_type"), ""),
            **({"kind": "homepage"} if label == "NAVIGATION" else {}),
        }
        for label in pages
        for site in range(3)
    ]
    typed.append(typed[-1] | {"id": "doubtful", "strict": False})
    listed: dict[str, object] = {
        "id": "l",
        "url": "https://list.example/events",
        "file": "AGGREGATOR.html",
        "detail_urls": LISTED,
    }
    paged: dict[str, object] = {
        "id": "p",
        "url": "https://list.example/events",
        "file": "AGGREGATOR.html",
        "has_pagination": True,
    }
    plain: dict[str, object] = {
        "id": "n",
        "url": "https://list.example/a",
        "file": "NAVIGATION.html",
        "has_pagination": False,
        "selectors": {},
    }
    paging = [paged | {"selectors": {"NEXT": "body > a"}}, paged | {"selectors": {"PAGE": "body > a"}}, plain]
    back: dict[str, object] = {"url": "https://list.example/events?page=3", "selectors": {"NEXT": "body > a"}}
    sets: dict[str, list[dict[str, object]]] = {
        "wcxb_page_types": typed,
        listings.DETAILS: [listed],
        listings.PAGES: [*paging, paged | back],
    }
    for name, cases in sets.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cases.jsonl").write_text("\n".join(json.dumps(case) for case in cases), "utf-8")
        for label, html in pages.items():
            (tmp_path / name / f"{label}.html").write_text(html, "utf-8")
    return tmp_path


@pytest.mark.slow
def test_everybody_is_asked_about_every_case_that_counts(data: Path) -> None:
    matrices = result_types.measure(list(read_cases()))
    for who in (result_types.BY_SITE, result_types.IN_SAMPLE, result_types.RULES):
        assert matrices[result_types.PAGE, who, result_types.TOGETHER].total() == 9
    described = matrices["the page's description", result_types.BY_SITE, result_types.TOGETHER]
    assert described.total() == 3


def test_a_fold_is_answered_without_its_sites(data: Path) -> None:
    cases = list(read_cases())
    asked_in_all = 0
    for asked, known in by_site.held_out(cases):
        asked_in_all += len(asked)
        assert {cases[number].site for number in asked}.isdisjoint(cases[number].site for number in known)
    assert asked_in_all == sum(case.counts for case in cases) == 9


def test_a_front_page_may_be_a_listing() -> None:
    matrix = result_types.Matrix({(ResultType.NAVIGATION, ResultType.NAVIGATION): 1})
    assert result_types.macro_f1(matrix) == 1.0
    assert result_types.macro_f1(result_types.Matrix()) == 0.0


@pytest.mark.slow
def test_the_run_prints_goals_and_tables(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "results", "listings"]) == 0
    printed = capsys.readouterr().out
    assert "macro-F1 by site" in printed
    assert "Detail links of 1 listings: 9 of 9 found, 0 others" in printed
    assert "1 of 2 that are annotated as next" in printed
    assert "1 of these that lead on in the listing 1" in printed


def test_training_evaluates_and_writes_nothing_when_asked_to(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(["--evaluate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all("macro-F1" in line for line in lines)


def test_without_pages_nothing_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    assert train([]) == 0
    assert capsys.readouterr().out.startswith("skipped")
    assert result_types.run() == ([], [])


@pytest.mark.parametrize(
    ("url", "title", "text", "kind"),
    [
        ("https://example.com/hall", None, "Nov 29", ResultType.AGGREGATOR),
        ("https://example.org/a", "Browse concerts", "", ResultType.AGGREGATOR),
        ("https://example.org/a", None, "Read more. Read more.", ResultType.AGGREGATOR),
        ("https://example.org/a", None, "29/11/2024", ResultType.SPECIFIC_CONTENT),
        ("https://example.org/a", None, "8:00 PM", ResultType.SPECIFIC_CONTENT),
        ("https://example.org/a", None, "Read more.", ResultType.NAVIGATION),
    ],
)
def test_the_first_designs_rules(url: str, title: str | None, text: str, kind: ResultType) -> None:
    assert seed_rules.classify(RetrievedContent(url=url, title=title, content=text)) is kind
