"""A folded text, and known words beside a place in it: the month before a day, the currency after an amount.

Looking only where a number stands is what keeps the search for details fast: most text has no number in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from handlers.text.scripts import is_ideographic

Kind = Literal["date", "time", "place", "price"]
V = TypeVar("V")

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


@dataclass(frozen=True, slots=True)
class Reading:
    """A text, and the same folded: offsets hold in both."""

    text: str
    folded: str

    def skip_blanks(self, start: int, most: int = 2) -> int:
        """Where the next character stands that is no blank, at most a few on."""
        while most and self.folded[start : start + 1] in (" ", "\n", "\t"):
            start, most = start + 1, most - 1
        return start

    def skip_blanks_back(self, end: int, most: int = 2) -> int:
        """Where the text before ends without blanks."""
        while most and end > 0 and self.folded[end - 1].isspace():
            end, most = end - 1, most - 1
        return end

    def is_inside_number(self, start: int, *, has_lead: bool) -> bool:
        """Whether a number is part of what stands before it: the decimals of 3.5, the code of a colour."""
        before = self.folded[start - 1]
        if before in ".,:/":
            return self.folded[start - 2].isdecimal()
        return not has_lead and "a" <= before <= "z" and self.folded[start].isdecimal()

    def stands_alone(self, start: int, end: int, floor: int) -> bool:
        """Whether a span is no part of a longer word or number, such as an IP address or a product code.

        Args:
            start: Where the span begins.
            end: Where it ends.
            floor: Where the detail before it ends: a sign between two details, as in 9:00-10:00, joins neither.
        """
        folded = self.folded
        if start > floor + 1 or not floor:
            before = folded[start - 1 : start]
            if folded[start].isdecimal() and (_joins(before) or (before in ".,:/-+" and _digit(folded, start - 2))):
                return False
        after = folded[end : end + 1]
        if after and folded[end - 1].isdecimal():
            # In ISO 8601 a "t" stands between day and time, and a "z" behind them.
            is_instant = after == "z" and not folded[end + 1 : end + 2].isalnum()
            joins = _joins(after) and not is_instant and not (after == "t" and _digit(folded, end + 1))
            return not (joins or (after in ".,:/" and _digit(folded, end + 1)))
        return True


class Words(Generic[V]):
    """Known words with what they mean, found by where they end or begin.

    A word written with capitals counts only as written; every other word in any case. A word in letters is not found as
    a part of a longer word; signs and ideographs are.
    """

    def __init__(self, meanings: Mapping[str, V]) -> None:
        """Sorts the words by their first and by their last two characters, the longest first."""
        self._meanings = dict(meanings)
        self._by_begin: dict[str, list[tuple[str, str]]] = {}
        self._by_end: dict[str, list[tuple[str, str]]] = {}
        for word in sorted(meanings, key=lambda word: (-len(word), word)):
            low = word.lower()
            self._by_begin.setdefault(low[:2], []).append((low, word))
            self._by_end.setdefault(low[-2:], []).append((low, word))

    def __iter__(self) -> Iterator[str]:
        """The words as in the list."""
        return iter(self._meanings)

    def __getitem__(self, word: str) -> V:
        """What a word means that was found."""
        return self._meanings[word]

    def get(self, word: str, default: V) -> V:
        """What a word means, written as in the list."""
        return self._meanings.get(word, default)

    def __contains__(self, word: str) -> bool:
        """Whether the word is known as written."""
        return word in self._meanings

    def before(self, folded: str, text: str, end: int) -> str:
        """The longest word that ends there, as in the list; "" where none does.

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
        """The longest word that begins there, as in the list; "" where none does.

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


def read_text(text: str) -> Reading:
    """Folds a text for the detectors.

    >>> read_text("８：３０ ＰＭ").folded
    '8:30 pm'
    """
    folded = fold(text)
    if not folded.isascii():
        for wide in _NARROW.keys() & set(folded):
            folded = folded.replace(wide, _NARROW[wide])
    return Reading(text, folded)


def fold(text: str) -> str:
    """Lower case of the same length, so that offsets hold in both.

    >>> fold("8 PM"), len(fold("İzmir"))
    ('8 pm', 5)
    """
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(low if len(low := c.lower()) == 1 else c for c in text)


def alternatives(words: Iterable[str]) -> str:
    """An expression for any of the words, the longest first, so that "nt$" is not read as "nt".

    Words are grouped by their first characters: the engine then looks at a few of them at each place, not at all.
    """
    known = sorted(set(words), key=lambda word: (-len(word), word))
    # No words at all match nothing, where an empty expression would match everywhere.
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
