"""Numbers as they are written: digits of any script, ideographs, thousands and decimals.

In: the characters of a number. Out: its value. Amounts keep their decimals as they stand: ``25.00`` is not ``25``.
"""

from __future__ import annotations

import re

NUMERALS = "〇零一二三四五六七八九十廿卅两兩"
"""The characters that ideographic numbers below a hundred are written with."""

# Grouped by thousands, the Indian way, or plain. Groups have a fixed length: one never runs into the number after it.
AMOUNT = re.compile(
    r"\d{1,3}(?:(?:[.,’' ]\d{3}){1,5}(?!\d)(?:[.,]\d{1,2}(?!\d)|\.\d{3}(?!\d))?|(?:,\d\d){1,3},\d{3}(?:\.\d\d?)?(?!\d))"
    r"|\d{1,24}(?:[.,]\d{1,20})?"
)

_TENS = {"十": 1, "廿": 2, "卅": 3}
_DIGITS = {"零": 0, "两": 2, "兩": 2, **{sign: value for value, sign in enumerate("〇一二三四五六七八九")}}


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
            total += _DIGITS.get(character, 0)
    return total


def decimal_amount(text: str, *, decimals: int = 2) -> str:
    """A plain decimal number, with the decimals as they stand.

    The last mark is the decimal one where it differs from the marks before it, where other than three digits follow,
    or where nothing but a zero stands before it. Of a single mark with three digits the currency decides.

    Args:
        text: Digits with marks, as ``AMOUNT`` finds them.
        decimals: How many decimals the currency has; three make 1.250 one and a quarter.

    >>> [decimal_amount(text) for text in ("1.299,00", "1,299", "2'299.5", "123,456.789", "0.750", "1 200")]
    ['1299.00', '1299', '2299.5', '123456.789', '0.750', '1200']
    """
    digits = re.sub(r"[’' ]", "", text)
    head, mark, tail = digits.rpartition("." if digits.rfind(".") > digits.rfind(",") else ",")
    if mark:
        other = "," if mark == "." else "."
        is_decimal = len(tail) != 3 or other in head or head == "0" or (decimals == 3 and mark not in head)
        if mark in head or not is_decimal:
            head, tail = head + tail, ""
    else:
        head, tail = digits, ""
    head = re.sub(r"[.,]", "", head)
    fraction = "".join(str(int(digit)) for digit in tail)
    return f"{int(head)}.{fraction}" if fraction else str(int(head))
