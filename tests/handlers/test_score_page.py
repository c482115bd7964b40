import base64
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from handlers.html.links import page_id_of
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Dead, DeadReason
from schemas.pages import MAX_PAGE_BYTES, CrawledPage, ScoredPage
from tests.rules import CONFIG, shipped_rules
from tests.samples import emitted, instance
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(ScorePageRules)

HEADING = "<h2>What changed</h2>"
LINK = '<p>More at <a href="https://elsewhere.example.org/report">the report</a>.</p>'
AUTHOR = '<meta name="author" content="Ada Lovelace">'
DATE = '<meta property="article:published_time" content="2024-05-03T08:00:00+08:00">'
TABLE = (
    "<table><tr><th>Year</th><th>Tonnes</th></tr>"
    "<tr><td>2023</td><td>12</td></tr><tr><td>2024</td><td>14</td></tr></table>"
)
SCHEMA = '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle"}</script>'
DOI = "<p>As shown before, see doi:10.1234/abcd.5678 for the data of the earlier study.</p>"
REFERENCES = "<h2>References</h2><ol><li>A study of the matter, in a journal of 2019.</li></ol>"


def page(*parts: str) -> str:
    head = "".join(part for part in parts if part.startswith(("<meta", "<script")))
    body = "".join(part for part in parts if not part.startswith(("<meta", "<script")))
    return f"<html><head><title>A page</title>{head}</head><body><p>Some words of its own.</p>{body}</body></html>"


def score(html: str | bytes, url: str = "https://blog.example.com/a", **fields: Any) -> ScoredPage:
    body: dict[str, Any] = {"html": html} if isinstance(html, str) else {"html_base64": html}
    return emitted(ScoredPage, score_page(CrawledPage(url=url, **body, **fields), RULES))


@pytest.mark.parametrize(("url", "parts", "total", "tier"), TABLES["edge_table_on_pages"])
def test_edge_table_on_pages(url: str, parts: tuple[str, ...], total: int, tier: str) -> None:
    scored = score(page(*parts), url)
    assert scored.cts_score == total, scored.cts_breakdown
    assert scored.tier == tier


@pytest.mark.parametrize("html", ["<html></html>", " ", "<p>", "plain words"])
def test_a_page_with_nothing_has_no_score(html: str) -> None:
    scored = score(html)
    assert (scored.cts_score, scored.tier, scored.state) == (0, "C", "empty")
    assert scored.summary == scored.content


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"html_base64": b"\x89PNG\r\n\x1a\n" + bytes(100)}, "PNG"),
        ({"html_base64": b"PK\x03\x04abc"}, "zip"),
        ({"html_base64": b"%PDF-1.7 ..."}, "PDF"),
        ({"html_base64": bytes(range(256)) * 8}, "binary"),
        ({"html": "\x00" * 50}, "binary"),
        ({"html_base64": b""}, "no bytes"),
        ({"html": "<p>text</p>", "content_type": "application/pdf"}, "application/pdf"),
        ({"html": "<div>" * 2_000}, "nested"),
        ({"html": "<br>" * 201_000}, "elements"),
    ],
)
def test_binary_page_becomes_a_dead_letter(fields: dict[str, Any], says: str) -> None:
    outcome = instance(Dead, score_page(CrawledPage(url="https://blog.example.com/a", **fields), RULES))
    is_parsed = says in ("nested", "elements")
    assert outcome.reason is (DeadReason.TOO_COMPLEX if is_parsed else DeadReason.UNREADABLE_PAGE)
    assert says in outcome.detail


@pytest.mark.parametrize("field", ["html", "content"])
@pytest.mark.parametrize(("sign", "count"), [(b"a", MAX_PAGE_BYTES + 1), ("a", MAX_PAGE_BYTES + 1), ("字", 4_000_000)])
def test_too_large(field: str, sign: str | bytes, count: int) -> None:
    body = {field: sign * count} if isinstance(sign, str) else {"html_base64": base64.b64encode(sign * count).decode()}
    page = CrawledPage.model_validate({"url": "https://blog.example.com/a"} | body)
    assert instance(Dead, score_page(page, RULES)).reason is DeadReason.TOO_LARGE


FRAGMENTS = [*TABLES["fragments"], "\ud800"]

bodies = st.one_of(
    st.text(max_size=400), st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join), st.binary(max_size=400)
)


@settings(deadline=None, max_examples=300)
@given(bodies, st.one_of(st.none(), st.just("text/html"), st.text(max_size=30)))
def test_any_body_has_an_outcome(body: str | bytes, content_type: str | None) -> None:
    fields: dict[str, Any] = {"html": body} if isinstance(body, str) else {"html_base64": body}
    crawled = CrawledPage(url="https://blog.example.com/a", content_type=content_type, **fields)
    outcome = score_page(crawled, RULES)
    assert outcome == score_page(crawled, RULES)
    if isinstance(outcome, Dead):
        assert outcome.reason is DeadReason.UNREADABLE_PAGE
        return
    scored = emitted(ScoredPage, outcome)
    assert scored.cts_score == sum(line.points for line in scored.cts_breakdown) == scored.trust_features.cts_score
    assert scored.tier == ("A" if scored.cts_score >= 70 else "B" if scored.cts_score >= 40 else "C")
    assert ScoredPage.model_validate_json(scored.to_json()) == scored


@pytest.mark.parametrize(("section", "change", "says"), TABLES["configuration_that_makes_no_sense_is_refused"])
def test_configuration_that_makes_no_sense_is_refused(section: str, change: dict[str, Any], says: str) -> None:
    document = yaml.safe_load((CONFIG / "config_indexing.yaml").read_text("utf-8"))
    with pytest.raises(ValidationError, match=says):
        shipped_rules(ScorePageRules, **{section: document[section] | change})


def test_thresholds_are_configuration() -> None:
    rules = shipped_rules(ScorePageRules, trust_labels={"high": 40, "medium": 20, "low": 0})
    scored = emitted(ScoredPage, score_page(CrawledPage(url="https://www.agency.gov.tw/a", html=f"<p>{STORY}"), rules))
    assert (scored.tier, scored.trust_label) == ("B", "HIGH")
    assert rules.config_version != RULES.config_version


STORY = "Dredging starts in March, the port authority said on Tuesday. It takes nine months."
ALL_SEEN = TABLES["all_seen"]


def score_text(content: str = STORY, url: str = "https://blog.example.com/a", **fields: Any) -> ScoredPage:
    page = CrawledPage.model_validate({"url": url, "content": content, **fields})
    return emitted(ScoredPage, score_page(page, RULES))


@pytest.mark.parametrize(
    ("url", "content", "metadata", "total", "tier"), TABLES["extracted_page_is_scored_by_metadata_and_text"]
)
def test_extracted_page_is_scored_by_metadata_and_text(
    url: str, content: str, metadata: dict[str, Any], total: int, tier: str
) -> None:
    scored = score_text(content, url, quality_metadata=metadata)
    assert (scored.cts_score, scored.tier, scored.label_source) == (total, tier, "score")
    assert scored.trust_features.cts_score == total


@pytest.mark.parametrize(("url", "tier", "label"), TABLES["page_without_metadata_has_null_score_and_source_tier"])
def test_page_without_metadata_has_null_score_and_source_tier(url: str, tier: str, label: str) -> None:
    scored = score_text(url=url, date="2024-05-03")
    assert (scored.cts_score, scored.trust_features.cts_score) == (None, None)
    assert (scored.tier, scored.trust_label, scored.label_source) == (tier, label, "fallback")
    assert [line.points for line in scored.cts_breakdown] == [0]
    assert "without quality metadata there is no score" in scored.cts_breakdown[0].reason
    assert (scored.quality_metadata.has_date, scored.quality_metadata.has_author) == (True, None)


def test_only_the_crawler_can_name_the_publisher() -> None:
    html = page(
        '<meta property="og:site_name" content="科技部">', '<meta property="og:url" content="https://x.gov.tw/">'
    )
    claimed, named = score(html), score_text(site_name="科技部")
    assert score(html, site_name="科技部").trust_features.source_tier == 1
    assert (claimed.site_name, claimed.publisher, claimed.trust_features.source_tier) == ("科技部", None, 3)
    assert (named.site_name, named.publisher, named.trust_features.source_tier) == ("科技部", "科技部", 1)


@pytest.mark.parametrize(("sid", "of_page", "is_session"), TABLES["sid_is_a_session_if_the_page_shows_it"])
def test_sid_is_a_session_if_the_page_shows_it(sid: str, of_page: str, is_session: bool) -> None:
    scored = score(page(of_page), f"https://a.example/x?{sid}")
    assert (scored.page_id == page_id_of("https://a.example/x")) is is_session


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


@pytest.mark.parametrize("url", ["no address", "ftp://nature.com/x", "javascript://nature.com/%0a", "https://"])
def test_an_address_that_no_browser_opens_is_dead(url: str) -> None:
    dead = score_page(CrawledPage(url=url, html="<p>A text.</p>"), RULES)
    assert isinstance(dead, Dead)
    assert dead.reason is DeadReason.BAD_ADDRESS
