"""Clock times: day halves before and after, words around the hour, and signs of other scripts."""

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.text.evidence import find_evidence
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

PATTERNS = compile_patterns(shipped_rules(ClassifyResultsRules).patterns)


def times(text: str) -> list[tuple[str, str]]:
    return [(found.text, found.time) for found in find_evidence(text, PATTERNS.details) if found.kind == "time"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 in the evening", "19:00"),
        ("in the afternoon at 7", "19:00"),
        ("8:45a", "08:45"),
        ("at 7p", "19:00"),
        ("12 pm", "12:00"),
        ("12 am", "00:00"),
        ("half past 7", "07:30"),
        ("quarter to 8 tonight", "19:45"),
        ("6 o'clock", "06:00"),
        ("at 6.45?", "06:45"),
        ("8.30 pm", "20:30"),
        ("11 at night", "23:00"),
        ("12 at night", "00:00"),
        ("2 at night", "02:00"),
        ("8:00 in the morning", "08:00"),
        ("halb 8", "07:30"),
        ("viertel nach 3", "03:15"),
        ("5 Uhr nachmittags", "17:00"),
        ("abends um 8 Uhr", "20:00"),
        ("12 Uhr nachts", "00:00"),
        ("12 Uhr mittags", "12:00"),
        ("1 Uhr mittags", "13:00"),
        ("20 Uhr 15", "20:15"),
        ("kl. 20", "20:00"),
        ("klokken 7 om aftenen", "19:00"),
        ("halv 9", "08:30"),
        ("à 20h30", "20:30"),
        ("24:00", "00:00"),
        ("9:05:30.250", "09:05"),
        ("８：３０ ＰＭ", "20:30"),
        ("下午三點十五", "15:15"),
        ("晚上12点", "00:00"),
        ("凌晨2点半", "02:30"),
        ("晏晝三點搭半", "15:30"),
        ("晏晝三點踏一", "15:05"),
        ("晏晝三點三個字", "15:15"),
        ("15时20分", "15:20"),
        ("9点", "09:00"),
        ("三点钟", "03:00"),
        ("中午12点", "12:00"),
        ("午前11時40分", "11:40"),
        ("夜の8時20分", "20:20"),
        ("今朝８時１５分", "08:15"),
        ("夜７時半", "19:30"),
        ("五時から", "05:00"),
        ("下午两点", "14:00"),
        ("上午十点一刻", "10:15"),
        ("5 p. m.", "17:00"),
        ("午前8時31秒", "08:00"),
        ("오후 3시 30분", "15:30"),
        ("오전 9시", "09:00"),
    ],
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
    [
        "13 in the morning",
        "in the morning 7 people",
        "at 20 places",
        "at 6.45%",
        "at 6.45 million",
        "4:3 aspect ratio",
        "half past 70",
        "half past 30",
        "3小时",
        "3時間",
        "三点建议",
        "25点",
        "10:61",
        "24:30",
        "192.168.1.1:80",
        "at 7",
        "kl. 25",
        "kl. 20.555",
        "1:2:3",
        "x10:30",
        "10:30x",
        "5 a day",
        "half past 7.5",
        "3点5%",
    ],
)
def test_no_time(text: str) -> None:
    assert times(text) == []


def test_words_around_a_time_belong_to_it() -> None:
    assert times("it begins kl. 20, ends 11 at night") == [("kl. 20", "20:00"), ("11 at night", "23:00")]
