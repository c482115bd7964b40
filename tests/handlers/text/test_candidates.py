"""Which numbers are looked at: those that something beside them may make a date, a time or a price."""

from __future__ import annotations

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.candidates import NumberFinder
from handlers.text.patterns import compile_patterns
from handlers.text.spans import read_text
from handlers.text.words import Words
from tests.rules import shipped_rules

NUMBERS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns).details.numbers


def looked_at(text: str, finder: NumberFinder = NUMBERS) -> list[str]:
    reading = read_text(text)
    return [text[start:end] for start, end, _ in finder.find(reading.folded, text)[1]]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("29 November", ["29"]),
        ("Nov. 29", ["29"]),
        ("12-14 June", ["12", "14"]),
        ("6. - 7. März", ["6", "7"]),
        ("the 29th of May", ["29"]),
        ("8 p.m. and 9pm", ["8", "9"]),
        ("25,- kr and 30 MUSD and $5", ["25", "30", "5"]),
        ("20h30", ["20"]),
        ("2024-11-29T20:00", ["2024", "11", "20"]),
        ("11月29日", ["11", "29"]),
        ("二十九日 三点", ["三"]),
        ("5 минут", ["5"]),
        ("٨ نوفمبر", ["٨"]),
    ],
)
def test_what_has_a_word_beside_it_is_looked_at(text: str, numbers: list[str]) -> None:
    assert looked_at(text) == numbers


@pytest.mark.parametrize(
    "text", ["width: 10px, 12 apples", "the 300 (or 301)", "#a1c; %20", "chapter 7", "(1080)", "margin=0, 0", ""]
)
def test_a_bare_number_is_passed_over(text: str) -> None:
    assert looked_at(text) == []


def test_all_numbers_are_told_and_whether_a_word_leads_them() -> None:
    spans, candidates = NUMBERS.find("at 7 or 12 apples", "at 7 or 12 apples")
    assert spans == [(3, 4), (8, 10)]
    assert candidates == [(3, 4, True)]


def test_a_word_that_ends_in_a_mark_leads_too() -> None:
    finder = NumberFinder(Words(dict.fromkeys(["kl."])), [], [], [], [])
    assert looked_at("kl. 8, kl.  9, kll 10", finder) == ["8", "9"]


def test_the_letters_of_an_expression_follow_a_number() -> None:
    finder = NumberFinder(Words({}), [], [], [], [r"(?P<day>\d\d?)\s?(?:gang|[xy])(?!zz(?:uu))(?P<month>\d)"])
    assert looked_at("1 gang 2 x 3y 4 zz 5 uu 6 day", finder) == ["1", "2", "3"]


@pytest.mark.parametrize("text", ["1" * 50_000, "1 " * 25_000, "1." * 25_000, "a1" * 25_000, "十" * 50_000])
def test_hostile_text_takes_linear_time(text: str) -> None:
    assert len(NUMBERS.find(text, text)[0]) <= len(text)
