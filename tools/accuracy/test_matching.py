"""The matcher ignores spelling and compares content."""

import pytest

from tools.accuracy.labels import accepted_days
from tools.accuracy.matching import day_of, named, overlap, persons, plain, same_text


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        (("Zoë Müller",), ("zoe  muller",)),
        (("Smith, Ann",), ("Ann Smith",)),
        (("Ann Smith", "Bo Lee"), ("Bo Lee",)),
        (("Ann Smith",), ("By Ann Smith and Bo Lee",)),
        (("Ann Smith",), ("Dr. Ann M. Smith",)),
        (("王小明",), ("王 小明",)),
        (("DPA",), ("dpa",)),
        (("著者：王小明",), ("王小明",)),
        (("Ann Smith",), ("Text: Ann Smith",)),
    ],
)
def test_the_same_person_is_recognized(label: tuple[str, ...], answer: tuple[str, ...]) -> None:
    assert named(persons(label), answer)


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        (("Ann Smith",), ()),
        (("Ann Smith",), ("Ann",)),
        (("Ann Smith",), ("Bo Smith",)),
        (("Ann Smith",), ("Ann Smith is our editor for culture",)),
        (("王小明",), ("王小",)),
    ],
)
def test_another_person_is_not(label: tuple[str, ...], answer: tuple[str, ...]) -> None:
    assert not named(persons(label), answer)


def test_enumerations_are_taken_apart() -> None:
    assert persons("Ann Smith, Bo Lee & Cy Park") == ("Ann Smith", "Bo Lee", "Cy Park")
    assert persons(["Ann Smith", "MSc"]) == ("Ann Smith",)
    assert persons("Reuters/AFP") == ("Reuters", "AFP", "Reuters AFP")
    assert persons(None) == persons("…") == ()


def test_days() -> None:
    assert day_of("2024-03-05") == day_of("2024-03-05T23:59:00-11:00") == day_of("2024/3/5") == "2024-03-05"
    assert day_of("2024-13-40") is day_of("") is day_of(None) is None


def test_an_instant_is_on_its_own_day_and_on_that_of_utc() -> None:
    assert accepted_days("2024-03-05 00:30:00+02:00") == ("2024-03-05", "2024-03-04")
    assert accepted_days("2024-03-05") == ("2024-03-05",)
    assert accepted_days("2024-03-05", tolerance=1) == ("2024-03-05", "2024-03-04", "2024-03-06")
    assert accepted_days(None) == accepted_days(float("nan")) == accepted_days("last Tuesday") == ()


def test_titles_have_to_be_equal_but_for_spelling() -> None:
    assert same_text("“Tea” – a history", "Tea: a History")
    assert not same_text("Tea", "Tea | The Daily")
    assert not same_text("Tea", None)
    assert plain("東京 Tower!") == "東京tower"


def test_overlap_counts_repeats() -> None:
    assert overlap("a a b", "a b b") == (2 / 3, 2 / 3)
    assert overlap("你好", "你") == (1.0, 0.5)
    assert overlap("a", "") == (0.0, 0.0)
