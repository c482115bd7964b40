"""Whether a text says what a query's words say: words, their inflections, and words that mean the same.

It compares words and understands none, so no sentence on a page can talk to it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import regex

from handlers.text.scripts import CJK, has_cjk, is_ideographic

_TERM = regex.compile(rf"([{CJK}]+)|(\d{{1,30}})|([^\W\d_{CJK}][+#]{{1,3}}|[^\W\d_{CJK}]{{1,60}})")
"""Ideographs, numbers and words; a letter with signs behind it is one too: C++, C#."""
_GROUPED = re.compile(r"(?<=\d)[,.\u00a0\u202f](?=\d{3}(?!\d))")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_LEAST_STEM = 4
_LEAST_PREFIX = 5
_LONGEST_ENDING = 2
_LEAST_PLURAL = 3
_IDEOGRAPH = 0.5
_PLAIN = 0.25


class Unit(NamedTuple):
    """A word or an ideograph of the query: what of a text meets it, and what it weighs."""

    forms: frozenset[str]
    others: tuple[str, ...]
    weight: float


class WordText:
    """A text to look words up in: stems of its words, and its ideographs as they stand."""

    def __init__(self, text: str) -> None:
        """Reads the text once, for any number of units."""
        self._folded = fold_words(text)
        stems = [stem_of(word) for word in _words(self._folded)]
        self._stems = stems
        self._known = frozenset(stems)
        self._sorted = sorted(self._known)
        self._joined = f" {' '.join(stems)} "

    def has(self, unit: Unit) -> bool:
        """Whether one of the unit's forms occurs, in the same or a longer inflection."""
        return any(self._has(form) for form in unit.forms) or any(self.phrase(other) for other in unit.others)

    def repeats(self, units: Sequence[Unit], least: int) -> bool:
        """Whether a word of the units is more than half of the text, and more than ``least`` words of it."""
        enough = max(least, len(self._stems) // 2)
        return any(self._stems.count(form) > enough for unit in units for form in unit.forms)

    def phrase(self, phrase: str) -> bool:
        """Whether words occur one after another, or ideographs as they stand."""
        if has_cjk(phrase):
            return phrase in self._folded
        return f" {' '.join(stem_of(word) for word in _words(fold_words(phrase)))} " in self._joined

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
        """Whether the longer of two stems begins with the shorter: renew, renewal; Mietvertrag, Mietvertragen."""
        if len(form) < _LEAST_PREFIX:
            return False
        shortest = max(_LEAST_PREFIX, len(form) - _LONGEST_ENDING)
        if any(form[:end] in self._known for end in range(shortest, len(form))):
            return True
        for word in self._sorted[bisect_left(self._sorted, form) :]:
            if not word.startswith(form):
                return False
            if len(word) - len(form) <= _LONGEST_ENDING:
                return True
        return False


def units_of(
    query: str, ignored: Set[str], plain_words: Set[str], same_words: Mapping[str, Sequence[str]]
) -> tuple[Unit, ...]:
    """The units of a query, in its order.

    A letter alone says little beside words, and everything where the query has no word.

    Args:
        query: Any text.
        ignored: Words that say nothing of its subject.
        plain_words: Words that say little.
        same_words: By a word or phrase of a query, the others that meet it.

    >>> [unit.weight for unit in units_of("find bicycle brakes", frozenset(), {"find"}, {})]
    [0.25, 1.0, 1.0]
    """
    plain = frozenset(map(stem_of, plain_words))
    ignored = {*ignored, *(fold_words(word) for word in ignored if not word.isascii())}
    folded = fold_words(query)
    text = WordText(folded)
    same = [(key, tuple(others)) for key, others in same_words.items() if text.phrase(key)]
    return tuple(_units(folded, ignored, plain, same, 2)) or tuple(_units(folded, ignored, plain, same, 1))


def _units(
    query: str, ignored: Set[str], plain: Set[str], same: Sequence[tuple[str, tuple[str, ...]]], least_length: int
) -> Iterator[Unit]:
    for ideographs, number, word in _TERM.findall(query):
        if ideographs:
            yield from _ideographs(ideographs, ignored, same)
        elif number:
            yield Unit(frozenset({number}), (), 1.0)
        elif len(word) >= least_length and word not in ignored:
            stem = stem_of(word)
            others = tuple(other for key, said in same if stem in map(stem_of, key.split()) for other in said)
            yield Unit(frozenset({stem}), others, _PLAIN if stem in plain else 1.0)


def _ideographs(run: str, ignored: Set[str], same: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Unit]:
    """Each ideograph is met where a pair that it is part of occurs; one that stands alone by itself."""
    whole = run
    # The longest first, so that no part of a word is taken out of it.
    for word in sorted(ignored, key=lambda word: (-len(word), word)):
        run = run.replace(word, " " * len(word))
    for part in re.finditer(r"\S+", run):
        start, end = part.span()
        for at in range(start, end):
            pairs = {run[i : i + 2] for i in (at - 1, at) if start <= i < end - 1} or {run[at]}
            others = tuple(other for key, said in same for other in said if _covers(key, whole, at))
            yield Unit(frozenset(pairs), others, _IDEOGRAPH)


def _covers(key: str, run: str, at: int) -> bool:
    place = run.find(key)
    return 0 <= place <= at < place + len(key)


def _words(folded: str) -> Iterator[str]:
    for ideographs, number, word in _TERM.findall(folded):
        if not ideographs:
            yield number or word


def fold_words(text: str) -> str:
    """Small letters without marks above or below, and numbers without marks inside: 10,000 is 10000.

    Marks are taken off after composing, so that syllables of Korean and Japanese stay whole.

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
    """The weighted share of units that a text has; 0 where there are none."""
    total = sum(unit.weight for unit in units)
    return sum(unit.weight for unit in units if text.has(unit)) / total if total else 0.0
