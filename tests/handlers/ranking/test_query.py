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


@pytest.mark.parametrize(
    ("intent", "query", "sign"),
    [
        *((Intent.SPECIFIC, *row) for row in TABLES["specific_intent_is_recognised"]),
        *((Intent.EXPLORATORY, *row) for row in TABLES["exploratory_intent_is_recognised"]),
        *((Intent.BALANCED, query, "no sign of either") for query in TABLES["without_a_sign_it_is_between"]),
    ],
)
def test_an_intent_is_recognised_by_its_sign(intent: Intent, query: str, sign: str) -> None:
    note = read_query(query, SECTION).intent
    assert note.intent is intent
    assert sign in note.reason


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
