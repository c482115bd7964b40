"""The actionable score inside its bands (R-030): exact numbers under the shipped configuration."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.listings.page_shape import PageShape
from handlers.results.address import Address
from handlers.results.classifier import actionable_score
from handlers.results.features import Observed
from handlers.results.wording import Title
from schemas.retrieval import ResultType
from tests.rules import shipped_rules

RULES = shipped_rules(ClassifyResultsRules)
SECTION = RULES.classification
KINDS = ("date", "time", "place", "price")


def text(content_share: float = 0.5, phrases: int = 0, link_share: float = 0.0, words: int = 10) -> dict[str, float]:
    return {
        "text_words": words,
        "text_content_share": content_share,
        "text_link_phrases": phrases,
        "text_link_share": link_share,
    }


TEXT = text()


def observed(
    kinds: int = 0, identifier: str = "", text: dict[str, float] = TEXT, page: PageShape | None = None
) -> Observed:
    return Observed(
        title=Title(),
        address=Address(identifier=identifier),
        text=text,
        page=page,
        evidence=(),
        kinds=frozenset(KINDS[:kinds]),
    )


def page(density: float, characters: int = 1000) -> PageShape:
    return PageShape(measures={"page_text": characters, "page_link_density": density})


@pytest.mark.parametrize(
    ("seen", "score"),
    [
        (observed(kinds=0), 0.6),
        (observed(kinds=1), 0.7),
        (observed(kinds=2), 0.8),
        (observed(kinds=3), 0.9),
        (observed(kinds=4), 0.93),
        (observed(kinds=2, identifier="jazz-42", page=PageShape(declared_item="Event")), 0.8),
        (observed(kinds=3, identifier="jazz-42"), 0.92),
        (observed(kinds=3, page=PageShape(declared_item="Event")), 0.95),
        (observed(kinds=3, page=PageShape()), 0.9),
        (observed(kinds=4, identifier="jazz-42", page=PageShape(declared_item="Event")), 1.0),
    ],
)
def test_item_score_rises_with_details_identifier_and_markup(seen: Observed, score: float) -> None:
    assert actionable_score(ResultType.SPECIFIC_CONTENT, seen, SECTION) == score


@pytest.mark.parametrize(
    ("density", "score"), [(0.0, 0.5), (0.25, 0.45), (0.4999, 0.4), (0.5, 0.2), (0.75, 0.1), (0.9, 0.04), (1.0, 0.0)]
)
def test_a_listing_falls_with_the_link_density_of_its_page(density: float, score: float) -> None:
    seen = observed(page=page(density), text=text(content_share=1.0))
    assert actionable_score(ResultType.AGGREGATOR, seen, SECTION) == score


@pytest.mark.parametrize(
    ("seen", "score"),
    [
        (observed(text=text(content_share=0.0)), 0.3),
        (observed(text=text(content_share=0.25)), 0.35),
        (observed(text=text(content_share=1.0)), 0.5),
        (observed(text=text(phrases=2, link_share=0.15)), 0.2),
        (observed(text=text(phrases=1, link_share=0.9)), 0.4),
        (observed(text=text(phrases=9, link_share=0.1499)), 0.4),
        (observed(text=text(words=0, content_share=0.0)), 0.2),
        (observed(text=text(content_share=0.25), page=page(1.0, characters=0)), 0.35),
    ],
)
def test_listing_score_rises_with_its_content_share(seen: Observed, score: float) -> None:
    assert actionable_score(ResultType.AGGREGATOR, seen, SECTION) == score
