"""Word F1 counts words with repeats; a page type counts by its pages in the benchmark."""

import pytest

from tools.accuracy import page_content
from tools.accuracy.labels import LabelledPage
from tools.accuracy.word_f1 import weighted, word_f1, words


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("Rain, rain!", "rain rain", 1.0),
        ("rain rain", "rain", 2 / 3),
        ("a b c d", "a b x", 4 / 7),
        ("", "", 1.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
    ],
)
def test_word_f1(reference: str, answer: str, expected: float) -> None:
    assert word_f1(words(reference), words(answer)) == pytest.approx(expected)


def test_types_are_weighted() -> None:
    assert weighted({"article": 1.0, "service": 0.0}) == pytest.approx(793 / (793 + 165))


def test_shares_of_snippets_ignore_case_and_space() -> None:
    page = LabelledPage(
        set="wcxb_page_types", id="1", url="", case={}, must_contain=("A b", "c"), must_not_contain=("Menu",)
    )
    said = {"1": {"assay": "a  B menu"}}
    assert page_content._share({"1": page}, said, "assay", True) == 0.5
    assert page_content._share({"1": page}, said, "assay", False) == 1.0
