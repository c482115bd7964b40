"""Packs are joined and compiled; an expression that does not compile is refused."""

import pytest
from pydantic import ValidationError

from handlers.text.patterns import PatternPack, Shapes, compile_details
from handlers.text.words import alternatives


def test_a_bad_expression_is_refused() -> None:
    with pytest.raises(ValidationError, match="not a regular expression"):
        PatternPack(dates=("(?P<day>",))


def test_no_packs_find_nothing() -> None:
    details = compile_details([])
    assert details.dates.match("29 nov", 0) is None
    assert details.months.before("nov", "nov", 3) == ""
    assert not details.free_of_charge.search("free entry")


def test_a_group_may_stand_in_several_branches() -> None:
    shapes = Shapes([r"(?P<day>\d\d)x|y(?P<day>\d)", r"(?P<month>\d)"])
    assert shapes.match("29x", 0) == (3, {"day": "29"})
    assert shapes.match("y3", 0) == (2, {"day": "3"})
    assert shapes.match("4", 0) == (1, {"month": "4"})


def test_what_needs_a_cue_is_tried_last() -> None:
    shapes = Shapes([r"(?P<day>\d)(?P<cued>)", r"(?P<month>\d)"])
    assert shapes.match("4", 0) == (1, {"month": "4"})


def test_alternatives_prefer_the_longest() -> None:
    assert alternatives([]) == "(?!)"
    details = compile_details([PatternPack(free_of_charge=("free", "free entry", "frei"))])
    assert [match.group() for match in details.free_of_charge.finditer("free entry free frei")] == [
        "free entry",
        "free",
        "frei",
    ]
