"""Numbers: digits of other scripts, ideographs, and marks in amounts."""

import pytest

from handlers.text.numbers import AMOUNT, decimal_amount, small_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("一", 1),
        ("十二", 12),
        ("二十", 20),
        ("廿九", 29),
        ("卅一", 31),
        ("零五", 5),
        ("07", 7),
        ("٣", 3),
        ("x", 0),
        ("", 0),
    ],
)
def test_small_numbers(text: str, value: int) -> None:
    assert small_number(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234.567", "1234567"),
        ("1,234.5", "1234.5"),
        ("0.125", "0.125"),
        ("12.5", "12.5"),
        ("1.11000000000000009770", "1.11000000000000009770"),
        ("1,25,000.50", "125000.50"),
        ("170 000", "170000"),
        ("007", "7"),
        ("٣.٥", "3.5"),
    ],
)
def test_amounts(text: str, value: str) -> None:
    assert decimal_amount(text) == value


@pytest.mark.parametrize(
    ("text", "found"),
    [("1 200 300", "1 200 300"), ("12 34", "12"), ("1,2345", "1,2345"), ("1 200 3000", "1 200"), ("1234 500", "1234")],
)
def test_groups_have_three_digits(text: str, found: str) -> None:
    match = AMOUNT.match(text)
    assert match
    assert match.group() == found
