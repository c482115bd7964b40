"""What is missing and what to try next, for each weakness (R-090 to R-093)."""

from __future__ import annotations

import pytest

from handlers.retrieval.search_wording import gaps_of, refinements_of
from schemas.retrieval import RetrievedContent
from tests.handlers.retrieval.test_search_rubric import RULES, assessed, result

SECTION = RULES.search_evaluation
LISTS = SECTION.refinements
MANY = [result(f"https://{name}.example/", "Jazz tonight") for name in ("a", "b", "c")]
ONE_SITE = [result("https://a.example/1", "Jazz tonight")] * 5


@pytest.mark.parametrize(
    ("results", "goal", "fields", "suggested", "gap"),
    [
        (MANY[:2], "jazz", ("title", "availability"), LISTS.low_count, "few results"),
        (MANY, "jazz", ("price",), SECTION.fields["price"].refinements, "No result has: price."),
        (MANY, "jazz", ("availability",), ("Add 'availability' to the query",), "No result has: availability."),
        (MANY, "hamsters", ("title",), LISTS.poor_relevance, "beside the goal"),
        (ONE_SITE, "jazz", ("title", "availability"), LISTS.low_diversity_shopping, "few sites"),
        (ONE_SITE, "blues", ("title",), LISTS.low_diversity[:1], "beside the goal"),
        (MANY[:1], "hamsters", ("price",), LISTS.another_query, "No result has"),
    ],
)
def test_each_weakness_has_its_words(
    results: list[RetrievedContent], goal: str, fields: tuple[str, ...], suggested: tuple[str, ...], gap: str
) -> None:
    found = assessed(*results, goal=goal, fields=fields)
    assert suggested
    assert set(suggested) <= set(refinements_of(found, SECTION))
    assert gap in gaps_of(found, SECTION)


def test_what_is_good_has_no_gaps() -> None:
    found = assessed(*MANY, goal="jazz", fields=("title",))
    assert gaps_of(found, SECTION) == ""
    assert refinements_of(found, SECTION) == ()


def test_suggestions_are_bounded_and_so_are_names_in_them() -> None:
    found = assessed(result(), goal="jazz", fields=("price", "availability", "x" * 9999))
    assert len(refinements_of(found, SECTION)) == SECTION.max_refinements
    assert len(gaps_of(found, SECTION)) < 400


def test_of_no_results_the_advice_is_to_search_wider() -> None:
    """R-090: what narrows the search, such as another field, helps nobody who found nothing."""
    found = assessed(goal="Buy x", fields=("price", "colour"))
    assert gaps_of(found, SECTION) == "There are no results."
    suggested = refinements_of(found, SECTION)
    assert suggested[: len(LISTS.low_count)] == LISTS.low_count
    assert not set(suggested) & {*LISTS.poor_relevance, *SECTION.fields["price"].refinements}


def test_of_few_results_wider_words_and_other_sources_come_first() -> None:
    suggested = refinements_of(assessed(*MANY[:2], goal="jazz", fields=("price",)), SECTION)
    assert suggested[:4] == (*LISTS.low_count, LISTS.low_diversity_shopping[0])
    assert suggested[4] == SECTION.fields["price"].refinements[0]
