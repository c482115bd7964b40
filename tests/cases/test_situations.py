"""Everyday situations give the result that a user expects, with the shipped settings and no model."""

from collections.abc import Iterator

import pytest

from tests.cases.judgement import PAGE, page
from tests.cases.situations import CASES, Judge, Situation, differences, lines_of, read_situations

SITUATIONS = read_situations()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_situation(situation: Situation, judge: Judge) -> None:
    found = differences(situation, judge.answer_of(situation))
    if situation.falls_short:
        assert found, f"{situation.situation}: the result is right now, so remove falls_short"
    else:
        assert not found, f"{situation.situation}: {'; '.join(found)} ({situation.reason})"


def test_the_page_shows_today_s_results(judge: Judge) -> None:
    assert PAGE.read_text() == page(SITUATIONS, judge), "write it again: .venv/bin/python -m tests.cases"


def test_every_line_has_an_expectation() -> None:
    expected = {(situation.file, situation.line) for situation in SITUATIONS}
    lines = {(path.stem, line) for path in CASES.glob("*.jsonl") for line in range(1, len(lines_of(path.stem)) + 1)}
    assert lines == expected


def test_a_wrong_expectation_fails(judge: Judge) -> None:
    for situation in SITUATIONS[:1]:
        wrong = dict.fromkeys(situation.expect, "something else")
        assert len(
            differences(Situation(situation.file, 1, "", situation.handlers, wrong, ""), judge.answer_of(situation))
        ) == len(wrong)
