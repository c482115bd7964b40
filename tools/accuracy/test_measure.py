"""A wrong answer lowers a figure, and what is not labelled counts for nothing."""

from dataclasses import replace
from typing import Any

from tools.accuracy.contestants import ASSAY, TRAFILATURA, Answer, ask_assay
from tools.accuracy.labels import LabelledPage
from tools.accuracy.measure import MEASURES, Asked, measured

PAGE = LabelledPage(
    set="one", id="1", url="https://news.example/1", case={"file": "1.html"}, days=("2024-03-05",),
    authors=("Ann Smith",), title="Tea",
)  # fmt: skip
RIGHT = Answer(date="2024-03-05", authors=("Ann Smith",), title="Tea")
NAMES = {measure.name.split(",")[0].split(":")[0]: measure for part in MEASURES.values() for measure in part}


def asked(*answers: Answer, **labels: Any) -> Asked:
    return [(replace(PAGE, **labels), {ASSAY: answer, TRAFILATURA: RIGHT}) for answer in answers]


def test_right_wrong_and_missing_answers_are_counted() -> None:
    dates = measured(NAMES["Publication date"], asked(RIGHT, Answer(date="2020-01-01"), Answer()))
    assert dates.of(ASSAY, "one") == {"right": 1, "labelled": 3, "answered": 2}
    assert dates.table().splitlines()[-1] == "| together | 3 | 0.333 / 0.500 | 1.000 / 1.000 |"
    assert len(dates.misses) == 2


def test_an_author_of_an_unsigned_page_is_wrong() -> None:
    pages = asked(RIGHT) + asked(RIGHT, authors=()) + asked(RIGHT, authors=None)
    assert measured(NAMES["Authors"], pages).of(ASSAY) == {"right": 1, "labelled": 1, "answered": 2}


def test_assay_answers_from_its_scored_page() -> None:
    body = b"<title>Tea</title><meta name=author content='Ann Smith'><article><p>Leaves are picked by hand.</article>"
    answer = ask_assay(body, "https://news.example/1")
    assert (answer.authors, answer.title, answer.failed) == (("Ann Smith",), "Tea", None)
    assert ask_assay(b"%PDF-1.7 \x00\x01", "https://news.example/1").failed
