"""Counting: right, wrong and missing answers are counted separately, and a wrong answer lowers the figures."""

from dataclasses import replace
from typing import Any

import pytest

from tools.accuracy import features, main_text
from tools.accuracy.contestants import ASSAY, TRAFILATURA, Answer, ask_assay
from tools.accuracy.counting import TOGETHER, Tally
from tools.accuracy.features import Asked
from tools.accuracy.labels import LabelledPage

PAGE = LabelledPage(
    set="one",
    id="1",
    url="https://news.example/1",
    case={"file": "1.html"},
    days=("2024-03-05",),
    authors=("Ann Smith",),
    title="Tea",
    must_contain=("Leaves are picked by hand",),
    must_not_contain=("Subscribe to our letter",),
)
RIGHT = Answer(date="2024-03-05", authors=("Ann Smith",), title="Tea", text="Leaves are picked\nby hand.")


def asked(*answers: Answer, **labels: Any) -> Asked:
    return [(replace(PAGE, **labels), {ASSAY: answer, TRAFILATURA: RIGHT}) for answer in answers]


def test_right_wrong_and_missing() -> None:
    tally = features.dates(asked(RIGHT, Answer(date="2020-01-01"), Answer()), {})
    count = tally.of(ASSAY, "one")
    assert (count.labelled, count.right, count.wrong, count.missing) == (3, 1, 1, 1)
    assert count.share == pytest.approx(1 / 3)
    assert count.precision == pytest.approx(1 / 2)
    assert [miss.answers[ASSAY] for miss in tally.misses] == ["2020-01-01", "-"]


@pytest.mark.parametrize(
    "fault",
    [{"date": "2024-03-06"}, {"authors": ("Bo Lee",)}, {"title": "Coffee"}, {"text": "Subscribe to our letter"}],
)
def test_a_seeded_fault_lowers_the_figure(fault: dict[str, Any]) -> None:
    def figures(answer: Answer) -> list[float | None]:
        cases = asked(RIGHT, answer)
        wanted, unwanted = main_text.snippets(cases)
        title = features.texts(cases)[0]
        good = [
            tally.of(ASSAY).share for tally in (features.dates(cases, {}), features.authors(cases, {}), title, wanted)
        ]
        return [*good, -(unwanted.of(ASSAY).share or 0.0)]

    before, after = figures(RIGHT), figures(replace(RIGHT, **fault))
    assert sum(x or 0 for x in after) < sum(x or 0 for x in before)
    assert all((x or 0) <= (y or 0) for x, y in zip(after, before, strict=True))


def test_author_for_an_unsigned_page_lowers_overall_precision() -> None:
    tally = features.authors(asked(RIGHT) + asked(RIGHT, authors=()) + asked(RIGHT, authors=None), {})
    count = tally.of(ASSAY)
    assert (count.labelled, count.precision, count.overall_precision) == (1, 1.0, 0.5)


def test_what_is_not_labelled_counts_for_nothing() -> None:
    assert list(features.dates(asked(RIGHT, days=()), {}).groups()) == []


def test_together_sums_the_sets() -> None:
    tally = Tally("?", (ASSAY,))
    tally.add("one", ASSAY, is_right=True)
    assert list(tally.groups()) == ["one"]
    tally.add("two", ASSAY, is_right=False, is_answered=False)
    assert list(tally.groups()) == ["one", "two", TOGETHER]
    assert tally.of(ASSAY).share == 0.5


def test_gold_texts_are_compared_by_tokens() -> None:
    assert main_text.gold(asked(RIGHT, gold_text="Leaves are picked by hand"))["one"][ASSAY] == (1.0, 1.0)


def test_assay_answers_from_its_scored_page() -> None:
    body = (
        "<title>Tea</title><meta name=author content='Ann Smith'><article><p>Leaves are picked by hand.</p></article>"
    )
    answer = ask_assay(body.encode(), "https://news.example/1")
    assert (answer.authors, answer.title, answer.failed) == (("Ann Smith",), "Tea", None)
    assert ask_assay(b"%PDF-1.7 \x00\x01", "https://news.example/1").failed
