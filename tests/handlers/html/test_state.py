"""The state of pages: labelled pages that every decider reads alike, and what must not change a state."""

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

import assay
from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval
from handlers.fetch_page import FetchPageRules, read_pages
from handlers.html.state import Shown, kind_elsewhere, refreshed_to
from handlers.index_page import IndexPageRules, index_page
from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance
from handlers.score_page import ScorePageRules, score_page
from schemas.documents import DocumentIndexed
from schemas.extraction import ExtractionCompleted, ExtractionNeeded, ExtractionTrigger
from schemas.needs import Ask
from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage, ScoredPage
from schemas.relevance import RelevanceJudged, RelevanceRequested
from schemas.replies import FetchedPage, PagesReply
from schemas.retrieval import (
    JudgeScores,
    ResultsClassified,
    ResultType,
    RetrievalBatch,
    RetrievalEvaluated,
    RetrievedContent,
)
from schemas.states import REMOVING, State
from tests.cases.judgement import STATES_PAGE, states_page
from tests.rules import shipped_rules
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)
CASES = [json.loads(line) for line in Path(__file__).with_name("states.jsonl").read_text("utf-8").splitlines()]
RULES = shipped_rules(FetchPageRules)
STATES = RULES.pages.states
NOW = datetime(2026, 1, 2, tzinfo=UTC)
LEAST_RIGHT, LEAST_DIVIDED = 0.8, 0.86
"""Shares of the cases with the right state, and with content told from no content; no measure of other pages."""


def only(outcome: Outcome | Ask, kind: type[Any]) -> Any:
    [event] = [event for event in instance(Emit, outcome).events if isinstance(event, kind)]
    return event


def scored(url: str, html: str, **fields: Any) -> ScoredPage:
    page = CrawledPage(url=url, html=html, **fields)
    found: ScoredPage = only(score_page(page, shipped_rules(ScorePageRules)), ScoredPage)
    return found


@cache
def scored_case(number: int) -> ScoredPage:
    case = CASES[number]
    return scored(case["url"], case["html"], status=case.get("status"))


def rows() -> list[tuple[str, str, str, str]]:
    """Name, language, expected and found state of each case."""
    found = ((case, scored_case(number).state) for number, case in enumerate(CASES))
    return [(case["name"], case.get("language", ""), case["expect"], str(state)) for case, state in found]


def test_the_page_of_states_is_as_generated() -> None:
    assert STATES_PAGE.read_text("utf-8") == states_page(rows()), "write it again: .venv/bin/python -m tests.cases"


def test_enough_of_the_labelled_pages_have_the_right_state() -> None:
    found = [row[2:] for row in rows()]
    wrong = Counter(pair for pair in found if pair[0] != pair[1])
    divided = sum((one == "content") == (other == "content") for one, other in found)
    assert len(found) - wrong.total() >= LEAST_RIGHT * len(found), wrong
    assert divided >= LEAST_DIVIDED * len(found), wrong


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case["name"] for case in CASES])
def test_every_decider_reads_the_same_state(number: int) -> None:
    case, page = CASES[number], scored_case(number)
    url, html, is_content = case["url"], case["html"], page.state is State.CONTENT
    if not is_content:
        assert (page.cts_score, page.tier, page.trust_label) == (0, "C", "LOW")
        assert (page.date, page.authors) == (None, ())
    # The status is the crawler's: no other decider has it.
    if case.get("status", 200) < 400:
        batch = RetrievalBatch(
            batch_id="b", query="q", retrieved_content=(RetrievedContent(url=url, html=html, content_kind="full"),)
        )
        classified = only(classify_results(batch, shipped_rules(ClassifyResultsRules)), ResultsClassified)
        [result] = classified.results
        assert result.state is page.state
        if not is_content:
            assert (result.result_type, result.actionable_score) == (
                ResultType.NAVIGATION,
                0.4 if page.state is State.LOGIN else 0.0,
            )
            sure = JudgeScores(context_recall=1, context_precision=1, source_quality=1)
            given = classified.model_copy(update={"judge_scores": sure, "actionable_information": 1.0})
            evaluated = only(evaluate_retrieval(given, shipped_rules(EvaluateRetrievalRules)), RetrievalEvaluated)
            assert not evaluated.passed
            assert (evaluated.next_step == "render") == (page.state is State.NEEDS_RENDER)
        fetched = FetchedPage(url, url, 200, "text/html; charset=utf-8", html.encode(), NOW)
        needed = ExtractionNeeded(
            extraction_id="x", query="q", reason=ExtractionTrigger.AGGREGATOR_DETECTED, target_url=url, follow=False
        )
        answer = only(read_pages(needed, (PagesReply((fetched,)),), RULES), ExtractionCompleted)
        assert (answer.failure or State.CONTENT) == page.state
        asked = judge_relevance(
            RelevanceRequested(request_id="r", query="q", url=url, title="t", html=html),
            shipped_rules(JudgeRelevanceRules),
        )
        assert isinstance(asked, Ask) or not is_content
        if not is_content:
            assert f"no content, {page.state}" in (only(asked, RelevanceJudged).detail or "")
        assert instance(assay.Score, assay.score(html, url=url)).state == page.state
    step = index_page(page, shipped_rules(IndexPageRules))
    assert isinstance(step, Ask) == (is_content or page.state in REMOVING)
    if isinstance(step, Emit):
        assert (only(step, DocumentIndexed).change, only(step, DocumentIndexed).state) == ("kept", page.state)


STORY = (
    "<p>The walk follows the river to the old mill, with songs on the way, and ends with soup for everybody.</p>" * 6
)
ARTICLE = f"<title>Lantern walk</title><main><h1>Lantern walk</h1>{STORY}</main>"
OTHERS = {
    "comment": '<section class="comments"><h2>Comments</h2><article itemprop="comment" itemscope '
    'itemtype="https://schema.org/Comment"><span itemprop="author">Ann Other</span>'
    '<meta itemprop="datePublished" content="2016-03-03"><p>Page not found</p></article></section>',
    "teaser": '<aside><article itemscope itemtype="https://schema.org/BlogPosting">'
    '<meta itemprop="datePublished" content="2016-03-03"><meta itemprop="author" content="Joe"></article></aside>',
    "video": '<div itemprop="video" itemscope itemtype="https://schema.org/VideoObject">'
    '<meta itemprop="uploadDate" content="2016-03-03"><meta itemprop="author" content="Vi Other"></div>',
}


@pytest.mark.parametrize("html", OTHERS.values(), ids=OTHERS)
def test_what_others_wrote_changes_nothing(html: str) -> None:
    alone, beside = (scored("https://a.example/walk", ARTICLE + more) for more in ("", html))
    for name in ("state", "date", "authors", "cts_score"):
        assert getattr(alone, name) == getattr(beside, name)


FURNITURE = (
    "<nav><a href=/a>News</a><a href=/b>Sport</a></nav>",
    "<footer>© 2026 Harbour. All rights reserved.</footer>",
    '<div class="cookie-banner">We use cookies to improve this site. Accept all</div>',
    "<aside><h2>Newsletter</h2><p>Get the best of the week.</p></aside>",
)
EMPTY = ('<title>Harbour</title><div id="app"></div><script src="/app.js"></script>', "<title>Harbour</title>", "<p>")


@pytest.mark.parametrize("html", EMPTY)
@given(furniture=st.lists(st.sampled_from(FURNITURE), max_size=4))
def test_furniture_makes_no_empty_page_content(html: str, furniture: list[str]) -> None:
    assert scored("https://a.example/x", html + "".join(furniture)).state is not State.CONTENT


@pytest.mark.parametrize(
    ("status", "state"),
    [(200, "content"), (204, "empty"), (401, "login"), (402, "paywall"), (403, "blocked"), (404, "gone"), (410, "gone"),
     (429, "blocked"), (451, "blocked"), (418, "error"), (500, "error"), (503, "error")],
)  # fmt: skip
def test_a_stated_status_is_the_first_evidence(status: int, state: str) -> None:
    assert scored("https://a.example/walk", ARTICLE, status=status).state == state


@pytest.mark.parametrize(("state", "html"), TABLES["machinery"])
def test_the_machinery_of_a_page(state: str, html: str) -> None:
    assert scored("https://a.example/walk/7", html).state == state


@pytest.mark.parametrize(("state", "title", "text"), TABLES["snippets"])
def test_a_snippet_says_what_its_page_is(state: str, title: str, text: str) -> None:
    assert STATES.page_state(Shown((title,), text.replace(" / ", "\n"), is_whole=False)).kind == state


@pytest.mark.parametrize(("asked", "final", "state"), TABLES["where_redirects_led"])
def test_where_redirects_led(asked: str, final: str, state: str | None) -> None:
    assert kind_elsewhere(asked, final, RULES.page_refusals.walls) == state


OLD, NEW = "https://harbour.example/walks/old", "https://harbour.example/walks/new"


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=200))
def test_nothing_raises(title: str, text: str, refresh: str) -> None:
    STATES.page_state(Shown((title,), text), f"https://a.example/{title}")
    refreshed_to(LexborHTMLParser(f"<meta http-equiv=refresh content='{refresh}'>"), OLD, 10)


@pytest.mark.parametrize(("content", "onward"), TABLES["refresh"])
def test_a_refresh_that_leads_on(content: str, onward: bool) -> None:
    tag = f'<meta http-equiv=" Refresh " content="{content}">'
    found = refreshed_to(LexborHTMLParser(f"<meta http-equiv><head>{tag}</head><p>One moment."), OLD, 10)
    assert found == (NEW if onward else None)
    assert refreshed_to(LexborHTMLParser(f"<noscript>{tag}</noscript>"), OLD, 10) is None


@pytest.mark.parametrize("html", TABLES["honest"])
def test_a_short_honest_page_is_content(html: str) -> None:
    """What new users try first."""
    assert scored("https://www.example.com/a", html).state is State.CONTENT
