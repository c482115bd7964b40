"""Measures of the wording and structure of titles and texts."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.results.wording import Offers, find_offers, measure_text, read_title
from handlers.text.patterns import split_words
from handlers.text.words import fold
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).classifier.patterns


def offers(title: str, text: str = "") -> Offers:
    folded = fold(text)
    return find_offers(read_title(title, PATTERNS), folded, split_words(folded), PATTERNS)


@pytest.mark.parametrize(("text", "counted"), TABLES["what_is_counted"])
def test_what_is_counted(text: str, counted: str) -> None:
    assert offers("", text).counted == counted


def test_a_title_may_count_a_few() -> None:
    assert offers("The 10 best hotels in Rome").counted == "10 hotels"
    assert offers("The 4 best hotels in Rome").counted == ""


@pytest.mark.parametrize(("title", "placed"), TABLES["what_is_offered_in_a_place"])
def test_what_is_offered_in_a_place(title: str, placed: str) -> None:
    assert offers(title).placed == placed


@pytest.mark.parametrize(("text", "calls"), TABLES["calls_begin_a_sentence"])
def test_calls_begin_a_sentence(text: str, calls: int) -> None:
    assert offers("", text).calls == calls


@pytest.mark.parametrize(("title", "share"), [("Register | Example", 1), ("Register to vote", 1 / 3), ("Opera", 0)])
def test_words_of_forms_have_a_share_of_their_part(title: str, share: float) -> None:
    assert read_title(title, PATTERNS).navigation_share == share


def test_reports() -> None:
    assert offers("How to fix a tap", "I have tried it, and my tap works.").reports == 3
    assert offers("Hotels in Rome", "Compare prices.").reports == 0


def measure(text: str) -> dict[str, float]:
    return {name.removeprefix("text_"): value for name, value in measure_text(text, PATTERNS).items()}


def test_link_phrases_and_addresses_are_counted() -> None:
    shape = measure("Jazz night read more. Blues night, View Event. See https://example.com/a-long/path-of-words")
    assert shape["link_phrases"] == 3
    assert 0.3 < shape["link_share"] < 0.7


def test_sentences_count_as_content_and_labels_do_not() -> None:
    assert measure("The band played for two hours, and nobody left the hall early.")["content_share"] == 1.0
    assert measure("Home\nAbout\nContact\nPrices\n")["content_share"] == 0.0
    assert measure("乐队演奏了两个小时，没有人提前离开大厅，所有人都很高兴。")["content_share"] == 1.0


def test_running_text_has_function_words() -> None:
    assert measure("the band that played in the hall was as good as it gets")["function_words"] > 0.4
    assert measure("Shoes Boots Sandals Slippers Sneakers")["function_words"] == 0.0


def test_phrases_of_forms_and_of_single_items() -> None:
    assert measure("Username Password Remember me Forgot your password?")["account_phrases"] == 3
    assert measure("Posted by Ann. 4 min read. Leave a comment")["item_phrases"] == 3


def test_texts_without_words() -> None:
    assert measure("") == measure("   ") == measure("12 34 !?")
    assert not any(measure("").values())
