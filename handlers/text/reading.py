"""A text that is read for details: the text, the same folded, and the words around a place; and what a detail is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from handlers.text.patterns import DetailPatterns
from handlers.text.scripts import has_han
from handlers.text.words import NUMERALS, Number, Words, fold

# Ideographic numbers are too common in prose to look at each; days and times that use them have one of these signs.
_ANY_DIGITS = re.compile(rf"[\d{NUMERALS}](?:(?<=\d)\d*+|(?<!\d)[{NUMERALS}]{{0,3}}(?=\s?[年月点點时時]))")
# The first character is a class of its own: the engine then looks for it in one go.
_DIGITS = re.compile(r"[0-9\u0660-\U0010ffff](?<=\d)\d*+")
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) != "，"}
_NARROW |= dict(zip("￠￡￥￦～〜", "¢£¥₩--", strict=True))
_NARROW |= dict.fromkeys(map(chr, (0x3000, 0xA0, 0x202F, *range(0x2000, 0x200B))), " ")
_NARROW |= dict.fromkeys(map(chr, (*range(0x2010, 0x2016), 0x2212)), "-")
"""Full-width signs as narrow ones, except the comma, which divides clauses; blanks and dashes of every width."""
_LEAD_MARKS = " \n.,-/':"


class Day(NamedTuple):
    """A day as it is named: without a year the year is None; None for day and month if they can't be told apart."""

    year: int | None
    month: int | None
    day: int | None


class Clock(NamedTuple):
    """A time on the clock of 24 hours."""

    hour: int
    minute: int


class Price(NamedTuple):
    """A plain decimal number, and what it counts: a currency's code, the sign that several share, or "" for nothing."""

    amount: str
    unit: str


class Place(NamedTuple):
    """A place by its words."""

    name: str


_Value = TypeVar("_Value", bound=Day | Clock | Price | Place, covariant=True)


@dataclass(frozen=True, slots=True)
class Detail(Generic[_Value]):
    """What is said in a text from ``start`` to ``end``."""

    start: int
    end: int
    value: _Value


AnyDetail = Detail[Day | Clock | Price | Place]


def is_currency_code(unit: str) -> bool:
    """Whether the unit of a price is one currency, by its ISO 4217 code.

    >>> is_currency_code("USD"), is_currency_code("$"), is_currency_code("som")
    (True, False, False)
    """
    return len(unit) == 3 and unit.isascii() and unit.isalpha() and unit.isupper()


@dataclass(frozen=True, slots=True)
class Reading:
    """A text, the same folded (offsets hold in both), and how details are written in it."""

    text: str
    folded: str
    patterns: DetailPatterns

    def before(self, words: Words[Any], end: int) -> str:
        """The longest of the words that ends there; "" if none does."""
        return words.before(self.folded, self.text, end)

    def after(self, words: Words[Any], start: int) -> str:
        """The longest of the words that begins there; "" if none does."""
        return words.after(self.folded, self.text, start)

    def numbers(self) -> list[Number]:
        """The numbers of the text, in order. A leading word may have blanks or a few marks behind it."""
        number = _ANY_DIGITS if has_han(self.folded) else _DIGITS
        return [(*match.span(), self._is_led(match.start())) for match in number.finditer(self.folded)]

    def _is_led(self, start: int) -> bool:
        leads, end = self.patterns.leads, self.skip_blanks_back(start)
        if leads.before(self.folded, self.text, end):
            return True
        further = self.skip_back(end, 4 - (start - end), _LEAD_MARKS)
        return further < end and bool(leads.before(self.folded, self.text, further))

    def skip_blanks(self, start: int, most: int = 2) -> int:
        """The place of the next character that is no blank, at most a few on."""
        while most and self.folded[start : start + 1] in (" ", "\n", "\t"):
            start, most = start + 1, most - 1
        return start

    def skip_blanks_back(self, end: int, most: int = 2) -> int:
        """The end of the text before a place without its last blanks."""
        while most and end > 0 and self.folded[end - 1].isspace():
            end, most = end - 1, most - 1
        return end

    def skip_back(self, end: int, most: int, marks: str, floor: int = 0) -> int:
        """The end of the text before a place without its last marks, not before ``floor``."""
        while most and end > floor and self.folded[end - 1] in marks:
            end, most = end - 1, most - 1
        return end

    def is_free(self, number: Number, floor: int) -> bool:
        """Whether a number may begin a detail: not in the detail before it, and no decimals of 3.5 or colour's code."""
        start, _, has_lead = number
        if start < floor:
            return False
        before = self.folded[start - 1]
        if start <= floor + 1:
            return True
        if before in ".,:/":
            return not self.folded[start - 2].isdecimal()
        return has_lead or not ("a" <= before <= "z" and self.folded[start].isdecimal())

    def stands_alone(self, start: int, end: int, floor: int) -> bool:
        """Whether a span is no part of a longer word or number, such as an IP address or a product code.

        The detail before it ends at ``floor``. A sign between two details, as in 9:00-10:00, joins neither.
        """
        folded = self.folded
        if start > floor + 1 or not floor:
            before = folded[start - 1 : start]
            if folded[start].isdecimal() and (_joins(before) or (before in ".,:/-+" and _digit(folded, start - 2))):
                return False
        after = folded[end : end + 1]
        if after and folded[end - 1].isdecimal():
            # In ISO 8601 a "t" is between day and time, and a "z" behind them.
            is_instant = after == "z" and not folded[end + 1 : end + 2].isalnum()
            joins = _joins(after) and not is_instant and not (after == "t" and _digit(folded, end + 1))
            return not (joins or (after in ".,:/" and _digit(folded, end + 1)))
        return True


def read_text(text: str, patterns: DetailPatterns) -> Reading:
    """Folds a text for the detectors: ８：３０ ＰＭ is 8:30 pm."""
    folded = fold(text)
    if not folded.isascii():
        for wide in _NARROW.keys() & set(folded):
            folded = folded.replace(wide, _NARROW[wide])
    return Reading(text, folded, patterns)


def _joins(character: str) -> bool:
    return character.isdecimal() or (character.isascii() and (character.isalpha() or character == "_"))


def _digit(folded: str, place: int) -> bool:
    return 0 <= place < len(folded) and folded[place].isdecimal()
