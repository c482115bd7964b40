"""Known words by where they end or begin: whole, the longest, in the case they need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.text.patterns import DetailPatterns
from handlers.text.reading import read_text
from handlers.text.words import Words, fold, small_number
from tests.tables import tables

TABLES = tables(__file__)

NO_PATTERNS = DetailPatterns({})
WORDS = Words({"kr": 1, "kr.": 2, "$": 3, "us$": 4, "May": 5, "元": 6, "р": 7, "x": 8})


def before(text: str) -> str:
    return WORDS.before(text.lower(), text, len(text))


def after(text: str) -> str:
    return WORDS.after(text.lower(), text, 0)


@pytest.mark.parametrize(("text", "found"), TABLES["the_longest_word_that_ends"])
def test_the_longest_word_that_ends(text: str, found: str) -> None:
    assert before(text) == found


@pytest.mark.parametrize(("text", "found"), TABLES["the_longest_word_that_begins"])
def test_the_longest_word_that_begins(text: str, found: str) -> None:
    assert after(text) == found


def test_meanings() -> None:
    assert WORDS["kr."] == 2
    assert "us$" in WORDS


@given(st.text(max_size=200))
def test_offsets_hold(text: str) -> None:
    reading = read_text(text, NO_PATTERNS)
    assert len(reading.folded) == len(text) == len(fold(text))


def test_wide_signs_are_narrow_but_for_the_comma() -> None:
    assert read_text("８：３０，ＰＭ\u3000￥５–６", NO_PATTERNS).folded == "8:30，pm ¥5-6"


@pytest.mark.parametrize(("text", "part", "floor", "is_alone"), TABLES["word_boundaries_are_checked"])
def test_word_boundaries_are_checked(text: str, part: str, floor: int, is_alone: bool) -> None:
    start = text.index(part)
    assert read_text(text, NO_PATTERNS).stands_alone(start, start + len(part), floor) is is_alone


def test_blanks_are_skipped_both_ways() -> None:
    reading = read_text("a  \n b", NO_PATTERNS)
    assert (reading.skip_blanks(1), reading.skip_blanks_back(5, 9)) == (3, 1)


@pytest.mark.parametrize(("text", "value"), TABLES["small_numbers"])
def test_small_numbers(text: str, value: int) -> None:
    assert small_number(text) == value
