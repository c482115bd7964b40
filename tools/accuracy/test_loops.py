"""The measure of extraction loops, on a set of two pages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tools import labelled
from tools.accuracy import loops

CARDS = "".join(f'<li class="card"><a href="/p/{n}">Garden book number {n}</a><p>£{n}.99</p></li>' for n in range(1, 9))
LISTING = f"<title>Products in Garden</title><body><h1>Garden</h1><h2>8 products:</h2><ol>{CARDS}</ol></body>"
PROSE = "This book says when roses are cut and how a garden is kept over a whole year, month by month. " * 4
DETAIL = f"<title>Roses</title><body><h1>Roses</h1><p>Price: £2.99</p><p>A garden book. {PROSE}</p></body>"


@pytest.fixture
def _pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / loops.SET
    folder.mkdir()
    details = [f"http://shop.example/p/{n}" for n in range(1, 9)]
    cases = [
        {"url": "http://shop.example/category/4", "file": "listing.html.gz", "detail_urls": details},
        {"url": details[1], "file": "detail.html.gz"},
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    (folder / "listing.html.gz").write_bytes(gzip.compress(LISTING.encode()))
    (folder / "detail.html.gz").write_bytes(gzip.compress(DETAIL.encode()))
    monkeypatch.setattr(labelled, "DATA", tmp_path)


@pytest.mark.usefixtures("_pages")
def test_a_listing_is_followed_and_its_detail_is_better() -> None:
    found = list(loops.measure())
    assert len(found) == 2 * len(loops.QUERIES)
    for loop in found:
        assert loop.before.needs_extraction
        assert not loop.before.passed
        assert loop.fetched == 1
        assert loop.after is not None
        assert loop.after.passed
        assert loop.after.overall_score > loop.before.overall_score
    lines, (goal,) = loops.run()
    assert goal.is_met
    assert any("| details |" in line for line in lines)


def test_without_the_set_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    assert loops.run() == ([], [])
