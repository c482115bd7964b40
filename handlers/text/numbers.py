"""Numbers in a text: where they stand, and what they are worth, in digits of any script or in ideographs."""

from __future__ import annotations

import re

from handlers.text.scripts import has_han
from handlers.text.words import Words

NUMERALS = "〇零一二三四五六七八九十廿卅两兩"
"""The characters that ideographic numbers below a hundred are written with."""

# Grouped by thousands, the Indian way, or plain. Groups have a fixed length: one never runs into the number after it.
AMOUNT = re.compile(
    r"\d{1,3}(?:(?:[.,’' ]\d{3}){1,5}(?!\d)(?:[.,]\d{1,2}(?!\d)|\.\d{3}(?!\d))?|(?:,\d\d){1,3},\d{3}(?:\.\d\d?)?(?!\d))"
    r"|\d{1,24}(?:[.,]\d{1,20})?"
)

# The first character is a class of its own: the engine then looks for it in one go.
_DIGITS = re.compile(r"[0-9\u0660-\U0010ffff](?<=\d)\d*+")
# Ideographic numbers are too common in prose to look at each; days and times that use them have one of these signs.
_ANY_DIGITS = re.compile(rf"[\d{NUMERALS}](?:(?<=\d)\d*+|(?<!\d)[{NUMERALS}]{{0,3}}(?=\s?[年月点點时時]))")
_LEAD_MARKS = " \n.,-/':"
_TENS = {"十": 1, "廿": 2, "卅": 3}
_VALUES = {"零": 0, "两": 2, "兩": 2, **{sign: value for value, sign in enumerate("〇一二三四五六七八九")}}

Number = tuple[int, int, bool]
"""Where a number begins and ends, and whether a word stands before it that says what it is."""


def find_numbers(folded: str, text: str, leads: Words[None]) -> list[Number]:
    """The numbers of a text, in order.

    Args:
        folded: The text as it is searched.
        text: The same as it stands.
        leads: Words that say what the number behind them is, behind blanks or a few marks.
    """
    number = _ANY_DIGITS if has_han(folded) else _DIGITS
    return [(*match.span(), _is_led(folded, text, match.start(), leads)) for match in number.finditer(folded)]


def small_number(text: str) -> int:
    """A number below a hundred in digits or ideographs; 0 where it is neither.

    >>> small_number("07"), small_number("二十九"), small_number("十"), small_number("")
    (7, 29, 10, 0)
    """
    if text.isdecimal():
        return int(text)
    total = 0
    for character in text:
        if character in _TENS:
            total = (total or 1) * 10 if character == "十" else _TENS[character] * 10
        else:
            total += _VALUES.get(character, 0)
    return total


def decimal_amount(text: str) -> str:
    """A plain decimal number, with the decimals as they stand: 25.00 is not 25.

    The last mark is the decimal one where it differs from the marks before it, where other than three digits follow,
    or where nothing but a zero stands before it.

    >>> [decimal_amount(text) for text in ("1.299,00", "1,299", "2'299.5", "123,456.789", "0.750", "1 200")]
    ['1299.00', '1299', '2299.5', '123456.789', '0.750', '1200']
    """
    digits = re.sub(r"[’' ]", "", text)
    mark = max(",.", key=digits.rfind)
    head, _, tail = digits.rpartition(mark) if mark in digits else (digits, "", "")
    other = "," if mark == "." else "."
    if mark in head or (len(tail) == 3 and other not in head and head != "0"):
        head, tail = head + tail, ""
    whole = int(re.sub(r"[.,]", "", head))
    return f"{whole}.{''.join(str(int(digit)) for digit in tail)}" if tail else str(whole)


def _is_led(folded: str, text: str, start: int, leads: Words[None]) -> bool:
    end = start
    while end and start - end < 2 and folded[end - 1].isspace():
        end -= 1
    if leads.before(folded, text, end):
        return True
    while end and start - end < 4 and folded[end - 1] in _LEAD_MARKS:
        end -= 1
    return bool(leads.before(folded, text, end))
