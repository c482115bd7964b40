"""Plurals by language, and texts that begin by saying what their title is."""

from __future__ import annotations

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.names import is_defined, languages_of, plural_of
from handlers.text.patterns import compile_patterns, split_words
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)
TEXTS = {
    "en": "the tickets are sold at the door, and there is a bar in the hall",
    "de": "der eintritt ist frei, und die türen sind ab sieben für alle auf",
    "da": "billetter er til salg ved døren, og der er en bar i den store sal",
    "zh": "门票在门口有售，大厅里有酒吧",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_text_says_which_language_it_is(language: str) -> None:
    assert languages_of(split_words(TEXTS[language]), PATTERNS) == {language}


def test_without_a_word_of_any_language_every_ending_counts() -> None:
    assert languages_of(["sneakers"], PATTERNS) == frozenset(PATTERNS.plurals)


@pytest.mark.parametrize(
    ("name", "language", "plural"),
    [
        ("running shoes", "en", "shoes"),
        ("wallets", "en", "wallets"),
        ("hamlet", "en", ""),
        ("the beatles", "en", ""),
        ("händels messias", "da", ""),
        ("jazz classics", "de", ""),
        ("how we make all of our shoes", "en", ""),
        ("vets in county durham", "en", "vets"),
        ("dosage for adults", "en", ""),
        ("five long words for many shoes", "en", "words"),
        ("five long words that name shoes", "en", "words"),
        ("one two three four five shoes", "en", ""),
        ("", "en", ""),
    ],
)
def test_plurals_are_a_languages_own(name: str, language: str, plural: str) -> None:
    assert plural_of(name.split(), frozenset((language,)), PATTERNS) == plural


@pytest.mark.parametrize(
    ("name", "text", "defined"),
    [
        ("heat pump", "a heat pump is a device that moves heat", True),
        ("athens", "athens, once called otherwise, is the capital of greece", True),
        ("wärmepumpe", "eine wärmepumpe ist eine maschine", True),
        ("varmepumpe", "en varmepumpe er en maskine", True),
        ("热泵", "热泵是一种装置", True),
        ("running shoes", "shop running shoes for men and women", False),
        ("concerts", "what is on: concerts and plays", False),
        ("", "is it", False),
    ],
)
def test_a_text_that_says_what_its_title_is(name: str, text: str, *, defined: bool) -> None:
    assert is_defined(split_words(name), split_words(text), PATTERNS) is defined
