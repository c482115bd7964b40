"""Words of any script, equal in a query and in a text; no text is slow or fails."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.text.tokens import MAX_CHARACTERS, divide, fold, forms_of, tokenize, words_of
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("one", "other"), TABLES["ways_to_write_the_same_are_the_same"])
def test_ways_to_write_the_same_are_the_same(one: str, other: str) -> None:
    assert tokenize(one) == tokenize(other) != []


@pytest.mark.parametrize(("text", "tokens"), TABLES["tokens_are_split_in_every_script"])
def test_tokens_are_split_in_every_script(text: str, tokens: tuple[str, ...]) -> None:
    assert tokenize(text) == list(tokens)


@pytest.mark.parametrize("part", ["立法", "法院", "立法院", "卓榮", "榮泰", "通過"])
def test_part_of_a_chinese_word_or_name_is_found(part: str) -> None:
    assert set(tokenize(part)) <= set(tokenize("昨天立法院的卓榮泰說三讀通過了"))


def test_words_without_other_forms() -> None:
    assert forms_of("was") == ("was",)
    assert forms_of("立法院") == ("立法院",)
    assert forms_of("2024") == ("2024",)


@pytest.mark.parametrize(("one", "other"), TABLES["other_forms_of_a_word"])
def test_other_forms_of_a_word(one: str, other: str) -> None:
    assert other in forms_of(one)


@pytest.mark.parametrize("token", ["dams", "glass", "ring", "red", "c3ed"])
def test_non_verbs_have_no_verb_forms(token: str) -> None:
    assert not any(form.endswith(("eding", "inging", "seding")) or len(form) < 3 for form in forms_of(token))


@settings(deadline=None)  # the first Chinese text loads the dictionary
@given(st.text())
def test_nothing_fails_and_nothing_is_empty(text: str) -> None:
    tokens = tokenize(text)
    assert all(tokens)
    assert all(forms_of(token)[0] == token for token in tokens)
    assert divide(fold(text)) == tokens
    assert bool(words_of(text)) == bool(tokens)


@settings(deadline=None)  # the first Chinese text loads the dictionary
@given(st.text(alphabet=st.characters(whitelist_categories=("Lo", "Mn", "Mc", "Lm")), max_size=80))
def test_words_without_overlaps_are_the_text(text: str) -> None:
    assert "".join(words_of(text)) == fold(text).replace(" ", "")


@pytest.mark.parametrize(
    "unit", ["中", "a", "\u0301\u0316", "a\u0301\u0316", "’s", "\u0e33", "\ufdfa", "か", "\U0001f600"]
)
def test_hostile_text_is_cut_and_read(unit: str) -> None:
    """A million of one thing; composing as many marks at once would take minutes."""
    tokens = tokenize(unit * 1_000_000)
    assert sum(map(len, tokens)) <= 20 * MAX_CHARACTERS


def test_composing_is_done_in_pieces() -> None:
    marks = "a" + "\u0316\u0301" * 30
    assert unicodedata.is_normalized("NFKC", fold(marks))
