"""Clock times: day halves before and after, words around the hour, and signs of other scripts."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def times(text: str) -> list[tuple[str, str]]:
    return [(found.text, found.time) for found in find_evidence(text, PATTERNS.details) if found.kind == "time"]


@pytest.mark.parametrize(
    ("text", "value"),
    TABLES["one_time"],
)
def test_one_time(text: str, value: str) -> None:
    assert [found for _, found in times(text)] == [value]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("9:00-17:00", ["09:00", "17:00"]),
        ("2024-11-29T20:00:00Z", ["20:00"]),
        ("2024-11-29T20:00+01:00", ["20:00"]),
        ("from 3-8pm", ["15:00", "20:00"]),
        ("from 9 to 5 pm", ["09:00", "17:00"]),
        ("9 bis 17 Uhr", ["09:00", "17:00"]),
        ("19.30–22.00 Uhr", ["19:30", "22:00"]),
        ("午後5時15分から6時まで", ["17:15", "18:00"]),
        ("10時から4時まで", ["10:00", "16:00"]),
        ("下午3点到5点", ["15:00", "17:00"]),
        ("9:00 - 5:00", ["09:00", "17:00"]),
        ("16:00 - 09:00", ["16:00", "09:00"]),
        ("22:00 - 6:00", ["22:00", "06:00"]),
        ("10:00 to 4 am", ["10:00", "04:00"]),
        ("10:00, 4:00", ["10:00", "04:00"]),
        ("8:30 to 9 pm", ["20:30", "21:00"]),
        ("11:00-1:00pm", ["11:00", "13:00"]),
        ("Monday evening at 8", ["20:00"]),
        ("a 7 night stay", []),
        ("Montag Abend um 8 Uhr", ["20:00"]),
        ("今晩8時", ["20:00"]),
        ("早8点至晚8点", ["08:00", "20:00"]),
        ("午前9時から午後1時", ["09:00", "13:00"]),
        ("2024-11-29T20:00", ["20:00"]),
        ("5/12/2024 12:47:34 PM", ["12:47"]),
    ],
)
def test_several_times(text: str, values: list[str]) -> None:
    assert [value for _, value in times(text)] == values


@pytest.mark.parametrize(
    "text",
    TABLES["no_time"],
)
def test_no_time(text: str) -> None:
    assert times(text) == []


def test_words_around_a_time_belong_to_it() -> None:
    assert times("it begins kl. 20, ends 11 at night") == [("kl. 20", "20:00"), ("11 at night", "23:00")]
