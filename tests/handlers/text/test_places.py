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


@pytest.mark.parametrize(("text", "value"), TABLES["one_place"])
def test_one_place(text: str, value: str) -> None:
    assert value in places(text)


@pytest.mark.parametrize("text", TABLES["no_place"])
def test_no_place(text: str) -> None:
    assert places(text) in ([], ["box 7"])


def test_a_form_has_labels_only() -> None:
    assert places("Location:\nBlue Note") == ["Blue Note"]
    assert places("Location:\nPhone:") == []


@pytest.mark.parametrize(("text", "place"), TABLES["a_labelled_place_ends_where_the_next_label_begins"])
def test_a_labelled_place_ends_where_the_next_label_begins(text: str, place: str) -> None:
    assert places(text) == [place]


@pytest.mark.parametrize("text", TABLES["unnamed_place_is_ignored"])
def test_unnamed_place_is_ignored(text: str) -> None:
    assert places(text) == []


@pytest.mark.parametrize(("text", "value"), TABLES["names_that_begin_with_such_a_word_are_places"])
def test_names_that_begin_with_such_a_word_are_places(text: str, value: str) -> None:
    assert places(text) == [value]


@pytest.mark.parametrize(("text", "kinds"), TABLES["what_is_part_of_an_address_is_nothing_else"])
def test_what_is_part_of_an_address_is_nothing_else(text: str, kinds: tuple[str, ...]) -> None:
    assert [found.kind for found in find_evidence(text, PATTERNS.details)] == list(kinds)
