"""Measures of the wording and structure of titles and texts."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.results.wording import Offers, find_offers, measure_text, read_title
from handlers.text.words import fold, split_words
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).classifier.patterns


def offers(title: str, text: str = "") -> Offers:
    folded = fold(text)
    return find_offers(read_title(title, PATTERNS), folded, split_words(folded), PATTERNS)


@pytest.mark.parametrize(
    ("feature", "title", "text", "value"),
    [(feature, *row) for feature in ("counted", "placed", "calls", "reports") for row in TABLES[feature]],
)
def test_what_a_result_offers(feature: str, title: str, text: str, value: object) -> None:
    assert getattr(offers(title, text), feature) == value


@pytest.mark.parametrize(("title", "share"), [("Register | Example", 1), ("Register to vote", 1 / 3), ("Opera", 0)])
def test_words_of_forms_have_a_share_of_their_part(title: str, share: float) -> None:
    assert read_title(title, PATTERNS).navigation_share == share


def measure(text: str) -> dict[str, float]:
    return {name.removeprefix("text_"): value for name, value in measure_text(text, PATTERNS).items()}


@pytest.mark.parametrize(("name", "text", "least", "most"), TABLES["measures"])
def test_measures(name: str, text: str, least: float, most: float) -> None:
    assert least <= measure(text)[name] <= most


def test_texts_without_words() -> None:
    assert measure("") == measure("   ") == measure("12 34 !?")
    assert not any(measure("").values())
