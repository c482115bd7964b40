"""A batch: distinct results, the verdict with counts and means, and the distribution of pages among listings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.results.batch import ExtractionSection, distinct_results, extraction_reason, judge_batch, share_details
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit
from schemas.replies import FetchFailure
from schemas.retrieval import ClassifiedResult, ResultsClassified, ResultType, RetrievalBatch, RetrievedContent
from tests.rules import shipped_rules
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

SPECIFIC, AGGREGATOR, NAVIGATION = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
LIMITS = st.builds(
    ExtractionSection,
    max_details=st.integers(1, 100),
    max_listing_pages=st.integers(1, 10),
    batch_budget=st.integers(2, 1000),
)


@pytest.mark.parametrize(("urls", "kept"), TABLES["one_result_for_an_address_in_the_order_of_the_first"])
def test_one_result_for_an_address_in_the_order_of_the_first(urls: tuple[str, ...], kept: tuple[int, ...]) -> None:
    contents = [RetrievedContent(url=url, title=f"result {number}") for number, url in enumerate(urls)]
    found = distinct_results(contents)
    assert [result.url for result in found] == [urls[number] for number in kept]
    assert [result.title for result in found] == [f"result {number}" for number in kept]


def test_results_without_url_are_merged_by_their_content() -> None:
    jazz, blues = RetrievedContent(content="jazz"), RetrievedContent(url=" ", content="blues")
    assert distinct_results([jazz, blues, jazz, blues]) == (jazz, blues)


def test_what_is_merged_has_the_most_that_is_known() -> None:
    first = RetrievedContent(url="https://a.example/x", content="short")
    longer = RetrievedContent(url="https://a.example/x#", title="T", content="a long snippet", cts_score=60, html="<p>")
    full = RetrievedContent(url="https://a.example/x?", content="full text", content_kind="full", cts_score=1)
    empty = RetrievedContent(url="https://a.example/x#c", content=" ", content_kind="full")
    assert distinct_results([first, longer, full, empty]) == (
        RetrievedContent(
            url="https://a.example/x", title="T", content="full text", content_kind="full", cts_score=60, html="<p>"
        ),
    )


def results(*pairs: tuple[ResultType, float]) -> list[ClassifiedResult]:
    return [ClassifiedResult(result_type=kind, actionable_score=score, **TABLES["results"]) for kind, score in pairs]


def test_statistics_of_a_batch() -> None:
    verdict = judge_batch(results((SPECIFIC, 0.9), (AGGREGATOR, 0.2), (NAVIGATION, 0.4)), 0.6)
    assert (verdict.counts.specific_content, verdict.counts.aggregator, verdict.counts.navigation) == (1, 1, 1)
    assert verdict.actionable_information == pytest.approx(0.5)
    assert verdict.confidence == pytest.approx(0.5)
    assert verdict.extraction_reason is None
    empty = judge_batch([], 0.6)
    assert (empty.actionable_information, empty.confidence, empty.extraction_reason) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("pairs", "needed"),
    [
        ([(AGGREGATOR, 0.2)], True),
        ([(AGGREGATOR, 0.2), (SPECIFIC, 0.6)], False),
        ([(AGGREGATOR, 0.2), (AGGREGATOR, 0.2), (SPECIFIC, 0.95)], True),
        ([(AGGREGATOR, 0.5), (AGGREGATOR, 0.5), (SPECIFIC, 1.0)], False),
        ([(AGGREGATOR, 0.5), (AGGREGATOR, 0.5), (SPECIFIC, 0.8)], False),  # exactly the threshold
        ([(NAVIGATION, 0.4)], False),
        ([], False),
    ],
)
def test_extraction_needs_a_low_score_and_a_strict_majority(
    pairs: list[tuple[ResultType, float]], *, needed: bool
) -> None:
    threshold = 0.6
    verdict = judge_batch(results(*pairs), threshold)
    assert (verdict.extraction_reason is not None) is needed


@pytest.mark.parametrize(
    ("actionable", "shown"), [(0.2, "0.20"), (0.3167, "0.32"), (0.5972, "0.59"), (0.59, "0.59"), (0.5999, "0.59")]
)
def test_what_the_reason_shows_is_below_the_threshold(actionable: float, shown: str) -> None:
    assert f"score: {shown} < 0.6." in extraction_reason(2, 3, actionable, 0.6)


@given(st.integers(0, 300), LIMITS)
def test_detail_shares_use_the_batch_budget_without_exceeding_it(listings: int, limits: ExtractionSection) -> None:
    shares = share_details(listings, limits)
    assert len(shares) == listings
    assert list(shares) == sorted(shares, reverse=True), "the first results get the most"
    assert max(shares, default=0) <= limits.max_details
    cost = sum(share + limits.max_listing_pages for share in shares if share)
    assert cost <= limits.batch_budget
    followed = [share for share in shares if share]
    if len(followed) < listings or min(followed, default=limits.max_details) < limits.max_details:
        assert limits.batch_budget - cost <= limits.max_listing_pages, "no room is left for one more listing"


def test_listings_beyond_the_budget_are_listed_and_not_asked_for() -> None:
    text = "All events. View event. Read more. View event. Read more. Next page."
    listings = tuple(
        RetrievedContent(url=f"https://town{number}.example/events/", title="All events", content=text)
        for number in range(30)
    )
    batch = RetrievalBatch(batch_id="b1", query="events", retrieved_content=listings)
    outcome = instance(Emit, classify_results(batch, shipped_rules(ClassifyResultsRules)))
    classified, *needed = outcome.events
    assert isinstance(classified, ResultsClassified)
    assert [event.target_url for event in needed if isinstance(event, ExtractionNeeded)] == [
        content.url for content in listings[:20]
    ]
    assert {event.max_details for event in needed if isinstance(event, ExtractionNeeded)} == {1}
    assert [target.url for target in classified.extraction_targets] == [content.url for content in listings]
    assert [target.skipped for target in classified.extraction_targets] == [None] * 20 + [FetchFailure.OVER_BUDGET] * 10
    sent = {event.extraction_id for event in needed if isinstance(event, ExtractionNeeded)}
    assert sent == {target.extraction_id for target in classified.extraction_targets if target.skipped is None}
