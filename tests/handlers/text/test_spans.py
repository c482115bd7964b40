"""Folding keeps offsets, and a span knows whether it stands alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.text.spans import fold, read_text


@given(st.text(max_size=200))
def test_offsets_hold(text: str) -> None:
    reading = read_text(text)
    assert len(reading.folded) == len(text) == len(fold(text))


def test_wide_signs_are_narrow_but_for_the_comma() -> None:
    assert read_text("８：３０，ＰＭ\u3000￥５–６").folded == "8:30，pm ¥5-6"


@pytest.mark.parametrize(
    ("text", "part", "floor", "is_alone"),
    [
        ("a 29 b", "29", 0, True),
        ("a29", "29", 0, False),
        ("_29", "29", 0, False),
        ("1.29", "29", 0, False),
        (".29", "29", 0, True),
        ("29x", "29", 0, False),
        ("29.1", "29", 0, False),
        ("29.", "29", 0, True),
        ("29t20", "29", 0, True),
        ("5-29", "29", 1, True),
    ],
)
def test_standing_alone(text: str, part: str, floor: int, is_alone: bool) -> None:
    start = text.index(part)
    assert read_text(text).stands_alone(start, start + len(part), floor) is is_alone


def test_blanks_are_skipped_both_ways() -> None:
    reading = read_text("a  \n b")
    assert (reading.skip_blanks(1), reading.skip_blanks_back(5, 9)) == (3, 1)
