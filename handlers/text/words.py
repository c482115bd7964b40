"""A folded text, known words beside a place in it, and its numbers: where details are looked for.

A search that looks only where a number is stays fast, since most text has no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from handlers.text.scripts import has_han, is_ideographic

if TYPE_CHECKING:
    from handlers.text.patterns import DetailPatterns

Kind = Literal["date", "time", "place", "price"]
Number = tuple[int, int, bool]
"""Where a number begins and ends, and whether a word before it says what it is."""
_Meaning = TypeVar("_Meaning")

NUMERALS = "〇零一二三四五六七八九十廿卅两兩"
"""The characters that ideographic numbers below a hundred are written with."""
_TENS = {"十": 1, "廿": 2, "卅": 3}
_VALUES = {"零": 0, "两": 2, "兩": 2, **{sign: value for value, sign in enumerate("〇一二三四五六七八九")}}
# The first character is a class of its own: the engine then looks for it in one go.
_DIGITS = re.compile(r"[0-9\u0660-\U0010ffff](?<=\d)\d*+")
# Ideographic numbers are too common in prose to look at each; days and times that use them have one of these signs.
_ANY_DIGITS = re.compile(rf"[\d{NUMERALS}](?:(?<=\d)\d*+|(?<!\d)[{NUMERALS}]{{0,3}}(?=\s?[年月点點时時]))")
_LEAD_MARKS = " \n.,-/':"
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) != "，"}
_NARROW |= dict(zip("￠￡￥￦～〜", "¢£¥₩--", strict=True))
_NARROW |= dict.fromkeys(map(chr, (0x3000, 0xA0, 0x202F, *range(0x2000, 0x200B))), " ")
_NARROW |= dict.fromkeys(map(chr, (*range(0x2010, 0x2016), 0x2212)), "-")
"""Full-width signs as narrow ones, except the comma, which divides clauses; blanks and dashes of every width."""
_GROUP_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Detail:
    """A date, time, place or price; ``value`` as ``find_evidence`` describes it."""

    kind: Kind
    start: int
    end: int
    value: str | None


class Words(Generic[_Meaning]):
    """Known words with their meanings, found by their end or beginning.

    A word with a capital is found only as written, every other word in any case. A word in letters is not found as a
    part of a longer word; signs and ideographs are.
    """

    def __init__(self, meanings: Mapping[str, _Meaning]) -> None:
        """Sorts the words by their first and by their last two characters, the longest first."""
        self._meanings = dict(meanings)
        self._by_begin: dict[str, list[tuple[str, str]]] = {}
        self._by_end: dict[str, list[tuple[str, str]]] = {}
        for word in sorted(meanings, key=lambda word: (-len(word), word)):
            low = word.lower()
            self._by_begin.setdefault(low[:2], []).append((low, word))
            self._by_end.setdefault(low[-2:], []).append((low, word))

    def __iter__(self) -> Iterator[str]:
        return iter(self._meanings)

    def __getitem__(self, word: str) -> _Meaning:
        return self._meanings[word]

    def __contains__(self, word: str) -> bool:
        return word in self._meanings

    def before(self, folded: str, text: str, end: int) -> str:
        """The longest word that ends there, as in the list; "" if none does.

        >>> Words({"nov": 11, "R": 0}).before("29 nov", "29 Nov", 6)
        'nov'
        """
        for key in (folded[max(0, end - 2) : end], folded[max(0, end - 1) : end]):
            for low, word in self._by_end.get(key, ()):
                start = end - len(low)
                if start < 0 or not folded.startswith(low, start) or (start and _joined(folded[start - 1], low[0])):
                    continue
                if low == word or text.startswith(word, start):
                    return word
        return ""

    def after(self, folded: str, text: str, start: int) -> str:
        """The longest word that begins there, as in the list; "" if none does.

        >>> Words({"kr": "kr", "kr.": "kr"}).after("199 kr. i alt", "199 kr. i alt", 4)
        'kr.'
        """
        for key in (folded[start : start + 2], folded[start : start + 1]):
            for low, word in self._by_begin.get(key, ()):
                end = start + len(low)
                if not folded.startswith(low, start) or (end < len(folded) and _joined(folded[end], low[-1])):
                    continue
                if low == word or text.startswith(word, start):
                    return word
        return ""


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


def fold(text: str) -> str:
    """Lower case of the same length, so that offsets hold in both.

    >>> fold("8 PM"), len(fold("İzmir"))
    ('8 pm', 5)
    """
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(low if len(low := c.lower()) == 1 else c for c in text)


def small_number(text: str) -> int:
    """A number below a hundred in digits or ideographs; 0 if it is neither.

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


def alternatives(words: Iterable[str]) -> str:
    """An expression for any of the words, the longest first, so that "nt$" is not read as "nt".

    Words are grouped by their first characters: the engine then looks at a few of them at each place, not at all.
    """
    known = sorted(set(words), key=lambda word: (-len(word), word))
    # No words at all match nothing. An empty expression would match everywhere.
    return _branches(known, 0) if known else r"(?!)"


def _branches(words: list[str], depth: int) -> str:
    if len(words) == 1 or depth == _GROUP_DEPTH:
        return "|".join(re.escape(word[depth:]) for word in words)
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[depth : depth + 1], []).append(word)
    ends = groups.pop("", None)
    branches = [f"{re.escape(first)}(?:{_branches(group, depth + 1)})" for first, group in groups.items()]
    # A word that ends here is tried after those that go on.
    return "|".join([*branches, ""] if ends else branches)


def _joined(outside: str, inside: str) -> bool:
    return outside.isalpha() and inside.isalpha() and not is_ideographic(outside) and not is_ideographic(inside)


def _digit(folded: str, place: int) -> bool:
    return 0 <= place < len(folded) and folded[place].isdecimal()


def _joins(character: str) -> bool:
    return character.isdecimal() or (character.isascii() and (character.isalpha() or character == "_"))
