"""Texts are cut into sentences."""

import pytest

from handlers.text.sentences import sentence_ends, sentences
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize(("text", "expected"), TABLES["sentences"])
def test_sentences_are_cut_behind_their_marks(text: str, expected: tuple[str, ...]) -> None:
    assert list(sentences(text)) == list(expected)


def test_what_is_left_behind_the_last_mark_has_no_end() -> None:
    assert list(sentence_ends("One. Two")) == [4]
    assert list(sentence_ends("One")) == []
