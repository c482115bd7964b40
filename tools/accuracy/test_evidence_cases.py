"""The rules that decide which labelled mentions count, on cases written for this test."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules
from tools.accuracy.evidence import f1, half_of, judge
from tools.accuracy.evidence_cases import Case, overlaps, squeeze
from tools.accuracy.written_moments import Expected, moments, numbers


def read(kind: str, timex: str, written: str) -> tuple[list[tuple[str, str]], str]:
    span: dict[str, Any] = {"type": f"datetimeV2.{kind}", "resolution": {"values": [{"timex": timex}]}}
    expected, reason = moments(span, written, 0, len(written))
    return [(found.kind, found.value) for found in expected], reason


@pytest.mark.parametrize(
    ("kind", "timex", "written", "found"),
    [
        ("date", "2024-11-29", "29 nov 2024", [("date", "2024-11-29")]),
        ("date", "XXXX-11-29", "11月29日", [("date", "--11-29")]),
        ("datetime", "XXXX-10-14T08:00:31", "october 14 for 8:00:31am", [("date", "--10-14"), ("time", "08:00")]),
        ("time", "T19", "7 in the evening", [("time", "19:00")]),
        ("timerange", "(T17:15,T18,PT45M)", "5:15 pm to 6 pm", [("time", "17:15"), ("time", "18:00")]),
        (
            "daterange",
            "(XXXX-02-28,XXXX-03-01,P1D)",
            "feb 28th to march 1st",
            [("date", "--02-28"), ("date", "--03-01")],
        ),
    ],
)
def test_in_scope(kind: str, timex: str, written: str, found: list[tuple[str, str]]) -> None:
    assert read(kind, timex, written) == (found, "")


@pytest.mark.parametrize(
    ("kind", "timex", "written", "reason"),
    [
        ("date", "2024-11-29", "3 days from tuesday", "relative day"),
        ("date", "XXXX-02-30", "feb 30", "no such day"),
        ("duration", "PT3H", "3 hours", "duration"),
        ("set", "P1D", "every day", "set"),
        ("time", "TEV", "evening", "part of the day"),
        ("time", "T06", "at 6", "hour in words or bare"),
        ("daterange", "2018", "since 2018", "daterange without days or times in full"),
    ],
)
def test_out_of_scope(kind: str, timex: str, written: str, reason: str) -> None:
    assert read(kind, timex, written) == ([], reason)


def test_unlabelled_find_is_extra_and_out_of_scope_is_ignored() -> None:
    text = "on 29 Nov 2024, not 30 Nov 2024, perhaps 1 Dec 2024"
    labels = [Expected("date", "2024-11-29", 3, 14)]
    case = Case("key", lambda: text, frozenset({"date"}), labels, ignored=[(41, 51)])
    patterns = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)
    assert [(kind, outcome) for kind, outcome, _ in judge(case, patterns)] == [("date", "right"), ("date", "extra")]


def test_small_things() -> None:
    assert numbers("２０ and 二十九 and 廿號") == {20, 29}
    assert squeeze("1, Main St.") == "1mainst"
    assert overlaps("12mainst", "unit4,12mainst")
    assert not overlaps("abc", "xyz")
    assert half_of("a key") in (0, 1)
    assert f1(Counter(right=1, missing=1, extra=1)) == 0.5
