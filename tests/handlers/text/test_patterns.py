"""Packs are joined and compiled; an expression that does not compile is refused."""

import pytest
from pydantic import ValidationError

from handlers.classify_results import ClassifyResultsRules
from handlers.text.patterns import DetailPatterns, PatternPack, spelled_out
from handlers.text.words import Shapes, alternatives, split_words
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)


def test_a_bad_expression_is_refused() -> None:
    with pytest.raises(ValidationError, match="not a regular expression"):
        PatternPack(dates=("(?P<day>",))


def test_no_packs_find_nothing() -> None:
    details = DetailPatterns({})
    assert details.dates.match("29 nov", 0) is None
    assert details.months.before("nov", "nov", 3) == ""
    assert not details.free_of_charge.search("free entry")


def test_named_group_may_occur_in_several_branches() -> None:
    shapes = Shapes([r"(?P<day>\d\d)x|y(?P<day>\d)", r"(?P<month>\d)"])
    assert shapes.match("29x", 0) == (3, {"day": "29"})
    assert shapes.match("y3", 0) == (2, {"day": "3"})
    assert shapes.match("4", 0) == (1, {"month": "4"})


def test_what_needs_a_cue_is_tried_last() -> None:
    shapes = Shapes([r"(?P<day>\d)(?P<cued>)", r"(?P<month>\d)"])
    assert shapes.match("4", 0) == (1, {"month": "4"})


def test_alternatives_prefer_the_longest() -> None:
    assert alternatives([]) == "(?!)"
    details = DetailPatterns({"en": PatternPack(free_of_charge=("free", "free entry", "frei"))})
    assert details.free_of_charge.findall("free entry free frei") == ["free entry", "free", "frei"]


@pytest.mark.parametrize(("word", "forms"), TABLES["a_word_is_spelled_out"])
def test_a_word_is_spelled_out(word: str, forms: tuple[str, ...]) -> None:
    assert list(spelled_out((word,))) == list(forms)


def test_what_is_spelled_out_stays_so() -> None:
    for pack in shipped_rules(ClassifyResultsRules).patterns.values():
        assert PatternPack.model_validate(pack.model_dump()).model_dump() == pack.model_dump()


def test_an_expression_has_both_chinese_scripts() -> None:
    pack = PatternPack(times=("[點時](?P<minute>\\d)分鐘",), scales={"萬(元)": 10000})
    assert pack.times == ("[點点時时](?P<minute>\\d)分[鐘钟]",)
    assert pack.scales == {"萬": 10000, "万": 10000, "萬元": 10000, "万元": 10000}


@pytest.mark.parametrize(("name", "text", "phrase"), TABLES["shipped_phrases"])
def test_shipped_phrases(name: str, text: str, phrase: str) -> None:
    patterns = shipped_rules(ClassifyResultsRules).compiled_patterns
    assert [*getattr(patterns, name).find(split_words(text.lower()))] == [tuple(phrase.split())]


@pytest.mark.parametrize("word", ["(free)", "((s))x", "foo(("])
def test_a_word_list_refuses_brackets_that_mean_nothing(word: str) -> None:
    with pytest.raises(ValueError, match="brackets are"):
        spelled_out((word,))
