"""Scripts without blanks between words, the language of a text, and plurals by language."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.results.wording import languages_of, plural_of
from handlers.text.scripts import find_language, has_cjk, has_han, is_ideographic, simplified
from handlers.text.words import split_words
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns
SMALL_WORDS = PATTERNS.details.small_words


@pytest.mark.parametrize(("declared", "text", "language"), TABLES["find_language"])
def test_find_language(declared: str, text: str, language: str | None) -> None:
    assert find_language(declared, text, SMALL_WORDS) == language


def test_few_words_leave_the_declared_language() -> None:
    german = "Der Regen hat die Dürre beendet, und die Bauern sind froh über das Wasser, das nun im Boden ist."
    texts = (german[:60], "1 2 3 " * 200, german)
    assert [find_language("en", text, SMALL_WORDS) for text in texts] == ["en", "en", "de"]


@pytest.mark.parametrize(("language", "sentence"), TABLES["sentences"].items())
def test_a_text_of_200_characters_has_its_own_language(language: str, sentence: str) -> None:
    for declared in ("", "en", "fr", language):
        assert find_language(declared, f"{sentence} " * 3, SMALL_WORDS) == language


TEXTS = TABLES["texts"]


@pytest.mark.parametrize("language", TEXTS)
def test_the_text_says_which_language_it_is(language: str) -> None:
    assert languages_of(split_words(TEXTS[language]), PATTERNS) == {language}


def test_without_a_word_of_any_language_every_ending_counts() -> None:
    assert languages_of(["sneakers"], PATTERNS) == frozenset(PATTERNS.plurals)


@pytest.mark.parametrize(("name", "language", "plural"), TABLES["plurals_are_a_languages_own"])
def test_plurals_are_a_languages_own(name: str, language: str, plural: str) -> None:
    assert plural_of(name.split(), frozenset((language,)), PATTERNS) == plural


def test_characters_of_chinese_japanese_and_korean() -> None:
    characters, others = "一鿿㐀豈\U00020000々ーかカ가〇", "aéяاก。，１\U0001f600—"
    assert [sign for sign in characters + others if is_ideographic(sign)] == [*characters]
    assert [sign for sign in characters + others if has_cjk(f"a {sign}")] == [*characters]


def test_kana_and_hangul_are_not_chinese() -> None:
    assert has_han("東京")
    assert not has_han("とうきょう 서울")


def test_simplified_characters() -> None:
    assert simplified("營業時間、票價與臺北車站") == "营业时间、票价与台北车站"
    assert simplified("东京とりんご") == "东京とりんご"
