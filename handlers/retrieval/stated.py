"""The words of a text that state something: a choice, a language, what is denied, a price of something else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Protocol

from handlers.retrieval.weekdays import Week
from handlers.text.patterns import Patterns
from handlers.text.scripts import is_ideographic
from handlers.text.word_match import fold_words
from handlers.text.words import NUMERALS, alternatives

if TYPE_CHECKING:
    from handlers.retrieval.seen_result import SeenResult

_WORD = re.compile(r"[^\W_]+")
_LETTER = r"[a-z\u00df-\u024f]"
_CLAUSES = re.compile(r"[.,;!?]\s")
_NEAR = 3
"""Words before what is named in which it is denied: not available in English."""
_REACH = 40
"""Characters in which the words before something are looked for."""


class Choice(Protocol):
    """Things of which a query may ask for one: one way or return, in stock or sold out, a language."""

    def spans(self, folded: str) -> Iterable[tuple[int, int, str]]:
        """What a text names, and where; "" for what it denies."""

    def implied(self, seen: SeenResult) -> Set[str]:
        """What a result is taken for that names none."""


class StatedWords:
    """The words of all packs that these are read with; compiled once."""

    def __init__(self, patterns: Patterns, days: Mapping[str, str]) -> None:
        """Compiles the packs; ``days``: folded names of days, with what they mean."""
        packs = patterns.values()
        languages = {word: code for pack in packs for code, words in pack.languages.items() for word in words}
        cues = {word for pack in packs for word in pack.language_cues}
        short = {fold_words(word): name for pack in packs for name, words in pack.week.items() for word in words}
        self.exclusions = {word: language for pack in packs for word, language in pack.exclusions.items()}
        self._denials = {fold_words(word) for pack in packs for word in pack.denials}
        self.week = Week(days, short, self.denies)
        self.choices: tuple[Choice, ...] = (
            *(_Expressions(values, self) for pack in packs for values in pack.choices.values()),
            _Languages(languages, cues, self),
        )
        before, behind, numbers = (
            alternatives(word for pack in packs for word in getattr(pack, name))
            for name in ("other_prices", "other_prices_behind", "number_words")
        )
        self.other_before = re.compile(
            rf"(?i:\b(?:{before})\W{{0,3}}(?:(?:you|av|von|of|à)\W)?|\d\s?[x×]\s?(?:(?:de|à|a)\s)?)\Z"
        )
        """What is before a price that is not to be paid now, or not for the thing; the number of instalments."""
        self.number = re.compile(rf"\d{{1,30}}|[{NUMERALS}]{{1,10}}|(?i:\b(?:{numbers})\b)")
        self.counted = re.compile(
            rf"(?<![\w.,])(?:\d[\d.,]{{0,12}}|(?i:{numbers})) (?:\w{{1,20}} ){{0,2}}\w{{1,30}}"
            r"|(?:\w{1,20} ){0,5}\w{1,30}: ?\d"
        )
        """What is counted: the words that follow a number, and those before one behind a colon."""
        self.other_behind = re.compile(rf"(?i:\s?(?:{behind})\b)")

    def denies(self, before: str, reach: int = 1) -> bool:
        """Whether one of the last words of a text is a denial, without those of an earlier clause."""
        words = _WORD.findall(fold_words(_CLAUSES.split(before[-_REACH:])[-1]))[-reach:]
        return not self._denials.isdisjoint(words) or before.endswith("不")

    def lacks(self, text: str, start: int, end: int) -> bool:
        """Whether a text says that it lacks what it names at a place: without eggs, no eggs, egg-free."""
        before = _WORD.findall(text[max(0, start - _REACH) : start])[-1:]
        return (
            not self.exclusions.keys().isdisjoint(before)
            or self.denies(text[:start])
            or _WORD.findall(text[end : end + _REACH])[:1] == ["free"]
        )


class _Expressions:
    """A choice of the packs."""

    def __init__(self, expressions: Mapping[str, str], words: StatedWords) -> None:
        self._values, self._words = tuple(expressions), words
        groups = "|".join(f"({expression})" for expression in expressions.values())
        self._pattern = re.compile(rf"(?<!{_LETTER})(?:{groups})(?!{_LETTER})")

    def spans(self, folded: str) -> Iterator[tuple[int, int, str]]:
        for match in self._pattern.finditer(folded):
            is_denied = self._words.denies(folded[: match.start()], _NEAR)
            yield *match.span(), "" if is_denied else self._values[(match.lastindex or 1) - 1]

    def implied(self, _: SeenResult) -> Set[str]:
        return {self._values[0]}


class _Languages:
    """The language in which something is: in English, auf Deutsch, en inglés y francés."""

    def __init__(self, languages: Mapping[str, str], cues: Set[str], words: StatedWords) -> None:
        self._languages, self._cues, self._words = languages, cues, words
        self._undivided = {name: code for name, code in languages.items() if is_ideographic(name[0])}

    def spans(self, folded: str) -> Iterator[tuple[int, int, str]]:
        last, before = None, re.match("", "")
        for word in _WORD.finditer(folded):
            is_cued = before is not None and before[0] in self._cues
            # A list of languages goes on behind the first one.
            goes_on = last is not None and len(_WORD.findall(folded, last, word.start())) < 2
            if (code := self._languages.get(word[0])) and (is_cued or goes_on):
                start = before.start() if before and is_cued else word.start()
                yield start, word.end(), "" if self._words.denies(folded[:start], _NEAR) else code
                last = word.end()
            before = word
        for name, code in self._undivided.items():
            if (at := folded.find(name)) >= 0:
                yield at, at + len(name), code

    def implied(self, seen: SeenResult) -> Set[str]:
        """The languages that it names otherwise, and its own."""
        return {self._languages.get(word, "") for word in _WORD.findall(seen.folded)} | {seen.language or ""}
