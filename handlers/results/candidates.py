"""The numbers of a text that may say something: those with a word beside them that makes them a date, time or price.

In: the words and expressions of the pattern packs, then a text. Out: where its numbers stand, and whether to look at
them. Most numbers on the web count something, or are a part of program text: to pass them over costs less than reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from handlers.results.numbers import NUMERALS
from handlers.results.words import Words, alternatives

# The first character is a class of its own: the engine then looks for it in one go.
_NUMBER = r"\d\d*"
# Ideographic numbers are too common in prose to look at each; days and times that use them have one of these signs.
_ANY_NUMBER = rf"[\d{NUMERALS}](?:(?<=\d)\d*|(?<!\d)[{NUMERALS}]{{0,3}}(?=\s?[年月点點时時]))"
# Marks and blanks that may stand between a number and what belongs to it; none of them closes a clause.
_BETWEEN = r"[^\w()\[\]{}|<>;!?%·•\"“”》）】、。「」]{0,6}"
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
# What must not follow, with one group inside; names of groups, placeholders, classes such as \d.
_NO_LITERAL = re.compile(r"\(\?!(?:[^()]|\([^()]*\))*\)|\(\?P<\w+>|%\w+%|\\.")
_LETTERS = re.compile(r"[a-z]+")
_CLASS = re.compile(r"\[([^\]]*)\]")
_BLANKS, _MARKS = " \n\t\r", ".,-/':"
_LEAD_REACH = 4
_LONGEST_REACH = 8

FoundNumber = tuple[int, int, bool]
"""Where a number begins and ends, and whether something may follow that says what it is."""


class NumberFinder:
    """Finds numbers, and tells those apart that nothing beside them makes a date, a time or a price."""

    def __init__(
        self,
        leads: Words[None],
        followers: Iterable[str],
        letters: Iterable[str],
        beginnings: Iterable[str],
        expressions: Iterable[str],
    ) -> None:
        """Compiles what to look for.

        Args:
            leads: Words before a number.
            followers: Words behind a number that are no part of a longer word.
            letters: What may stand between it and such a word, as the "m" of 30 MUSD.
            beginnings: Words behind a number that others may begin with.
            expressions: What else may follow; the letters that it looks for stand in it as they are.
        """
        words = {word.lower() for word in followers}
        starts = {word.lower() for word in beginnings}.union(*map(_literals, expressions))
        whole = alternatives(word for word in words if word[-1:].isalpha())
        signs = alternatives(word for word in words if not word[-1:].isalpha())
        # Another script is left to the readers: it has its words without blanks between them.
        word = rf"(?:{alternatives(letters)})?(?:{signs}|(?:{whole})(?![a-z]))"
        follow = rf"{_BETWEEN}(?:\d|(?=[^\x00-\x7f])\w|{alternatives(starts)}|{word})"
        self._plain = re.compile(rf"{_NUMBER}(?:(?={follow})())?")
        self._any = re.compile(rf"{_ANY_NUMBER}(?:(?={follow})())?")
        self._leads = leads
        self._lead_ends = frozenset(word.lower().rstrip(_MARKS)[-2:] for word in leads)

    def find(self, folded: str) -> list[FoundNumber]:
        """All numbers, in order."""
        number = self._plain if folded.isascii() or not _IDEOGRAPH.search(folded) else self._any
        return [(*match.span(), match.lastindex is not None) for match in number.finditer(folded)]

    def has_lead(self, folded: str, text: str, start: int) -> bool:
        """Whether a word that says what a number is stands before it: what most numbers have not."""
        head = folded[max(0, start - _LONGEST_REACH) : start].rstrip(_BLANKS + _MARKS)
        if head[-2:] not in self._lead_ends and head[-1:] not in self._lead_ends:
            return False
        end = start
        while end and start - end < 2 and folded[end - 1].isspace():
            end -= 1
        if self._leads.before(folded, text, end):
            return True
        end = start
        while end and start - end < _LEAD_REACH and folded[end - 1] in " .,-/':\n":
            end -= 1
        return bool(self._leads.before(folded, text, end))


def _literals(expression: str) -> Iterable[str]:
    """Letters that stand in an expression as they are: words, and each letter of a class."""
    plain = _NO_LITERAL.sub(" ", expression)
    singles = _LETTERS.findall(" ".join("".join(_CLASS.findall(plain))))
    return {*singles, *_LETTERS.findall(_CLASS.sub(" ", plain))}
