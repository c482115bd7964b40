"""What a text says under its codes and tags, and where in it that is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.trust.layers import readings
from handlers.trust.lookalikes import seen
from tests.cpu import cpu_seconds


@pytest.mark.parametrize(
    ("text", "said", "written"),
    [
        ("a &#84;b", "T", "&#84;"),
        ("a &amp;amp;#84;b", "T", "&amp;amp;#84;"),
        ("a %e5%8f%af b", "可", "%e5%8f%af"),
        ("a %2541 b", "A", "%2541"),
        ("a \\u0054b", "T", "\\u0054"),
        ("x T<i>R</i>Y y", "TRY", "T<i>R</i>Y"),
        ("x &#<b></b>84; y", "T", "&#<b></b>84;"),
        ("x T&#x200b;R y", "TR", "T&#x200b;R"),
    ],
)
def test_what_is_read_is_known_where_it_is_written(text: str, said: str, written: str) -> None:
    last = [*readings(text)][-1]
    at = last.text.index(said)
    begin, end = last.written_at(at, at + len(said))

    assert text[begin:end] == written


@given(st.text(alphabet="&#;amp841x%25=3d<b>/!- \\u{}U+00", max_size=200))
def test_any_text_has_at_most_seven_readings_with_a_place_for_each_character(text: str) -> None:
    read = [*readings(seen(text))]

    assert len(read) <= 7
    for reading in read:
        assert len(reading.text) == len(reading.begins) == len(reading.ends)
        assert all(0 <= begin < end <= len(text) for begin, end in zip(reading.begins, reading.ends, strict=True))


@pytest.mark.parametrize("unit", ["<!--", "<b", "<!", "&amp;", "\\", "&#"])
def test_a_million_signs_that_only_begin_something_are_read_in_one_go(unit: str) -> None:
    """Looked through anew from each sign, they would take longer than any test may."""
    assert len([*readings(unit * (1_000_000 // len(unit)))]) <= 7


@pytest.mark.parametrize("codes", ["%41", r"\x5cx5cx5cx5cx41", r"\x5cx5cx5cx5cx41 5<b>c"])
def test_a_run_of_backslashes_takes_linear_time(codes: str) -> None:
    """Codes for codes and tags between them force every reading of the text. Quadratic time would be over 3 seconds."""
    text = codes + "\\" * 8000

    assert cpu_seconds(lambda: [*readings(text)]) < 1
