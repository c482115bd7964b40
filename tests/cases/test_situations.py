"""Everyday situations give the result that a user expects, with the shipped settings and no model."""

from collections.abc import Iterator

import pytest

from tests.cases.judgement import PAGE, page
from tests.cases.situations import CASES, Judge, differences, lines_of, read_situations

SITUATIONS = read_situations()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.mark.parametrize("file", sorted({situation.file for situation in SITUATIONS}))
def test_situations_of_a_file(file: str, judge: Judge) -> None:
    wrong = []
    for situation in (situation for situation in SITUATIONS if situation.file == file):
        found = differences(situation, judge.answer_of(situation))
        if situation.falls_short and not found:
            wrong.append(f"{situation.name}: the result is right now, so remove falls_short")
        elif found and not situation.falls_short:
            wrong.append(f"{situation.name}: {situation.situation}: {'; '.join(found)} ({situation.reason})")
    assert not wrong, "\n".join(wrong)


def test_the_page_shows_today_s_results() -> None:
    assert PAGE.read_text() == page(SITUATIONS), "write it again: .venv/bin/python -m tests.cases"


def test_every_line_has_an_expectation() -> None:
    expected = {(situation.file, situation.line) for situation in SITUATIONS}
    lines = {(path.stem, line) for path in CASES.glob("*.jsonl") for line in range(1, len(lines_of(path.stem)) + 1)}
    assert lines == expected
