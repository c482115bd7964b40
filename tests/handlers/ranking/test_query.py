"""The intent of a query, detected by named signs, in English and in Chinese."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.ranking.query import read_query
from schemas.ranking import Intent
from tests.rules import RankingRules, shipped_rules
from tests.tables import tables

TABLES = tables(__file__)


SECTION = shipped_rules(RankingRules).ranking.intent
STOP_WORDS = frozenset(["the", "of", "is", "this", "的"])


@pytest.mark.parametrize(("query", "sign"), TABLES["specific_intent_is_recognised"])
def test_specific_intent_is_recognised(query: str, sign: str) -> None:
    note = read_query(query, SECTION).intent
    assert note.intent is Intent.SPECIFIC
    assert sign in note.reason


@pytest.mark.parametrize(("query", "sign"), TABLES["exploratory_intent_is_recognised"])
def test_exploratory_intent_is_recognised(query: str, sign: str) -> None:
    note = read_query(query, SECTION).intent
    assert note.intent is Intent.EXPLORATORY
    assert sign in note.reason


@pytest.mark.parametrize("query", ["how do tides work", "tidal power costs money", "潮汐為什麼會變化", "", "?!"])
def test_without_a_sign_it_is_between(query: str) -> None:
    note = read_query(query, SECTION).intent
    assert note.intent is Intent.BALANCED
    assert note.reason == "no sign of either"


def test_all_capitals_are_not_read_as_names() -> None:
    assert "name" not in read_query("Tidal Power Costs", SECTION).intent.reason
    assert "name" not in read_query("TIDAL POWER COSTS", SECTION).intent.reason


def test_a_query_is_read_once_for_all_stages() -> None:
    query = read_query('Is "high water" of 3.5 m the latest record?', SECTION, STOP_WORDS)
    assert query.phrases == ("high water",)
    assert query.numbers == ("3.5",)
    assert query.wants_news
    assert query.keywords == ("high", "water", "3", "5", "m", "latest", "record")
    assert [word for word, weight in query.weights.items() if weight] == [*query.keywords]
    assert query.weights["is"] == query.weights["the"] == 0
    assert read_query("why", SECTION).question_words == ("why",)


def test_words_of_a_list_are_whole_words_but_in_chinese() -> None:
    assert not read_query("nowhere to go", SECTION).wants_news
    assert read_query("今天的海象", SECTION).wants_news
    assert read_query("THIS WEEK on the coast", SECTION).wants_news


@settings(deadline=None)  # the first Chinese text loads the dictionary
@given(st.text(max_size=200))
def test_any_query_can_be_read(text: str) -> None:
    query = read_query(text, SECTION, STOP_WORDS)
    assert query.intent.reason
    assert bool(query.keywords) == bool(query.words)


def test_how_much_an_overview_outweighs_is_configured() -> None:
    asked = 'overview of "copper mines"'
    assert read_query(asked, SECTION).intent.intent is Intent.EXPLORATORY
    assert read_query(asked, SECTION.model_copy(update={"outweighs": 0})).intent.intent is Intent.SPECIFIC
