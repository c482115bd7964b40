"""The measurement of fetching: it counts what is right, and names what is not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools import labelled
from tools.accuracy import fetching


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(labelled, "DATA", tmp_path)
    return tmp_path


def keep(folder: Path, *cases: Mapping[str, object], packed: bool = False) -> None:
    folder.mkdir(parents=True)
    lines = "".join(json.dumps(case) + "\n" for case in cases).encode()
    name = "cases.jsonl.gz" if packed else "cases.jsonl"
    (folder / name).write_bytes(gzip.compress(lines) if packed else lines)


def test_nothing_is_measured_without_data(data: Path) -> None:
    assert fetching.measure().rows == []


def test_addresses_robots_and_waits_are_counted_and_errors_named(data: Path) -> None:
    keep(
        data / fetching.ADDRESSES,
        {"id": "a", "url": "http://127.0.0.1/", "expect": "block"},
        {"id": "b", "url": "http://example.com/", "expect": "block"},
        {"id": "c", "url": "http://1.2.3.4.5/", "expect": "invalid"},
        {"id": "d", "url": "http://elsewhere.example/", "expect": "block_or_resolve_check"},
    )
    text = "User-agent: *\nCrawl-delay: 2\nSitemap: https://a.example/s.xml"
    site = {"domain": "a.example", "text": text, "crawl_delay": ["2"]}
    keep(data / fetching.ROBOTS, {"id": "r", "sitemaps": 1, **site}, {"id": "s", "sitemaps": 3, **site}, packed=True)
    now = "Mon, 3 Jun 2019 11:00:00 UTC"
    keep(
        data / fetching.WAITS,
        {"id": "w", "header": "7", "now": now, "invalid": False, "expected_seconds": 7},
        {"id": "x", "header": "soon", "now": now, "invalid": True, "expected_seconds": None},
    )
    measured = fetching.measure()
    rows = {what: (right, count) for what, right, count in measured.rows}
    assert rows["addresses, block"] == (1, 2)
    assert rows["addresses, invalid"] == rows["addresses, block or resolve check"] == (1, 1)
    assert rows["robots.txt, as many sitemaps as labelled"] == (1, 2)
    assert rows["robots.txt, each labelled Crawl-delay is some agent's"] == (2, 2)
    assert rows["Retry-After values"] == (2, 2)
    assert "addresses, block: b http://example.com/" in measured.wrong
    assert [goal.is_met for goal in measured.goals if goal.what.startswith("addresses, block:")] == [False]
    assert "| addresses, block | 1 | 2 |" in measured.table()


def test_real_pages_are_counted_as_refusals_and_as_empty(data: Path) -> None:
    pages = {
        "good": "<h1>Walk</h1><p>" + "The walk follows the river to the old mill. " * 9,
        "gone": "<title>404 Not Found</title><p>Please use the search.",
        "empty": "<title>Walk</title>",
    }
    folder = data / fetching.PAGES[0]
    keep(folder, {"id": "none"}, *({"id": name, "file": f"{name}.html"} for name in pages))
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, "utf-8")
    assert [row[1:] for row in fetching.measure().rows] == [(2, 3), (2, 3)]
