"""``score_page`` on pages whose text a crawler has extracted, and what such pages share with those read off HTML."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.score_page import score_page
from schemas.pages import CrawledPage, ScoredPage
from tests.handlers.test_score_page import RULES, page, score
from tests.samples import emitted

STORY = "Dredging starts in March, the port authority said on Tuesday. It takes nine months."
ALL_SEEN = {
    "has_byline": True,
    "has_author": True,
    "has_date": True,
    "schema_type": "NewsArticle",
    "has_headings": True,
    "external_links_count": 5,
    "is_wire_report": False,
}


def score_text(content: str = STORY, url: str = "https://blog.example.com/a", **fields: Any) -> ScoredPage:
    page = CrawledPage.model_validate({"url": url, "content": content, **fields})
    return emitted(ScoredPage, score_page(page, RULES))


@pytest.mark.parametrize(
    ("url", "content", "metadata", "total", "tier"),
    [
        ("https://www.agency.gov.tw/a", STORY, {"has_byline": False}, 40, "B"),
        ("https://udn.com/a", STORY, {"has_byline": False}, 25, "C"),
        ("https://blog.example.com/a", STORY, ALL_SEEN, 47, "B"),
        ("https://udn.com/a", STORY, ALL_SEEN | {"has_statistics": True}, 70, "A"),
        ("https://udn.com/a", f"{STORY} 1%, 2%, 3%, 4%, 5%, 6%", ALL_SEEN, 70, "A"),
        (
            "https://www.agency.gov.tw/a",
            f"{STORY} doi:10.1234/abcd\nReferences\nA book, 2019.",
            ALL_SEEN | {"has_statistics": True},
            100,
            "A",
        ),
        ("https://blog.example.com/a", STORY, {}, 10, "C"),
    ],
)
def test_an_extracted_page_is_scored_by_what_the_crawler_saw_and_the_text_shows(
    url: str, content: str, metadata: dict[str, Any], total: int, tier: str
) -> None:
    scored = score_text(content, url, quality_metadata=metadata)
    assert (scored.cts_score, scored.tier, scored.label_source) == (total, tier, "score")
    assert scored.trust_features.cts_score == total


@pytest.mark.parametrize(
    ("url", "tier", "label"),
    [
        ("https://www.agency.gov.tw/a", "A", "HIGH"),
        ("https://udn.com/a", "B", "MEDIUM"),
        ("https://medium.com/a", "C", "LOW"),
        ("https://unknown.example/a", "C", "LOW"),
        ("no address", "C", "LOW"),
    ],
)
def test_without_quality_metadata_the_score_is_null_and_the_source_decides(url: str, tier: str, label: str) -> None:
    scored = score_text(url=url, date="2024-05-03")
    assert (scored.cts_score, scored.trust_features.cts_score) == (None, None)
    assert (scored.tier, scored.trust_label, scored.label_source) == (tier, label, "fallback")
    assert [line.points for line in scored.cts_breakdown] == [0]
    assert "without quality metadata there is no score" in scored.cts_breakdown[0].because
    assert (scored.quality_metadata.has_date, scored.quality_metadata.has_author) == (True, None)


def test_where_redirects_ended_is_the_source() -> None:
    scored = score_text(url="https://www.agency.gov.tw/out", final_url="https://blog.example.com/a")
    assert (scored.url, scored.final_url) == ("https://www.agency.gov.tw/out", "https://blog.example.com/a")
    assert (scored.tier, scored.trust_features.source_tier) == ("C", 3)
    assert score(page(), "https://a.example/", final_url="https://a.example/").final_url is None


def test_the_publisher_is_the_crawlers_word_alone() -> None:
    claimed = score(page('<meta property="og:site_name" content="科技部">'))
    named = score_text(site_name="科技部")
    assert (claimed.site_name, claimed.publisher, claimed.trust_features.source_tier) == ("科技部", None, 3)
    assert (named.site_name, named.publisher, named.trust_features.source_tier) == ("科技部", "科技部", 1)


def test_an_empty_text_is_a_page_too() -> None:
    scored = score_text("", title="Only a title", quality_metadata={})
    assert (scored.title, scored.content, scored.summary) == ("Only a title", "", "")
    assert scored.trust_features.word_count == 0


@settings(deadline=None)
@given(st.text(min_size=30, max_size=3000), st.integers(0, 10**9), st.integers(0, 10**9), st.booleans())
def test_trust_features_take_at_most_a_kilobyte(name: str, links: int, citations: int, extracted: bool) -> None:
    metadata = {**ALL_SEEN, "schema_type": name, "external_links_count": links, "citation_count": citations}
    if extracted:
        scored = score_text(url="https://www.agency.gov.tw/a", quality_metadata=metadata)
    else:
        script = json.dumps({"@type": name}).replace("<", "\\u003c")
        scored = score(page(f'<script type="application/ld+json">{script}</script>'), "https://www.agency.gov.tw/a")
    assert len(scored.trust_features.to_json()) <= 1024
    assert scored.quality_metadata.schema_type == scored.trust_features.schema_type
