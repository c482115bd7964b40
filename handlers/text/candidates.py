"""The numbers of a text that may say something: those with a word beside them that makes them a date, time or price.

In: the words and expressions of the pattern packs, then a text. Out: where its numbers stand, and whether to look at
them. Most numbers on the web count something, or are a part of program text: to pass them over costs less than reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from handlers.text.numbers import NUMERALS
from handlers.text.words import Words, alternatives

# The first character is a class of its own: the engine then looks for it in one go.
_DIGITS = r"[0-9\u0660-\U0010ffff](?<=\d)\d*+"
# Ideographic numbers are too common in prose to look at each; days and times that use them have one of these signs.
_ANY_DIGITS = rf"[\d{NUMERALS}](?:(?<=\d)\d*+|(?<!\d)[{NUMERALS}]{{0,3}}(?=\s?[年月点點时時]))"
# Marks and blanks that may stand between a number and a word that belongs to it; all others end a clause.
_BETWEEN = r"[\s.,:/'’°-]{0,6}+"
# Between the numbers of a date, of a range, of a time, of thousands.
_NEXT_NUMBER = r"(?:\.?\s?[./:'’-]{1,2}\s?|[,\s])?\d"
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
# What must not follow, with one group inside; names of groups, placeholders, classes such as \d.
_NO_LITERAL = re.compile(r"\(\?!(?:[^()]|\([^()]*\))*\)|\(\?P<\w+>|%\w+%|\\.")
_LETTERS = re.compile(r"[a-z]+")
_CLASS = re.compile(r"\[([^\]]*)\]")
_MARKS = ".,-/':"
_LEAD_MARKS = f" \n{_MARKS}"
_AROUND = f" \n\t\r{_MARKS}"
_BLANKS_BETWEEN = 2
_LEAD_REACH = 4
_LONGEST_REACH = 9
_LOOK = 3

Candidate = tuple[int, int, bool]
"""Where a number begins and ends, and whether a word stands before it that says what it is."""


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
        follow = rf"{_NEXT_NUMBER}|{_BETWEEN}(?:(?=[^\x00-\x7f])\w|{alternatives(starts)}|{word})"
        # The empty group says that it follows.
        self._plain, self._any = (re.compile(rf"{number}(?:(?={follow})())?") for number in (_DIGITS, _ANY_DIGITS))
        self._leads = leads
        ends = {word.lower().rstrip(_MARKS)[-_LOOK:] for word in leads}
        self._lead_ends = frozenset(end for end in ends if len(end) == _LOOK)
        self._short_leads = ends - self._lead_ends

    def find(self, folded: str, text: str) -> tuple[list[tuple[int, int]], list[Candidate]]:
        """Where all numbers begin and end, in order; and those that may say something."""
        number = self._plain if folded.isascii() or not _IDEOGRAPH.search(folded) else self._any
        spans: list[tuple[int, int]] = []
        candidates: list[Candidate] = []
        lead_ends, short_leads = self._lead_ends, self._short_leads
        for match in number.finditer(folded):
            span = start, end = match.span()
            spans.append(span)
            # A look at the last characters before it costs little, and finds no lead before most numbers.
            before = folded[max(0, start - _LONGEST_REACH) : start].rstrip(_AROUND)
            may_be_led = before[-_LOOK:] in lead_ends or before[-2:] in short_leads or before[-1:] in short_leads
            is_led = may_be_led and self._is_led(folded, text, start)
            if is_led or match.lastindex:
                candidates.append((start, end, is_led))
        return spans, candidates

    def _is_led(self, folded: str, text: str, start: int) -> bool:
        """Whether a word that says what a number is stands before it, behind blanks or behind a few marks."""
        end = start
        while end and start - end < _BLANKS_BETWEEN and folded[end - 1].isspace():
            end -= 1
        if self._leads.before(folded, text, end):
            return True
        end = start
        while end and start - end < _LEAD_REACH and folded[end - 1] in _LEAD_MARKS:
            end -= 1
        return bool(self._leads.before(folded, text, end))


def _literals(expression: str) -> Iterable[str]:
    """Letters that stand in an expression as they are: words, and each letter of a class."""
    plain = _NO_LITERAL.sub(" ", expression)
    singles = _LETTERS.findall(" ".join("".join(_CLASS.findall(plain))))
    return {*singles, *_LETTERS.findall(_CLASS.sub(" ", plain))}
