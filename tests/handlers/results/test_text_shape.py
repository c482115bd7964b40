"""Texts: shares of links and of sentences, with a minimum before anything counts as dense."""

from handlers.classify_results import ClassifyResultsRules
from handlers.results.text_shape import TextShape, measure_text
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def measure(text: str) -> TextShape:
    return measure_text(text, PATTERNS)


def test_link_phrases_and_addresses_are_counted() -> None:
    shape = measure("Jazz night read more. Blues night, View Event. See https://example.com/a-long/path-of-words")
    assert shape.link_phrases == 3
    assert 0.3 < shape.link_share < 0.7


def test_sentences_are_content_and_labels_are_none() -> None:
    assert measure("The band played for two hours, and nobody left the hall early.").content_share == 1.0
    assert measure("Home\nAbout\nContact\nPrices\n").content_share == 0.0
    assert measure("乐队演奏了两个小时，没有人提前离开大厅，所有人都很高兴。").content_share == 1.0


def test_running_text_has_function_words() -> None:
    assert measure("the band that played in the hall was as good as it gets").function_words > 0.4
    assert measure("Shoes Boots Sandals Slippers Sneakers").function_words == 0.0


def test_phrases_of_forms_and_of_single_items() -> None:
    assert measure("Username Password Remember me Forgot your password?").account_phrases == 3
    assert measure("Posted by Ann. 4 min read. Leave a comment").item_phrases == 3


def test_texts_without_words() -> None:
    assert measure("") == measure("   ") == measure("12 34 !?") == TextShape()
