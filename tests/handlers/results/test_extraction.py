"""How a batch's pages are shared out among its listings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.results.extraction import ExtractionSection, share_details
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit
from schemas.retrieval import RetrievalBatch, RetrievedContent
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


def test_listings_beyond_the_budget_are_told_so_and_not_forgotten() -> None:
    text = "All events. View event. Read more. View event. Read more. Next page."
    listings = tuple(
        RetrievedContent(url=f"https://town{number}.example/events/", title="All events", content=text)
        for number in range(30)
    )
    batch = RetrievalBatch(batch_id="b1", query="events", retrieved_content=listings)
    outcome = classify_results(batch, shipped_rules(ClassifyResultsRules))
    assert isinstance(outcome, Emit)
    needed = [event for event in outcome.events if isinstance(event, ExtractionNeeded)]
    assert [event.target_url for event in needed] == [content.url for content in listings]
    assert [event.over_budget for event in needed] == [False] * 20 + [True] * 10
    assert {event.max_details for event in needed} == {1}
