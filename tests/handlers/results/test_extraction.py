"""How a batch's pages are shared out among its listings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.results.extraction import ExtractionSection, share_details
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit
from schemas.replies import FetchFailure
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievedContent
from tests.rules import shipped_rules

LIMITS = st.builds(
    ExtractionSection,
    max_details=st.integers(1, 100),
    max_listing_pages=st.integers(1, 10),
    batch_budget=st.integers(2, 1000),
)


@given(st.integers(0, 300), LIMITS)
def test_a_batch_stays_within_its_budget_and_wastes_none_of_it(listings: int, limits: ExtractionSection) -> None:
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
    outcome = classify_results(batch, shipped_rules(ClassifyResultsRules))
    assert isinstance(outcome, Emit)
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
