"""Sentences of sources as an answer: the most trusted first, and only what a source says."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.reasoning.answer import AnswerRules
from handlers.reasoning.context import Source
from handlers.reasoning.quotes import quotes_of
from tests.rules import shipped_rules

RULES = shipped_rules(AnswerRules)
SECTION = RULES.reasoning.answer.model_copy(update={"max_characters": 200})


def source(number: int, passage: str, label: Any = "HIGH", title: str = "") -> Source:
    return Source(number=number, label=label, name="x", title=title, passage=passage, url="https://a.example/")


def quoted(query: str, *passages: str, sources: list[Source] | None = None) -> list[tuple[str, list[int]]]:
    given = sources or [source(number, passage) for number, passage in enumerate(passages, 1)]
    return list(quotes_of(query, None, given, SECTION, RULES.reader).items())


def test_the_best_sentences_are_quoted_word_for_word() -> None:
    assert quoted(
        "height of the tower",
        "Rain fell all day long. The tower has a height of 80 m.",
        "The height of the tower is 81 m.",
    ) == [("The tower has a height of 80 m.", [1]), ("The height of the tower is 81 m.", [2])]


def test_a_sentence_that_two_sources_have_is_quoted_once() -> None:
    assert quoted("tower height", "The tower has a height of 80 m.", "The tower has a height of 80 m.") == [
        ("The tower has a height of 80 m.", [1, 2])
    ]


def test_chinese_is_quoted_too() -> None:
    assert quoted("水庫何時關閉", "今天天氣晴朗無雲。石門水庫於五月關閉。") == [("石門水庫於五月關閉。", [1])]


@pytest.mark.parametrize("query", ["yacht race", "", "!?"])
def test_nothing_is_quoted_where_nothing_fits(query: str) -> None:
    assert quoted(query, "Rain fell all day long on the city.") == []


def test_heading_is_not_part_of_the_first_sentence() -> None:
    sources = [source(1, "Tower The tower has a height of 80 m.", title="Tower")]
    assert quoted("height of the tower", sources=sources) == [("The tower has a height of 80 m.", [1])]


def test_sentence_that_begins_with_the_title_is_quoted_whole() -> None:
    sources = [source(1, "Tea contains caffeine in every cup.", title="Tea")]
    assert quoted("tea caffeine", sources=sources) == [("Tea contains caffeine in every cup.", [1])]
    sources = [source(1, "石門水庫於五月關閉。", title="石門水庫")]
    assert quoted("水庫何時關閉", sources=sources) == [("石門水庫於五月關閉。", [1])]


def test_a_page_of_less_trust_with_more_words_silences_no_other() -> None:
    high, low = "The reservoir closed on 2 May 2024.", "The Shihmen reservoir dam closed, a monster says."
    question = "when was the Shihmen reservoir dam closed"
    title = "The Shihmen reservoir"
    both = quoted(question, sources=[source(1, high, title=title), source(2, low, "LOW")])
    assert both == [(high, [1])], "the other one says no date"
    more = "The Shihmen reservoir dam closed in May, a monster says."
    assert quoted(question, sources=[source(1, high, title=title), source(2, more, "LOW")]) == [
        (high, [1]),
        (more, [2]),
    ]


def test_quoted_sentence_shares_two_words_with_a_longer_question() -> None:
    assert quoted("population of Iceland", "Iceland is an island in the north.") == []
    assert quoted("Iceland", "Iceland is an island in the north.") == [("Iceland is an island in the north.", [1])]


def test_one_word_query_is_answered_by_pages_titled_with_it() -> None:
    passage = "The shop is at Nørregade 21 in Aarhus."
    assert quoted("Aarhus", sources=[source(1, passage, title="Headphones")]) == []
    assert quoted("Aarhus", sources=[source(1, passage, title="Shops in Aarhus")]) == [(passage, [1])]


def test_the_title_says_what_its_sentences_are_about() -> None:
    passage = "It opens on the first of May."
    assert quoted("swimming pool opens", sources=[source(1, passage, title="The swimming pool")]) == [(passage, [1])]
    assert quoted("swimming pool opens", sources=[source(1, passage, title="A shop")]) == []


def test_a_question_answers_nothing() -> None:
    assert quoted("tower height", "Do you know the height of the tower? The height of the tower is 80 m.") == [
        ("The height of the tower is 80 m.", [1])
    ]


def test_the_number_of_a_day_ends_no_sentence() -> None:
    assert quoted("pool opens", "The pool opens am 1. Mai um 9 Uhr. It rains.") == [
        ("The pool opens am 1. Mai um 9 Uhr.", [1])
    ]


def test_what_is_too_long_to_show_is_not_quoted() -> None:
    assert quoted("tower height", "The tower height " + "is great and " * 40 + "more.") == []


@pytest.mark.parametrize(
    ("query", "passage", "quote"),
    [
        (
            "how much is a day ticket for the lido",
            "The lido is 50 m long. A day ticket for the lido is valid until ten.",
            "",
        ),
        (
            "when does the fair in Nordheim begin",
            "The fair in Nordheim is on the green. It begins at 8 am.",
            "It begins at 8 am.",
        ),
        ("who runs the Valmont museum", "The Valmont museum is in an old mill.", ""),
        (
            "who runs the Valmont museum",
            "The Valmont museum is run by Inès Carrel.",
            "The Valmont museum is run by Inès Carrel.",
        ),
        ("how many rooms has the Hotel Kern", "The Hotel Kern has a lift and 12 parking places.", ""),
        (
            "how many rooms has the Hotel Kern",
            "The Hotel Kern has 48 quiet rooms.",
            "The Hotel Kern has 48 quiet rooms.",
        ),
        ("who won the Kelby race in 2025", "In 2024 the Kelby race was won by Ann Ash.", ""),
    ],
)
def test_a_question_for_a_detail_needs_a_sentence_with_one(query: str, passage: str, quote: str) -> None:
    assert [text for text, _ in quoted(query, passage)] == [quote] * bool(quote)
