"""How rare words are in ordinary pages: the results of one query are all about it, so their own counts say little.

A table of each language has the share of paragraphs that have a word, by its stem, or a pair of characters in scripts
without spaces. ``tools/training/background.py`` counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import regex
from pydantic import Field

from handlers.text.scripts import CJK, simplified
from handlers.text.word_match import fold_words, stem_of
from schemas.rules import Section

_STEP = 4.0
"""Levels for each natural logarithm."""
_RAREST = 0.2
"""Paragraphs of the table that a word which it lacks counts as being in."""
LESS_COMMON, RARE, UNKNOWN = 0.45, 0.55, 0.97
"""Rarity from which on two words with capitals are a name, one such word is, and one behind a word such as "in" is a
place."""
_TERM = regex.compile(rf"([{CJK}]+)|[^\W_{CJK}]+")


class WordFrequenciesSection(Section):
    """The ``word_frequencies`` section."""

    about: str = Field(default="", description="What the words were counted in, and when.")
    paragraphs: int = Field(default=1000, ge=1, description="Paragraphs of the language that has the most.")
    languages: dict[str, tuple[str, ...]] = Field(
        default={},
        description="For each language, the one with the most paragraphs first, words by their rarity: four levels for "
        "each natural logarithm, of which the first is everywhere.",
    )

    @cached_property
    def compiled(self) -> Background:
        """The table, made once."""
        return Background(self)


class Background:
    """The rarity of words."""

    def __init__(self, section: WordFrequenciesSection) -> None:
        self._most = math.log(section.paragraphs / _RAREST)
        self._levels = {
            language: {word: level for level, words in enumerate(levels) for word in words.split()}
            for language, levels in section.languages.items()
        }

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that it knows, the one with the most paragraphs first."""
        return tuple(self._levels)

    def rarity(self, word: str, language: str | None = None) -> float:
        """How rare a folded word is, from 0 (in every paragraph) to 1 (unknown); of characters, the rarest pair.

        Of a text in an unknown language, the first language that has the word counts.
        """
        return max((self._of(term, language) for term in terms_of(word)), default=0.0)

    def idf(self, word: str) -> float:
        """The natural logarithm of the inverse share of paragraphs with the word."""
        return self._most * self.rarity(word)

    def _of(self, term: str, language: str | None) -> float:
        known = self._levels.get(language or "")
        tables = self._levels.values() if known is None else (known,)
        level = next((table[term] for table in tables if term in table), None)
        return 1.0 if level is None else min(1.0, level / _STEP / self._most)


def terms_of(text: str) -> Iterator[str]:
    """The stems of the words of a text, and the pairs of its characters, as the table has them.

    >>> list(terms_of("Leaking taps 費用表"))
    ['leak', 'tap', '费用', '用表']
    """
    for term in _TERM.finditer(simplified(fold_words(text))):
        if run := term[1]:
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        else:
            yield stem_of(term[0]).removesuffix("s")
