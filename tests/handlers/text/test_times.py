"""Clock times: day halves before and after, words around the hour, and signs of other scripts."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns


def times(text: str) -> list[tuple[str, str]]:
    return [(found.text, found.time) for found in find_evidence(text, PATTERNS.details) if found.kind == "time"]


@pytest.mark.parametrize(("text", "value"), TABLES["one_time"])
def test_one_time(text: str, value: str) -> None:
    assert [found for _, found in times(text)] == [value]


@pytest.mark.parametrize(("text", "values"), TABLES["several_times"])
def test_several_times(text: str, values: tuple[str, ...]) -> None:
    assert [value for _, value in times(text)] == list(values)


@pytest.mark.parametrize("text", TABLES["no_time"])
def test_no_time(text: str) -> None:
    assert times(text) == []


def test_words_around_a_time_belong_to_it() -> None:
    assert times("it begins kl. 20, ends 11 at night") == [("kl. 20", "20:00"), ("11 at night", "23:00")]
