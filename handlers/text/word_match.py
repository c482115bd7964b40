"""Whether a text has the words of a query, their inflections, or other words with the same meaning.

Words are only compared, so no sentence on a page can give an instruction.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain, takewhile
from typing import NamedTuple

import regex

from handlers.text.scripts import CJK, has_cjk, is_ideographic

_TERM = regex.compile(rf"([{CJK}]+)|(\d{{1,30}})|([^\W\d_{CJK}][+#]{{1,3}}|[^\W\d_{CJK}]{{1,60}})")
"""Ideographs, numbers and words; C++ and C# are words."""
_IDEOGRAPHS = regex.compile(f"[{CJK}]+")
_GROUPED = re.compile(r"(?<=\d)[,.\u00a0\u202f](?=\d{3}(?!\d))")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_VOWELS, _ENDING = "aeiou", re.compile(r"s?\w{0,2}")
_LEAST_STEM, _LEAST_PREFIX, _LEAST_PLURAL, _LONGEST_ENDING = 4, 5, 3, 3
_DENSE, _DENSE_LIST, _OFTEN, _LEAST_REPETITIVE = 0.7, 0.45, 2, 12
"""Share of a text's words, with and without sentences, times that each occurs, and words of a text, from which on it
only repeats some."""
_IDEOGRAPH = 0.5
"""Weight of an ideograph."""
_NONE: Mapping[str, Sequence[str]] = {}


class Unit(NamedTuple):
    """A word or an ideograph of the query: its forms, the other words that meet it, and its weight."""

    forms: frozenset[str]
    others: tuple[str, ...]
    weight: float


class WordText:
    """A text to look words up in: the stems of its words, and its ideographs as written."""

    def __init__(self, text: str) -> None:
        self._folded = fold_words(text)
        self._stems = _stems(self._folded)
        self._known = frozenset(self._stems)
        self._sorted = sorted(self._known)
        self._joined = f" {' '.join(self._stems)} "

    def has(self, unit: Unit) -> bool:
        """Whether one of the unit's forms occurs, in the same or a longer inflection."""
        return any(self._has(form) for form in unit.forms) or any(self.phrase(other) for other in unit.others)

    def repeats(self, stems: Set[str], *, has_sentences: bool = True) -> bool:
        """Whether the text is little more than some words, again and again: it says nothing about them."""
        found = [stem for stem in self._stems if stem in stems]
        size = len(self._stems) + sum(map(len, _IDEOGRAPHS.findall(self._folded)))
        is_dense = len(found) >= (_DENSE if has_sentences else _DENSE_LIST) * size and size >= _LEAST_REPETITIVE
        return is_dense and len(found) >= _OFTEN * len(set(found))

    def begins(self, beginning: str) -> bool:
        """Whether a stem begins so."""
        place = bisect_left(self._sorted, beginning)
        return place < len(self._sorted) and self._sorted[place].startswith(beginning)

    def has_word(self, word: str) -> bool:
        """Whether a word occurs, in the same or a longer inflection."""
        return word != "" and self._has(stem_of(fold_words(word)))

    def phrase(self, phrase: str) -> bool:
        """Whether words occur one after another, or ideographs as written."""
        return (
            phrase in self._folded if has_cjk(phrase) else f" {' '.join(_stems(fold_words(phrase)))} " in self._joined
        )

    def _has(self, form: str) -> bool:
        if form in self._known:
            return True
        if is_ideographic(form[0]):
            return form in self._folded
        return self._has_plural(form) or self._has_inflection(form)

    def _has_plural(self, form: str) -> bool:
        """A short word keeps its "s" as a stem: tap, taps."""
        return len(form) >= _LEAST_PLURAL and (f"{form}s" in self._known or form.removesuffix("s") in self._known)

    def _has_inflection(self, form: str) -> bool:
        """Whether the longer of two stems begins with the shorter, or their last vowels differ: renewal, importi.

        An "s" that was no ending counts with the shorter: plads, pladsen.
        """
        if len(form) < _LEAST_PREFIX:
            return False
        ends = range(max(_LEAST_PREFIX, len(form) - _LONGEST_ENDING), len(form))
        if any(form[:end] in self._known and _ENDING.fullmatch(form[end:]) for end in ends):
            return True
        if form[-1] in _VOWELS and len(form) > _LEAST_PREFIX and any(f"{form[:-1]}{v}" in self._known for v in _VOWELS):
            return True
        following = takewhile(lambda word: word.startswith(form), self._sorted[bisect_left(self._sorted, form) :])
        return any(_ENDING.fullmatch(word, len(form)) for word in following)


def units_of(
    query: str, ignored: Set[str] = frozenset(), same_words: Mapping[str, Sequence[str]] = _NONE
) -> tuple[Unit, ...]:
    """The units of a query, in its order.

    A single letter is a unit only if the query has no word.

    Args:
        query: Any text.
        ignored: Words that say nothing of its subject.
        same_words: By a word or phrase of a query, the other words that meet it.

    >>> [unit.weight for unit in units_of("bicycle brakes 刹車")]
    [1.0, 1.0, 0.5, 0.5]
    """
    ignored = {*ignored, *(fold_words(word) for word in ignored if not word.isascii())}
    folded = fold_words(query)
    text = WordText(folded)
    same = [(fold_words(key), tuple(others)) for key, others in same_words.items() if text.phrase(key)]
    return tuple(_units(folded, ignored, same, 2)) or tuple(_units(folded, ignored, same, 1))


def _units(
    query: str, ignored: Set[str], same: Sequence[tuple[str, tuple[str, ...]]], least_length: int
) -> Iterator[Unit]:
    for ideographs, number, word in _TERM.findall(query):
        if ideographs:
            yield from _ideographs(ideographs, ignored, same)
        elif number:
            yield Unit(frozenset({number}), tuple(other for key, said in same if key == number for other in said), 1.0)
        elif len(word) >= least_length and word not in ignored:
            stem = stem_of(word)
            others = tuple(other for key, said in same if stem in map(stem_of, key.split()) for other in said)
            yield Unit(frozenset({stem}), others, 1.0)


def _ideographs(run: str, ignored: Set[str], same: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Unit]:
    """A text meets an ideograph if it has a pair of which it is part; a single one is met by itself."""
    whole = run
    # The longest first: a shorter one may be part of it.
    for word in sorted(ignored, key=lambda word: (-len(word), word)):
        run = run.replace(word, " " * len(word))
    for part in re.finditer(r"\S+", run):
        start, end = part.span()
        for at in range(start, end):
            pairs = {run[i : i + 2] for i in (at - 1, at) if start <= i < end - 1} or {run[at]}
            near = [said for key, said in same if whole.find(key) in range(max(0, at - len(key) + 1), at + 1)]
            yield Unit(frozenset(pairs), tuple(chain.from_iterable(near)), _IDEOGRAPH)


def stems_of(text: str) -> list[str]:
    """The stems of the words of a text, and its numbers, in order."""
    return _stems(fold_words(text))


def _stems(folded: str) -> list[str]:
    """The stems of words and the numbers, in order."""
    return [stem_of(number or word) for ideographs, number, word in _TERM.findall(folded) if not ideographs]


def fold_words(text: str) -> str:
    """Small letters without marks above or below, and numbers without marks inside: 10,000 is 10000.

    The text is composed first, so that syllables of Korean and Japanese stay whole.

    >>> fold_words("Café, 10,000")
    'cafe, 10000'
    """
    composed = _GROUPED.sub("", unicodedata.normalize("NFKC", text).casefold())
    return "".join(unicodedata.normalize("NFD", sign)[0] if sign < "\u0250" else sign for sign in composed)


def stem_of(word: str) -> str:
    """A folded word without its commonest endings.

    >>> stem_of("leaking"), stem_of("headphones")
    ('leak', 'headphon')
    """
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return (word[: -len(ending)] + instead).removesuffix("e")
    return word.removesuffix("e") if len(word) > _LEAST_STEM else word


def share_met(units: Sequence[Unit], text: WordText) -> float:
    """The weighted share of units that a text has; 0 without units."""
    total = sum(unit.weight for unit in units)
    return sum(unit.weight for unit in units if text.has(unit)) / total if total else 0.0
