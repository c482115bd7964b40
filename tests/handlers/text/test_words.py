"""Known words by where they end or begin: whole, the longest, in the case they need."""

from __future__ import annotations

import pytest

from handlers.text.words import Words, is_ideographic

WORDS = Words({"kr": 1, "kr.": 2, "$": 3, "us$": 4, "May": 5, "元": 6, "р": 7, "x": 8})


def before(text: str) -> str:
    return WORDS.before(text.lower(), text, len(text))


def after(text: str) -> str:
    return WORDS.after(text.lower(), text, 0)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("199 KR", "kr"),
        ("kr.", "kr."),
        ("US$", "us$"),
        ("a$", "$"),
        ("$", "$"),
        ("ikr", ""),
        ("in May", "May"),
        ("may", ""),
        ("美元", "元"),
        ("元", "元"),
        ("x", "x"),
        ("ax", ""),
        ("", ""),
        ("q", ""),
    ],
)
def test_the_longest_word_that_ends(text: str, found: str) -> None:
    assert before(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kr. 5", "kr."),
        ("krone", ""),
        ("$5", "$"),
        ("$", "$"),
        ("May", "May"),
        ("元人", "元"),
        ("р 5", "р"),
        ("рб", ""),
        ("", ""),
    ],
)
def test_the_longest_word_that_begins(text: str, found: str) -> None:
    assert after(text) == found


def test_a_look_at_two_characters() -> None:
    assert WORDS.may_end("skr", 3)
    assert not WORDS.may_end("", 0)
    assert not WORDS.may_end("qq", 2)
    assert WORDS.may_begin("kr", 0)
    assert not WORDS.may_begin("q", 0)


def test_meanings() -> None:
    assert WORDS["kr."] == 2
    assert WORDS.get("krone", 9) == 9
    assert "us$" in WORDS
    assert is_ideographic("元")
    assert not is_ideographic("ø")
