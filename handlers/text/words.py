"""Known words, phrases and shapes, which are found in a folded text; and numbers that are written in words.

A search that looks only where a number is stays fast, since most text has no number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, Literal, TypeVar

import regex

from handlers.text.scripts import HAN, has_han, is_ideographic

Kind = Literal["date", "time", "place", "price"]
AskedKind = Literal[Kind, "name", "number"]
DayPart = Literal["am", "pm", "noon", "night"]
Number = tuple[int, int, bool]
"""Where a number begins and ends, and whether a word before it says what it is."""
_Meaning = TypeVar("_Meaning")

NUMERALS = "〇零一二三四五六七八九十廿卅两兩"
"""The characters that ideographic numbers below a hundred are written with."""
_TENS = {"十": 1, "廿": 2, "卅": 3}
_VALUES = {"零": 0, "两": 2, "兩": 2, **{sign: value for value, sign in enumerate("〇一二三四五六七八九")}}
_GROUP_DEPTH = 3
_WORD_OR_HAN = regex.compile(rf"[{HAN}]|[^\W\d_{HAN}]+")
LETTERS, TERM = re.compile(r"[^\W\d_]+"), re.compile(r"[^\W_]+")
"""A word of letters; a word or a number."""
_ASCII_WORD = re.compile("[a-z]+")
_GROUP = re.compile(r"\(\?P<(\w+)>")
_CUED = "(?P<cued>)"


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


class Phrases:
    """Phrases to be found in a list of words; signs between words, such as a hyphen, make no difference."""

    def __init__(self, phrases: Iterable[str]) -> None:
        """Sorts the phrases by their first word, the longest first."""
        self._by_first: dict[str, list[list[str]]] = {}
        for phrase in sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase)):
            if words := split_words(phrase.lower()):
                self._by_first.setdefault(words[0], []).append(words)
        self.firsts = frozenset(self._by_first)
        """The words that a phrase may begin with."""

    def find(self, words: list[str], places: Iterable[int] | None = None) -> list[tuple[str, ...]]:
        """The phrases in a text's words, in order, the longest at each place.

        Args:
            words: The text's words.
            places: Where to look, if the places of ``firsts`` are known.

        >>> Phrases(["read more", "view event"]).find(split_words("jazz: read more, view-event"))
        [('read', 'more'), ('view', 'event')]
        """
        found: list[tuple[str, ...]] = []
        if places is None:
            places = itertools.compress(itertools.count(), map(self.firsts.__contains__, words))
        for place in places:
            for phrase in self._by_first.get(words[place], ()):
                if words[place : place + len(phrase)] == phrase:
                    found.append(tuple(phrase))
                    break
        return found


class Shapes:
    """Several expressions tried at one place, the first that matches wins."""

    def __init__(self, expressions: Iterable[str]) -> None:
        """Joins the expressions; each keeps groups of its own."""
        # What needs a cue says least: it is tried last.
        ordered = sorted(expressions, key=lambda expression: _CUED in expression)
        # No expressions at all match nothing, where an empty one would match everywhere.
        self._joined = re.compile(with_own_groups("|".join(f"(?:{text})" for text in ordered) or r"(?!)"))
        self._groups = {number: group.rpartition("_")[0] for group, number in self._joined.groupindex.items()}

    def match(self, text: str, start: int) -> tuple[int, dict[str, str]] | None:
        r"""Where the match ends and its groups; None without a match.

        >>> Shapes([r"(?P<year>\d{4})-(?P<month>\d\d)"]).match("in 2024-11", 3)
        (10, {'year': '2024', 'month': '11'})
        """
        if (match := self._joined.match(text, start)) is None:
            return None
        groups = zip(self._groups.values(), match.groups(), strict=True)
        return match.end(), {name: value for name, value in groups if value is not None}


def split_words(text: str) -> list[str]:
    """The words of a lower-case text; an ideograph is a word of its own, a number is no word."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return (_WORD_OR_HAN if has_han(text) else LETTERS).findall(text)


def with_own_groups(expression: str) -> str:
    """The expression with a number after each group's name: several branches may have the same name."""
    count = itertools.count()
    return _GROUP.sub(lambda group: f"(?P<{group[1]}_{next(count)}>", expression)


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


def one_of(words: Iterable[str], ending: str = "") -> re.Pattern[str]:
    """An expression for one of some words, as a whole word where a script has spaces; ``ending``: behind such a word.

    >>> one_of(["day", "日"], ending="s?").findall("days of 毎日 today")
    ['days', '日']
    """
    known = list(words)
    ideographic = [word for word in known if any(map(is_ideographic, word))]
    others = alternatives(word for word in known if word not in ideographic)
    return re.compile(rf"(?<!\w)(?:{others}){ending}(?!\w)|{alternatives(ideographic)}")


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
