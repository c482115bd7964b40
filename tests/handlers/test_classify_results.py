"""Classification: the examples, the required tests, bands that hold for any text, and extractions."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from handlers.classify_results import ClassifyResultsRules, classify_results
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit
from schemas.retrieval import (
    ClassifiedResult,
    ContentKind,
    JudgeScores,
    ResultsClassified,
    ResultType,
    RetrievalBatch,
    RetrievedContent,
)
from schemas.states import State
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(ClassifyResultsRules)
LISTING = RetrievedContent(
    url="https://www.eventbrite.com/d/denmark--århus/events--today/",
    title="All Events in Aarhus - Today",
    content="Find events... Event 1: Read more, Event 2: Read more...",
)
CONCERT = RetrievedContent(
    url="https://example.com/events/jazz-concert-nov-29",
    title="Jazz Concert at Blue Note - November 29",
    content="Date: November 29, 2024, Time: 8:00 PM, Venue: Blue Note, Price: $25...",
)
CARD = (
    '<li class="item"><a href="/concert/{0}"><h3>Concert number {0} of the season</h3></a><p>From 10 dollars</p></li>'
)
LISTING_HTML = "<title>Concerts</title><body><ul>" + "".join(CARD.format(n) for n in range(20)) + "</ul></body>"
PROSE = "The band played for two hours in the old hall, and nobody left before the last of many encores had ended. "
ARTICLE_HTML = (
    '<head><title>The opening</title><meta property="og:type" content="article"></head><body><article>'
    f"<h1>The opening</h1>{f'<p>{PROSE}</p>' * 20}</article></body>"
)
LOGIN_HTML = "<title>Log in</title><body><form><input name=u><input type=password></form><p>Forgot your password?</p>"


def emitted(
    *contents: RetrievedContent, rules: ClassifyResultsRules = RULES, **fields: Any
) -> tuple[ResultsClassified, list[ExtractionNeeded]]:
    batch = RetrievalBatch(batch_id="b1", query="jazz in Aarhus", retrieved_content=contents, **fields)
    outcome = classify_results(batch, rules)
    assert isinstance(outcome, Emit)
    classified, *needed = outcome.events
    assert isinstance(classified, ResultsClassified)
    extractions = [event for event in needed if isinstance(event, ExtractionNeeded)]
    assert len(extractions) == len(needed)
    return classified, extractions


def classify(content: RetrievedContent) -> ClassifiedResult:
    return emitted(content)[0].results[0]


@pytest.mark.parametrize("snippet", ["", "A concert", "Jazz at the Blue Note. Read more"])
def test_page_text_follows_a_short_snippet_in_the_content(snippet: str) -> None:
    html = f"<body><main><h1>{CONCERT.title}</h1><p>{CONCERT.content} {PROSE}</p></main>"
    classified, _ = emitted(CONCERT.model_copy(update={"content": snippet, "html": html}))
    (result,), (content,) = classified.results, classified.retrieved_content
    assert result.actionable_score == 0.95
    assert content.content.startswith(snippet)
    assert PROSE.strip() in content.content
    assert content.content_kind == result.content_kind == "full"
    assert all(content.content[detail.start : detail.end] == detail.text for detail in result.evidence)


@pytest.mark.parametrize("kind", ["snippet", "full"])
def test_a_text_that_says_more_than_its_page_stays_as_it_is(kind: ContentKind) -> None:
    content = CONCERT.model_copy(update={"content": PROSE * 3, "html": "<p>Loading</p>", "content_kind": kind})
    classified, _ = emitted(content)
    cts_score = 0.0 if kind == "snippet" else None
    assert classified.retrieved_content[0] == content.model_copy(update={"html": None, "cts_score": cts_score})


@pytest.mark.parametrize(
    ("url", "html", "given", "score", "source"), TABLES["a_result_has_the_score_of_its_page_or_its_source"]
)
def test_a_result_has_the_score_of_its_page_or_its_source(
    url: str, html: str | None, given: float | None, score: float | None, source: str | None
) -> None:
    content = RetrievedContent(url=url, title="A", content="Some words of a page.", html=html, cts_score=given)
    classified, _ = emitted(content)
    assert classified.retrieved_content[0].cts_score == score
    [result] = classified.results
    assert result.source == source
    assert any("is contested: " in reason for reason in result.reasons) == (source == "contested")
    known = 0.5 if score is None else score / 100
    assert classified.fallback_scores is not None
    assert classified.fallback_scores.source_quality == known


def test_a_page_that_must_not_be_parsed_is_left_aside() -> None:
    content = CONCERT.model_copy(update={"html": "<div>" * 20_000})
    left_aside = classify(content)
    assert left_aside.reasons[-1].startswith("the page is not read: ")
    assert left_aside.model_copy(update={"reasons": left_aside.reasons[:-1]}) == classify(CONCERT)


def test_a_full_text_counts_the_details_of_its_beginning_only() -> None:
    padding = PROSE * 60
    content = CONCERT.model_copy(update={"content": padding + CONCERT.content, "content_kind": "full"})
    assert classify(content).actionable_score < 0.9
    assert classify(content.model_copy(update={"content_kind": "snippet"})).actionable_score == 0.95


def test_html_is_dropped_and_text_is_capped() -> None:
    classified, _ = emitted(CONCERT.model_copy(update={"html": ARTICLE_HTML, "content": "x" * 1_000_000}))
    assert classified.retrieved_content[0].html is None
    assert len(classified.retrieved_content[0].content) == RULES.retrievalEvaluation.maxSourceCharacters


def test_results_that_no_judge_is_shown_carry_no_text() -> None:
    most = RULES.retrievalEvaluation.maxSources
    many = [CONCERT.model_copy(update={"url": f"{CONCERT.url}/{number}"}) for number in range(most + 1)]
    classified, _ = emitted(*many)
    assert [bool(content.content) for content in classified.retrieved_content] == [True] * most + [False]


def test_words_behind_the_carried_text_count_for_the_fallback() -> None:
    filler = "Nothing of it is here. " * 500
    texts = (filler, f"{filler}Jazz, Aarhus.")
    near, far = (emitted(RetrievedContent(url="https://a.example/", content=text))[0] for text in texts)
    assert near.retrieved_content == far.retrieved_content
    assert near.fallback_scores is not None
    assert far.fallback_scores is not None
    assert (near.fallback_scores.context_recall, far.fallback_scores.context_recall) == (0.0, 1.0)


def test_given_scores_need_no_fallback() -> None:
    judge = JudgeScores(context_recall=0.5, context_precision=0.5, source_quality=0.5)
    assert emitted(CONCERT, judge_scores=judge)[0].fallback_scores is None


def test_beyond_the_hop_limit_no_extraction_is_needed() -> None:
    """Nothing is fetched then, so there would be nothing to wait for."""
    classified, needed = emitted(LISTING, attempt=2, previous_actionable_information=0.3)
    assert (classified.needs_extraction, classified.extraction_reason, classified.extraction_targets) == TABLES[
        "beyond_the_hop_limit_no_extraction_is_needed"
    ]
    assert needed == []
    assert classified.improvement == pytest.approx(-0.1)


def test_each_canonical_url_gets_one_extraction() -> None:
    same = LISTING.model_copy(update={"url": LISTING.url + "?utm_source=mail#top"})
    other = LISTING.model_copy(update={"url": "ftp://example.com/events/"})
    classified, needed = emitted(LISTING, same, other)
    assert [extraction.target_url for extraction in needed] == [LISTING.url]
    assert [(target.url, target.extraction_id, target.skipped) for target in classified.extraction_targets] == [
        (LISTING.url, needed[0].extraction_id, None)
    ]
    assert needed == emitted(LISTING, same, other)[1]


@pytest.mark.parametrize("url", ["ftp://example.com/events/", "javascript:void(0)", "/events", "", "events"])
def test_listings_that_cannot_be_visited_need_no_extraction(url: str) -> None:
    classified, needed = emitted(LISTING.model_copy(update={"url": url}))
    assert classified.counts.aggregator == 1
    assert (classified.needs_extraction, classified.extraction_reason, classified.extraction_targets) == TABLES[
        "listings_that_cannot_be_visited_need_no_extraction"
    ]
    assert needed == []


@pytest.mark.parametrize(
    "band", [{"minimal_each_kind": 0.15}, {"rich_markup": 0.1}, {"listing_content": 0.4}, {"navigation": 0.5}]
)
def test_bands_that_would_leave_their_range_are_refused(band: dict[str, float]) -> None:
    section = RULES.classification.model_dump()
    section["bands"] |= band
    with pytest.raises(ValidationError):
        shipped_rules(ClassifyResultsRules, classification=section)


def in_band(result: ClassifiedResult) -> bool:
    score = result.actionable_score
    match result.result_type:
        case ResultType.SPECIFIC_CONTENT:
            return 0.6 <= score <= 0.8 or 0.9 <= score <= 1.0
        case ResultType.AGGREGATOR:
            return 0.0 <= score <= 0.2 or 0.3 <= score <= 0.5
        case ResultType.NAVIGATION:
            return score == (0.4 if result.state in (State.CONTENT, State.LOGIN) else 0.0)


PIECES = TABLES["pieces"]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@settings(deadline=None)
@given(
    url=st.one_of(st.text(max_size=60), st.sampled_from([LISTING.url, CONCERT.url, "https://a.example/"])),
    title=st.one_of(st.none(), TEXTS),
    content=TEXTS,
    html=st.one_of(st.none(), st.sampled_from([LISTING_HTML, ARTICLE_HTML, LOGIN_HTML, "<p>"]), TEXTS),
    full=st.booleans(),
)
def test_any_result_has_a_type_and_a_score_in_its_band(
    *, url: str, title: str | None, content: str, html: str | None, full: bool
) -> None:
    given_result = RetrievedContent(
        url=url, title=title, content=content, html=html, content_kind="full" if full else "snippet"
    )
    read, result, _ = RULES.classifier.read(given_result)
    assert in_band(result)
    # The likeliest of three types, or the next one where a listing is not sure enough.
    assert 0.0 < result.confidence <= 1.0
    assert result.reasons
    assert all(read.content[detail.start : detail.end] == detail.text for detail in result.evidence)
    assert result == RULES.classifier.classify(given_result)
