"""Places: streets with the number before or after them, boxes, towns, and the text after a label."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = shipped_rules(ClassifyResultsRules).compiled_patterns


def places(text: str) -> list[str]:
    return [found.name for found in find_evidence(text, PATTERNS.details) if found.kind == "place"]


@pytest.mark.parametrize(("text", "names"), TABLES["places"])
def test_places(text: str, names: tuple[str, ...]) -> None:
    assert places(text) == list(names)


def test_a_form_has_labels_only() -> None:
    assert places("Location:\nBlue Note") == ["Blue Note"]
    assert places("Location:\nPhone:") == []


@pytest.mark.parametrize(("text", "kinds"), TABLES["what_is_part_of_an_address_is_nothing_else"])
def test_what_is_part_of_an_address_is_nothing_else(text: str, kinds: tuple[str, ...]) -> None:
    assert [found.kind for found in find_evidence(text, PATTERNS.details)] == list(kinds)
