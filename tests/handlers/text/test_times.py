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


@pytest.mark.parametrize(("text", "values"), TABLES["times"])
def test_times(text: str, values: tuple[str, ...]) -> None:
    assert [value for _, value in times(text)] == list(values)


def test_words_around_a_time_belong_to_it() -> None:
    assert times("it begins kl. 20, ends 11 at night") == [("kl. 20", "20:00"), ("11 at night", "23:00")]
