"""Sentences of sources as an answer: the most trusted first, and only what a source says."""

from typing import Any

import pytest

from handlers.reasoning.answer import AnswerRules, quotes_of
from handlers.reasoning.context import Source
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)
RULES = shipped_rules(AnswerRules)
SECTION = RULES.reasoning.answer.model_copy(update={"max_characters": 200})


def source(number: int, passage: str, title: str = "", label: Any = "HIGH") -> Source:
    return Source(number=number, label=label, name="x", title=title, passage=passage, url="https://a.example/")


@pytest.mark.parametrize(("query", "sources", "quotes"), TABLES["quotes"])
def test_quotes(query: str, sources: tuple[tuple[str, ...], ...], quotes: dict[str, tuple[int, ...]]) -> None:
    given = [source(number, *parts) for number, parts in enumerate(sources, 1)]
    found = quotes_of(query, None, given, SECTION, RULES.queries)
    assert list(found.items()) == [(text, list(numbers)) for text, numbers in quotes.items()]


def test_what_is_too_long_to_show_is_not_quoted() -> None:
    passage = "The tower height " + "is great and " * 40 + "more."
    assert quotes_of("tower height", None, [source(1, passage)], SECTION, RULES.queries) == {}
