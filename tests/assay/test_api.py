"""``import assay``: results with reasons, refusals as values, and the same decisions as a worker's."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import assay
from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Emit
from schemas.pages import CrawledPage
from tests.rules import shipped_rules
from tests.samples import ROOT, environment, instance
from tests.streams.llm.model_server import model_server, says

URL = "https://news.example.org/storm"
PAGE = "<title>Storm</title><h1>Storm</h1><p>The storm reached the coast on Monday and closed two harbours.</p>"
DATED = (
    "<title>Storm</title><meta name=author content='Ana Costa'>"
    "<meta property=article:published_time content=2024-05-03>"
    "<p>The storm reached the coast on Monday and closed two harbours."
)
LISTING = {
    "url": "https://aarhus.example/events/today",
    "title": "All Events in Aarhus",
    "content": "Jazz: View event. Walk: View event. See all.",
}
HEAVY = {"numpy", "aiokafka", "faststream", "openai", "qdrant_client", "redis", "httpx", "uvicorn", "xgboost"}


def scored(result: object) -> assay.Score:
    return instance(assay.Score, result)


def test_score_is_the_decision_of_the_handler() -> None:
    result = scored(assay.score(PAGE, url=URL))
    outcome = score_page(CrawledPage(url=URL, html=PAGE), shipped_rules(ScorePageRules))
    assert result.event == instance(Emit, outcome).events[0]
    assert (result.cts_score, result.tier, result.trust_label) == (10, "C", "LOW")
    assert result.reasons[0] == "+10 news.example.org is not listed"
    assert result.title == "Storm"
    assert "closed two harbours" in result.content
    assert result.summary


def test_bytes_are_read_in_the_encoding_of_the_page() -> None:
    page = "<meta charset=big5><title>測試</title><p>這是一個測試頁面。</p>".encode("big5")
    assert scored(assay.score(page, url=URL)).title == "測試"


def test_text_without_a_page_has_the_label_of_its_source() -> None:
    result = scored(assay.score(text="The storm closed two harbours.", url="https://www.nature.com/articles/x"))
    assert (result.cts_score, result.trust_label) == (None, "HIGH")


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"html": None}, "invalid", "exactly one of html"),
        ({"html": "<p>a", "text": "a"}, "invalid", "exactly one of html"),
        ({"html": 7}, "invalid", "html"),
        ({"html": "<p>a", "url": ""}, "invalid", "url"),
        ({"html": "https://a.example/x"}, "invalid", "nothing is fetched"),
        ({"html": b"%PDF-1.4 \0"}, "unreadable_page", "PDF"),
        ({"html": "<p>" + "a" * (8 << 20)}, "too_large", "bytes"),
    ],
)
def test_bad_input_is_refused_with_a_reason(given: dict[str, Any], kind: str, words: str) -> None:
    refusal = instance(assay.Refusal, assay.score(**{"url": URL} | given))
    assert not refusal
    assert refusal.kind == kind
    assert words in " ".join(refusal.reasons)


def test_settings_change_the_decision() -> None:
    settings = assay.Settings(tiered_indexing={"tier_a": {"min_cts": 10}, "tier_b": {"min_cts": 5}})
    assert scored(assay.score(PAGE, url=URL, settings=settings)).tier == "B"
    assert scored(assay.score(PAGE, url=URL, settings={"tiered_indexing": {"tier_b": {"min_cts": 5}}})).tier == "B"


def test_settings_are_checked_when_they_are_made() -> None:
    with pytest.raises(assay.SettingsError, match="tierd_indexing"):
        assay.Settings(tierd_indexing={})
    with pytest.raises(TypeError, match="a mapping is expected, not str"):
        assay.score(PAGE, url=URL, settings="own.yaml")  # type: ignore[arg-type]


def test_listing_is_classified_and_evaluated() -> None:
    classified = instance(assay.Classification, assay.classify([LISTING], query="events in Aarhus today"))
    assert [result.result_type for result in classified.results] == ["AGGREGATOR"]
    assert classified.needs_extraction
    assert [needed.target_url for needed in classified.extractions] == [LISTING["url"]]
    assert "aggregator" in classified.reasons[0]
    evaluated = instance(assay.Evaluation, assay.evaluate([LISTING], query="events in Aarhus today"))
    assert not evaluated.passed
    assert evaluated.next_step == "await_extraction"
    assert evaluated.overall_score < 0.5
    assert evaluated.reasons[:2] == ("no result has: today", "contextRecall 0.33 is below 0.5")
    assert len(evaluated.reasons) == 5


@pytest.mark.parametrize(
    "url", ["javascript://nature.com/%0a", "//nature.com/x", "https://nature.com:99999/x", "ws://nature.com"]
)
def test_an_address_without_a_page_is_unlisted(url: str) -> None:
    said = {"url": url, "title": "Storm", "content": PAGE, "cts_score": 95, "trust_features": {"source_tier": 1}}
    assert instance(assay.Refusal, assay.score(PAGE, url=url)).kind == "bad_address"
    evaluated = instance(assay.Evaluation, assay.evaluate([said], query="storm"))
    assert evaluated.event.source_details[0].quality_source is None
    [classified] = evaluated.classification.results
    [ranked] = instance(assay.Ranking, assay.rank("storm", [said])).results
    judged = instance(assay.Snippet, assay.snippet(PAGE, url=url, query="storm")).event
    assert (ranked.trust_label, ranked.page_id, classified.page_id, judged.page_id) == ("LOW", None, None, None)
    assert {classified.reasons[-1], ranked.reasons[-1], judged.detail} == {"the address opens no web page"}


@pytest.mark.parametrize(
    "result",
    [
        lambda: assay.classify("abc", query="x"),  # type: ignore[arg-type]
        lambda: assay.classify([7], query="x"),  # type: ignore[list-item]
        lambda: assay.classify(None, query="x"),  # type: ignore[arg-type]
        lambda: assay.classify({"url": URL}, query="x"),  # type: ignore[dict-item]
        lambda: assay.evaluate([{"url": 7}], query="x"),
        lambda: assay.evaluate(None, query="x"),  # type: ignore[arg-type]
        lambda: assay.snippet("<p>a", url="", query="x"),
        lambda: assay.snippet(5, url=URL, query="x"),  # type: ignore[arg-type]
        lambda: assay.claim("a\0b"),
        lambda: assay.rank("", []),
        lambda: assay.rank("x", None),  # type: ignore[arg-type]
    ],
)
def test_every_function_refuses_bad_input(result: Any) -> None:
    refusal = instance(assay.Refusal, result())
    assert refusal.kind == "invalid"
    assert refusal.reasons


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda item: assay.classify([LISTING, item], query="x"), "results[1]: unknown key 'contents'; did you mean"),
        (lambda item: assay.rank("x", [item]), "candidates[0]: unknown key 'contents'; did you mean 'content'?"),
        (lambda item: next(iter(assay.score_many([item], processes=1))), "pages[0]: unknown key 'contents'"),
        (lambda item: assay.classify([{7: "a"} | item], query="x"), "unknown key 7; there are url, title, content"),
    ],
)
def test_unknown_keys_are_refused(given: Any, words: str) -> None:
    assert words in instance(assay.Refusal, given({"url": URL, "contents": "a"})).reasons[0]


def test_a_page_is_read_without_a_score() -> None:
    page = instance(assay.Page, assay.read(f"<html lang=en>{DATED}"))
    assert (page.url, page.title, page.state, page.language) == ("", "Storm", "content", "en")
    assert (str(page.date), page.authors) == ("2024-05-03", ("Ana Costa",))
    assert page.markdown.startswith("# Storm\n\nThe storm")
    assert not hasattr(page, "cts_score")
    assert repr(page) == "Page('Storm', 2024-05-03, Ana Costa)"


def test_a_score_shows_itself() -> None:
    result = scored(assay.score(DATED, url=URL))
    assert repr(result) == "Score(26 LOW, 'Storm', 2024-05-03, Ana Costa)"
    assert "<tr><td>+8<td>names an author" in result._repr_html_()
    told = json.loads(json.dumps(result.to_dict()))
    assert (told["url"], told["date"], told["trust_label"]) == (URL, "2024-05-03", "LOW")
    assert told["reasons"] == list(result.reasons)
    wall = scored(assay.score("<title>Sign in</title><p>Sign in to continue.", url=URL))
    assert repr(wall).startswith("Score(0 LOW, login, 'Sign in'")


async def test_functions_work_in_a_notebook_and_as_coroutines() -> None:
    """A notebook has a running event loop."""
    [one, other] = await asyncio.gather(assay.aio.score(PAGE, url=URL), assay.aio.score(b"%PDF-1.4", url=URL))
    assert scored(one) == assay.score(PAGE, url=URL)
    assert not other
    assert [scored(result).cts_score for result in assay.score_many([{"url": URL, "html": PAGE}], processes=1)] == [10]


def test_many_pages_keep_their_order_in_at_least_one_process() -> None:
    pages: list[Any] = [{"url": f"{URL}/{number}", "html": PAGE} for number in range(20)]
    pages[3] = {"url": ""}
    pages[4] = {"url": URL, "html": "<div>" * 5000}
    results = list(assay.score_many(pages, processes=2))
    assert [result.kind for result in results if isinstance(result, assay.Refusal)] == ["invalid", "too_complex"]
    assert [bool(result) for result in results] == [number not in (3, 4) for number in range(20)]
    assert scored(results[19]).event.url == f"{URL}/19"
    with pytest.raises(ValueError, match="at least 1"):
        list(assay.score_many(pages, processes=0))


async def test_the_model_of_the_settings_judges() -> None:
    async with model_server(says("Irrelevant")) as server:
        settings = assay.Settings(llm={"base_url": server.base_url, "api_key": "k", "model": "m", "cache_path": None})
        found = await assay.aio.snippet(PAGE, url=URL, query="storm", settings=settings)
    assert instance(assay.Snippet, found).reasons == ("the model judge: irrelevant",)


def test_score_imports_no_kafka_index_model_or_numpy(tmp_path: Path) -> None:
    program = (
        f"import sys, assay\nassert assay.score({PAGE!r}, url={URL!r})\nprint(sorted(set(sys.modules) & {HEAVY!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_names_are_listed_and_others_are_unknown() -> None:
    assert all(getattr(assay, name) for name in assay.__all__)
    with pytest.raises(AttributeError, match="scores"):
        assay.scores  # noqa: B018
