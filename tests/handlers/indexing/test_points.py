"""How many points a page has, which, and what they carry."""

from __future__ import annotations

import json
import uuid

import pytest

from handlers.index_page import IndexPageRules
from handlers.indexing.points import points_of
from schemas.needs import IndexPoint
from schemas.pages import ScoredPage, Tier
from tests.handlers.indexing.pages import LONG, scored_page
from tests.rules import shipped_rules

RULES = shipped_rules(IndexPageRules)


def points(page: ScoredPage) -> tuple[IndexPoint, ...]:
    return points_of(page, RULES.tiered_indexing, RULES.index_points)


def kinds(page: ScoredPage) -> list[str]:
    return [point.kind for point in points(page)]


def test_tier_a_has_an_article_embedding_and_chunks_of_512_characters() -> None:
    article, *chunks = points(scored_page("A", LONG))
    assert article.kind == "article"
    assert len(chunks) > 5
    assert all(point.kind == "chunk" and len(point.payload["text"]) <= 512 for point in chunks)
    assert [point.payload["ordinal"] for point in chunks] == list(range(len(chunks)))


def test_tier_b_has_its_first_1500_characters_and_its_summary() -> None:
    beginning, summary = points(scored_page("B", LONG))
    assert beginning.payload["text"] == LONG[:1500].strip()
    assert summary.payload["text"] == "In short."


def test_tier_c_has_one_article_embedding() -> None:
    [article] = points(scored_page("C", LONG))
    assert article.kind == "article"
    assert article.text.startswith("A title\nIn short.\n")


@pytest.mark.parametrize(
    ("tier", "content", "summary", "expected"),
    [
        ("B", "T\nShort text.", "T Short text.", ["beginning"]),
        ("C", "T\nShort text.\nMore.", "T Short text.", ["article"]),
        ("A", "", "", ["article"]),
        ("A", "One line.", "", ["article", "chunk"]),
        ("B", "", "", ["beginning"]),
        ("B", "One line.", "One line.", ["beginning"]),
        ("B", "", "In short.", ["beginning"]),
        ("B", "One line.", "", ["beginning"]),
        ("C", "", "", ["article"]),
    ],
)
def test_little_text_has_few_points(tier: Tier, content: str, summary: str, expected: list[str]) -> None:
    assert kinds(scored_page(tier, content, summary=summary)) == expected


def test_a_summary_in_the_words_of_the_beginning_is_not_embedded_twice() -> None:
    [point] = points(scored_page("C", "T\nShort text.\nMore.", summary="T Short  text."))
    assert point.payload["text"] == "T\nShort text.\nMore."


def test_a_page_without_any_text_is_found_by_its_address() -> None:
    [point] = points(scored_page("C", "", summary="", title=""))
    assert point.text == "https://news.example/story"


def test_ids_are_the_same_for_ever_and_differ_by_place() -> None:
    first = points(scored_page("A", LONG))
    again = points(scored_page("A", LONG.replace("and", "or")))
    assert [point.id for point in first] == [point.id for point in again[: len(first)]]
    assert len({point.id for point in first}) == len(first)
    assert all(uuid.UUID(point.id).version == 5 for point in first)
    other = points(scored_page("A", LONG, url="https://news.example/other"))
    assert {point.id for point in first}.isdisjoint(point.id for point in other)


def test_every_point_carries_score_features_and_what_searches_filter_by() -> None:
    for point in points(scored_page("A", LONG)):
        payload = point.payload
        assert payload["cts_score"] == 80
        assert payload["tier"] == "A"
        assert payload["url"] == "https://news.example/story"
        assert payload["domain"] == "news.example"
        assert payload["title"] == "A title"
        assert payload["date"] == "2026-02-03"
        assert len(payload["trust_features"]) == 18
        assert len(json.dumps(payload["trust_features"]).encode()) <= 1024


def test_what_every_point_carries_is_bounded_whatever_its_page_says() -> None:
    huge = "x" * 100_000
    for point in points(scored_page("A", LONG, title=huge, site_name=huge, author=[huge] * 100)):
        kept = {name: value for name, value in point.payload.items() if name != "text"}
        assert len(json.dumps(kept)) < 8_000
        assert len(point.text) < 3_000


def test_the_title_is_embedded_with_every_part() -> None:
    assert all(point.text.startswith("A title\n") for point in points(scored_page("A", LONG)))
