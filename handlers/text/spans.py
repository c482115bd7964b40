"""A text as the detectors read it, and what they find in it.

In: text as it stands. Out: the same text folded, character by character, so that offsets hold in both: lower case,
full-width signs as their narrow ones, blanks of every width as one kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["date", "time", "place", "price"]

_WIDE = re.compile(r"[\uff01-\uff5e\uffe0-\uffe6\u3000\xa0\u2000-\u200a\u202f\u2010-\u2015\u2212\u301c]")
# A full-width comma divides clauses: it stays what it is.
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) != "，"}
_NARROW |= {"\uffe0": "¢", "\uffe1": "£", "\uffe5": "¥", "\uffe6": "₩", "\uff5e": "-", "\u301c": "-"}
_NARROW |= dict.fromkeys(map(chr, (0x3000, 0xA0, 0x202F, *range(0x2000, 0x200B))), " ")
_NARROW |= dict.fromkeys(map(chr, (*range(0x2010, 0x2016), 0x2212)), "-")


# The first year of a Japanese era is written with a word of its own.
_FIRST_YEAR = re.compile(r"(?<=[和成正治國国])元(?=年)")


@dataclass(frozen=True, slots=True)
class Detail:
    """Something concrete in a text; ``value`` as ``find_evidence`` describes it."""

    kind: Kind
    start: int
    end: int
    value: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A text, and the same folded."""

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
        """Whether a number is part of what stands before it and says nothing: the decimals of 3.5, a colour's code."""
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
            # A "t" between day and time is ISO 8601's, and so is a "z" behind them.
            is_instant = after == "z" and not folded[end + 1 : end + 2].isalnum()
            joins = _joins(after) and not is_instant and not (after == "t" and _digit(folded, end + 1))
            return not (joins or (after in ".,:/" and _digit(folded, end + 1)))
        return True


def read_text(text: str) -> Reading:
    """Folds a text for the detectors.

    >>> read_text("８：３０ ＰＭ").folded
    '8:30 pm'
    """
    folded = fold(text)
    if not folded.isascii():
        for wide in set(_WIDE.findall(folded)):
            folded = folded.replace(wide, _NARROW.get(wide, wide))
        if "元年" in folded:
            folded = _FIRST_YEAR.sub("1", folded)
    return Reading(text, folded)


def fold(text: str) -> str:
    """Lower case of the same length, so that offsets hold in both.

    >>> fold("8 PM"), len(fold("İzmir"))
    ('8 pm', 5)
    """
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _joins(character: str) -> bool:
    return character.isdecimal() or (character.isascii() and (character.isalpha() or character == "_"))


def _digit(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isdecimal()
