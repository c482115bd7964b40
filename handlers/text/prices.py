"""Prices in a text (R-035, C-06). An amount alone is no price, and what reads as a word is no currency."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from handlers.text.numbers import AMOUNT, decimal_amount
from handlers.text.words import Detail, Reading

if TYPE_CHECKING:
    from handlers.text.patterns import DetailPatterns

_ROUND = re.compile(r",-{1,2}|\.-{1,2}|,—|\.?/-")
_CENTS = re.compile(r"\d\d(?![\d.,])")
_EXACT = re.compile(r"[.,]\d\d")
_SCALE_LETTERS = {"k": 1e3, "m": 1e6, "b": 1e9}
_LABEL_REACH = 3


def read_price(reading: Reading, start: int, floor: int, patterns: DetailPatterns, *, has_lead: bool) -> Detail | None:
    """The price whose amount begins at ``start``, with the currency beside it or behind a word for prices.

    The value is the amount as a plain decimal number and the currency, as ``25 $`` or ``199.50 DKK``.

    Args:
        reading: The text.
        start: Where a number begins.
        floor: Where the detail before it ends: nothing before belongs to this one.
        patterns: How prices are written.
        has_lead: Whether a word may stand before the amount.
    """
    folded = reading.folded
    if not (match := AMOUNT.match(folded, start)):
        return None
    written, end = match.group(), match.end()
    if folded[start - 1 : start] == "." and not folded[start - 2 : start - 1].isdecimal():
        # A decimal mark with nothing before it: $.75.
        written, start = f"0.{written}", start - 1
    first, sign = _before(reading, start, floor, patterns) if has_lead else (start, "")
    after, scale, name = _after(reading, end, patterns)
    name = name if not sign or _says_more(sign, name, patterns) else ""
    word = name or sign
    if word in patterns.doubtful_currencies and scale == 1 and not _EXACT.search(written):
        return None
    if not word and not (has_lead and _has_label(reading, start, floor, patterns)):
        return None
    if not _is_whole(reading, first, start, end, floor, sign):
        return None
    amount = decimal_amount(written)
    if not name and scale == 1:
        after = end
    if "." not in amount and folded[end : end + 1] == "€" and (cents := _CENTS.match(folded, end + 1)):
        amount, after = f"{amount}.{cents.group()}", cents.end()
    if scale != 1:
        amount = f"{float(amount) * scale:.12g}" if float(amount) * scale < 1e12 else f"{float(amount) * scale:.0f}"
    code = patterns.all_currencies[word] if word else ""
    return Detail("price", first, after, f"{amount} {code}".rstrip())


def _before(reading: Reading, start: int, floor: int, patterns: DetailPatterns) -> tuple[int, str]:
    """The currency before an amount and where it begins, with a code before the sign as in ``NZD $5``."""
    end = reading.skip_blanks_back(start)
    sign = patterns.currencies.before(reading.folded, reading.text, end)
    first = end - len(sign)
    if not sign or first < floor:
        return start, ""
    code_end = reading.skip_blanks_back(first, 1)
    code = patterns.currencies.before(reading.folded, reading.text, code_end)
    if code and code_end - len(code) >= floor and _says_more(sign, code, patterns):
        return code_end - len(code), code
    return first, sign


def _after(reading: Reading, end: int, patterns: DetailPatterns) -> tuple[int, float, str]:
    """Where an amount ends with its scale and currency, the scale, and the currency; the scale may stand last."""
    folded, text = reading.folded, reading.text
    if rounded := _ROUND.match(folded, end):
        end = rounded.end()
    end, scale = _scales(reading, end, patterns)
    place = reading.skip_blanks(end)
    if not (name := patterns.all_currencies.after(folded, text, place)):
        return end, scale, ""
    end = place + len(name)
    more = patterns.all_currencies.after(folded, text, end)
    if more and _says_more(name, more, patterns):
        name, end = more, end + len(more)
    if scale == 1:
        end, scale = _scales(reading, end, patterns)
    return end, scale, name


def _scales(reading: Reading, end: int, patterns: DetailPatterns) -> tuple[int, float]:
    folded, text = reading.folded, reading.text
    scale = 1.0
    for _ in range(2):
        place = reading.skip_blanks(end)
        if word := patterns.scales.after(folded, text, place):
            scale, end = scale * patterns.scales[word], place + len(word)
            continue
        letter = _SCALE_LETTERS.get(folded[place : place + 1])
        if letter and not patterns.all_currencies.after(folded, text, place):
            # A letter close by, as in $5m, or with the currency behind it, as in 30 MUSD.
            is_end = place == end and not folded[place + 1 : place + 2].isalnum()
            if is_end or patterns.all_currencies.after(folded, text, place + 1):
                return place + 1, scale * letter
        break
    return end, scale


def _says_more(sign: str, name: str, patterns: DetailPatterns) -> bool:
    """Whether a currency beside a sign that several share names one of them."""
    if not name or not sign:
        return bool(name)
    return not _is_code(patterns.all_currencies[sign]) and _is_code(patterns.all_currencies[name])


def _is_code(code: str) -> bool:
    return len(code) == 3 and code.isascii() and code.isalpha()


def _has_label(reading: Reading, start: int, floor: int, patterns: DetailPatterns) -> bool:
    end = start
    while end > floor and start - end < _LABEL_REACH and reading.folded[end - 1] in " :":
        end -= 1
    return ":" in reading.folded[end:start] and bool(patterns.price_labels.before(reading.folded, reading.text, end))


def _is_whole(reading: Reading, first: int, start: int, end: int, floor: int, sign: str) -> bool:
    """Whether an amount is no part of a longer number or word."""
    folded = reading.folded
    if start and not sign and (start > floor + 1 or not floor) and folded[start].isdecimal():
        before = folded[start - 1]
        if (before.isalnum() and before.isascii()) or (before in ".,:/" and folded[start - 2 : start - 1].isdecimal()):
            return False
    if first and folded[first].isalpha() and folded[first - 1].isdecimal() and first > floor:
        return False
    after = folded[end : end + 1]
    return not (after.isdecimal() or (after and after in ".,:/" and folded[end + 1 : end + 2].isdecimal()))
