import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.index_page import IndexPageRules
from handlers.indexing.points import points_of
from schemas.pages import ScoredPage, Tier
from streams.index.estimate import TIERS, IndexEstimate, SampledPages, estimate_documents, estimate_points, parse_mix
from tests.rules import shipped_rules
from tests.samples import scored
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(IndexPageRules)
TIERED = RULES.tiered_indexing
SENTENCE = "The council met on Monday and put the plan off once more. "


def assumed(articles: int, mix: str, chunks: float) -> IndexEstimate:
    return estimate_points(articles, parse_mix(mix), chunks, TIERED)


def page(tier: Tier, content: str = "", summary: str = "", number: int = 0) -> ScoredPage:
    return scored(f"https://a.example/{number}", content, tier, summary=summary)


def sampled(*pages: ScoredPage) -> SampledPages:
    seen = SampledPages(TIERED, RULES.index_points)
    for one in pages:
        seen.add(one)
    return seen


# --- the plan's arithmetic -------------------------------------------------------------------------------------------


def test_the_plan_is_reproduced_tier_by_tier() -> None:
    """R-218."""
    estimate = assumed(10_000_000, "10/50/40", 10)
    counts = [(t.tier, t.chunking, t.articles, t.points, t.article_embeddings) for t in estimate.tiers]
    assert counts == list(TABLES["the_plan_is_reproduced_tier_by_tier"])
    assert (estimate.articles, estimate.full_chunks) == (10_000_000, 100_000_000)
    assert (estimate.points, estimate.saved(estimate.points)) == (24_000_000, 0.76)
    both = estimate.points_with_articles
    assert (both, estimate.saved(both)) == (25_000_000, 0.75)


@given(st.integers(1, 10**12), st.tuples(*[st.integers(0, 1000)] * 3).filter(any), st.floats(1, 1000))
def test_every_article_is_in_one_tier_and_has_a_point(articles: int, mix: tuple[int, int, int], chunks: float) -> None:
    estimate = estimate_points(articles, mix, chunks, TIERED)
    assert estimate.articles == articles
    for tier, weight in zip(estimate.tiers, mix, strict=True):
        assert abs(tier.articles - articles * weight / sum(mix)) <= 1
        assert tier.points >= tier.articles
    assert estimate.points <= estimate.points_with_articles <= estimate.points + articles


def test_documents_that_are_there_are_estimated_by_their_tiers() -> None:
    estimate = estimate_documents({"A": 3, "B": 5, "C": 2}, 10, TIERED)
    assert (estimate.full_chunks, estimate.points, estimate.points_with_articles) == (100, 42, 45)
    assert estimate_documents({"C": 7}, 10, TIERED).points == 7
    for none in ({}, {"A": 0}):
        assert estimate_documents(none, 10, TIERED).points_with_articles == 0


# --- the mix ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*TABLES["a_wrong_mix_says_what_is_wanted"], "9" * 9999])
def test_a_wrong_mix_says_what_is_wanted(text: str) -> None:
    with pytest.raises(ValueError, match="three percentages") as refused:
        parse_mix(text)
    message = str(refused.value)
    assert f"such as 10/50/40, not '{text[:90]}" in message
    assert len(message) < 300
    assert "\n" not in message


# --- scored pages ----------------------------------------------------------------------------------------------------

PAGES = (
    page("A", SENTENCE * 40, "A summary."),
    page("A", SENTENCE * 3, "A summary."),
    page("A"),
    page("B", SENTENCE * 40, "A summary."),
    page("B", SENTENCE * 40),
    page("B", "Same.", "Same."),
    page("B"),
    page("C", SENTENCE * 40, "A summary."),
    page("C"),
)


def test_a_sample_of_its_own_size_is_counted_exactly() -> None:
    made = dict.fromkeys(TIERS, 0)
    for one in PAGES:
        made[one.tier] += len(points_of(one, TIERED, RULES.index_points))
    estimate = sampled(*PAGES).estimate(len(PAGES))
    assert {tier.tier: tier.points_with_articles for tier in estimate.tiers} == made
    assert [tier.articles for tier in estimate.tiers] == [3, 4, 2]
    a, b, c = estimate.tiers
    assert a.article_embeddings == 3
    assert a.full_chunks == a.points > 3
    assert (b.points, b.article_embeddings) == (5, 0)
    assert (c.points, c.article_embeddings) == (2, 0)
    assert b.full_chunks > 2 * c.full_chunks > 0
