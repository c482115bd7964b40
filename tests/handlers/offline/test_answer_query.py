"""The offline judge of answers: it quotes, the most trusted first, and says nothing that no source says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handlers.offline.answer_query import analyst, critic, writer
from handlers.reasoning.replies import read_findings, read_sentences, read_verdicts


def facts(query: str, *passages: str, **more: Any) -> dict[str, Any]:
    sources = [{"number": number, "title": "", "passage": passage} for number, passage in enumerate(passages, 1)]
    return {"query": query, "ignored": ["the", "is", "of"], "sources": sources, "max_characters": 200, **more}


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


def test_a_heading_is_no_part_of_the_first_sentence() -> None:
    sources = [{"number": 1, "title": "Tower", "passage": "Tower The tower has a height of 80 m."}]
    assert quoted("height of the tower", sources=sources) == [("The tower has a height of 80 m.", [1])]


def test_what_is_too_long_to_show_is_not_quoted() -> None:
    assert quoted("tower height", "The tower height " + "is great and " * 40 + "more.") == []


def test_the_critic_looks_whether_it_stands_there() -> None:
    findings = [
        {"text": "Rain fell all day.", "sources": [1], "verdict": None, "because": ""},
        {"text": "Snow fell.", "sources": [1, 2], "verdict": None, "because": ""},
    ]
    read = read_verdicts(critic(facts("rain", "Rain fell\nall day.", "Sun.", findings=findings)), 2)

    assert read is not None
    assert [verdict.verdict for verdict in read.verdicts] == ["supported", "unsupported"]


def test_the_writer_says_the_same() -> None:
    asked = facts("height of the tower", "The tower has a height of 80 m.")
    read = read_sentences(writer(asked))

    assert read is not None
    assert [sentence.text for sentence in read.sentences] == ["The tower has a height of 80 m."]
    assert json.loads(writer(asked))["sentences"] == json.loads(analyst(asked))["findings"]
