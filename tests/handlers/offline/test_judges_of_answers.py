"""The offline judge of answers: it quotes the most trusted sources first, and only what a source says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handlers.offline.judges import analyst, critic, writer
from handlers.reasoning.context import ReasoningSection
from handlers.reasoning.replies import read_findings, read_verdicts
from schemas.rules import Rules
from tests.rules import shipped_rules


class _Rules(Rules):
    reasoning: ReasoningSection


QUOTES = shipped_rules(_Rules).reasoning.answer.quotes.model_dump()


def source(number: int, passage: str, label: str = "HIGH", title: str = "") -> dict[str, Any]:
    return {"number": number, "label": label, "title": title, "passage": passage}


def facts(query: str, *passages: str, **more: Any) -> dict[str, Any]:
    sources = [source(number, passage) for number, passage in enumerate(passages, 1)]
    ignored = ["the", "is", "of", "when", "was", "何時"]
    return {"query": query, "ignored": ignored, "sources": sources, "max_characters": 200, "quotes": QUOTES, **more}


def quoted(*arguments: Any, **more: Any) -> list[tuple[str, list[int]]]:
    read = read_findings(analyst(facts(*arguments, **more)))
    assert read is not None
    return [(finding.text, finding.sources) for finding in read.findings]


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
    both = quoted(question, sources=[source(1, high), source(2, low, "LOW")])
    assert both == [(high, [1]), (low, [2])]
    assert quoted(question, sources=[source(1, low), source(2, high, "LOW")]) == [(low, [1])]


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


def test_critic_supports_only_literal_findings() -> None:
    findings = [
        {"text": "Rain fell all day.", "sources": [1], "verdict": None, "because": ""},
        {"text": "Snow fell.", "sources": [1, 2], "verdict": None, "because": ""},
    ]
    read = read_verdicts(critic(facts("rain", "Rain fell\nall day.", "Sun.", findings=findings)), 2)

    assert read is not None
    assert [verdict.verdict for verdict in read.verdicts] == ["supported", "unsupported"]


def test_the_writer_says_the_same() -> None:
    asked = facts("height of the tower", "The tower has a height of 80 m.")
    assert json.loads(writer(asked))["sentences"] == json.loads(analyst(asked))["findings"]
