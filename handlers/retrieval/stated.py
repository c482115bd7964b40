"""The words of a text that state something: a choice, a language, what is denied, a price of something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import TYPE_CHECKING

from handlers.retrieval.weekdays import PARTS, Week
from handlers.text.background import RARE, UNKNOWN, Background
from handlers.text.measures import MEASURE, TIME_UNITS, measure_of
from handlers.text.patterns import PatternRules, Patterns, joined_words
from handlers.text.scripts import is_ideographic
from handlers.text.word_match import fold_words
from handlers.text.words import LETTERS, NUMERALS, TERM, alternatives, fold, one_of

if TYPE_CHECKING:
    from handlers.retrieval.seen_result import SeenResult

OPEN = "open"
"""What is named and not understood, or denied."""
_LETTER = r"[a-z\u00df-\u024f]"
_CLAUSES = re.compile(r"[.,;!?]\s")
_SHORT_MONTH = 3
_ONLY = frozenset(("only", "nur", "uniquement", "seulement", "solo", "alleen", "kun", "endast", "tylko"))
BY_PERIOD = re.compile(
    r"(?i:(?:\s?/\s?|\b)(?:(?:an?|per|each|pro|im|al|par|au|om|i|na|por|ao) )?"
    r"(?:month|monthly|mo|monat|monatlich|mtl|mes|mois|mese|mês|maand|måned(?:en)?|månad(?:en)?|miesiąc|měsíc)\b)"
)
"""What is behind a price of one month."""
_NUMBERED = re.compile(r"\b[Nn]o\. ?(?=\d)")
_NEAR, _REACH = 3, 40
"""Words before what is named in which it is denied ("not available in English"), and characters."""
_REACH_WORDS, _LONGEST_PHRASE, _ADMITS = 5, 2, 5
"""Words beside a denial among which a denied phrase is, words of it, and letters that forms of "allow" share."""
_JOINED = re.compile(r"[^\W_]+(?:-(?=\w))?")
"""A word, with the hyphen behind it: "zero-cost" denies no cost of something else."""
_LISTS = ("no_denials", "needs", "opposed", "admitted", "one_words", "number_words", "question_fillers")
_VERSION = re.compile(
    r"(?<![\w.-])([A-Za-z]{2,20}) (v(?:ersion)?\.? ?)?(\d{1,3}(?:\.\d{1,3}){1,2})(?![\w.,:/%])"
    r"(?! ?(?:from|uhr|[ap]m|stars?|sterne)\b)",
    re.IGNORECASE,
)
"""The name of a program with its version."""
_CLOCK, _MONTHS, _DAYS = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5][05]"), 12, 31
BE = frozenset((
    "ar", "are", "e", "er", "es", "est", "esta", "is", "ist", "je", "jest", "ma", "mamy", "sa", "sao", "sind",
    "son", "sono", "sont", "tem", "temos", "tenemos", "tiene", "zijn",
))  # fmt: skip
"""Folded forms of "is", "are" and "have"."""
_OR = frozenset(("ani", "eller", "lub", "nem", "ni", "noch", "nor", "oder", "or", "ou"))


class StatedWords:
    """The words of all packs that these are read with; compiled once."""

    def __init__(
        self, rules: PatternRules, background: Background, days: Mapping[str, str], small: Set[str], places: Set[str]
    ) -> None:
        """Compiles the packs.

        Args:
            rules: The packs, and what is compiled of them.
            background: How rare words are.
            days: Folded names of days, with what they mean.
            small: Words that say nothing of a subject.
            places: Words before a place.
        """
        patterns, self.details, self.background = rules.patterns, rules.details, background
        self.small_words, self.places, self._days = small, places, one_of(days)
        packs = patterns.values()
        short = {fold_words(word): name for pack in packs for name, words in pack.week.items() for word in words}
        self.exclusions = {word: language for pack in packs for word, language in pack.exclusions.items()}
        self.opening = {word for word, name in short.items() if name == "open"}
        self._denials: dict[str, set[str]] = {word: {language} for word, language in self.exclusions.items()}
        for language, words in ((key, words) for pack in packs for key, words in pack.denials.items()):
            for word in map(fold_words, words):
                self._denials.setdefault(word, set()).add(language)
        self._known = frozenset().union(*self._denials.values())
        self.with_words = joined_words(patterns, "with_words")
        self.direction_words, self.origin_words, self.destination_words = (
            frozenset(map(fold_words, joined_words(patterns, f"{name}_words")))
            for name in ("direction", "origin", "destination")
        )
        self._affirming, self._needs, self._opposed, self._admitted, one, self._counts, fillers = (
            frozenset(map(fold_words, joined_words(patterns, name))) for name in _LISTS
        )
        self._joining = one.difference(("en", "et")) | _OR  # "and", "in"
        self._admitting = {word[:_ADMITS] for word in self._admitted}
        self._ends = {*(places - self._denials.keys()), *self.with_words, *self.exclusions, *self._opposed}
        self._small = {*map(fold_words, small), *fillers, *self._ends, *self._denials}
        self.week = Week(days, short, self.denies)
        self.payers = [Choice(pack.payers, self) for pack in packs if pack.payers]
        self.choices = (
            *(Choice(expressions, self) for pack in packs for expressions in pack.choices.values()),
            _Languages(patterns, self),
        )
        before, behind, numbers, ones = (
            alternatives(joined_words(patterns, name))
            for name in ("other_prices", "other_prices_behind", "number_words", "one_words")
        )
        units = alternatives(TIME_UNITS)
        self.other_before = re.compile(
            rf"(?i:\b(?:{before})\W{{0,3}}(?:(?:you|av|von|of|à)\W)?|\d\s?[x×]\s?(?:(?:de|à|a)\s)?)\Z"
        )
        """What is before a price that is not to be paid now, or not for the thing; the number of instalments."""
        self.other_behind = re.compile(rf"(?i:\s?(?:{behind})\b)")
        self.number = re.compile(rf"\d{{1,30}}|[{NUMERALS}]{{1,10}}|(?i:\b(?:{numbers}|(?:{ones}) (?:{units}))\b)")
        self.counted = re.compile(
            rf"(?<![\w.,])(?:\d[\d.,]{{0,12}}|(?i:{numbers})) (?:\w{{1,20}} ){{0,2}}\w{{1,30}}"
            r"|(?:\w{1,20} ){0,5}\w{1,30}: ?\d"
        )
        """What is counted: the words that follow a number, and those before one behind a colon."""

    def name_day(self, text: str) -> bool:
        """Whether a text names days that are no dates: on Monday, in May."""
        return self._days.search(fold_words(text)) is not None or next(self.months(text), None) is not None

    def months(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Names of months: where they begin and end, and their numbers."""
        folded, months = fold(text), self.details.months
        for word in LETTERS.finditer(text):
            name = months.after(folded, text, word.start())
            # Short names are words of other languages: "out" is October in Portuguese.
            if name and (len(name) > _SHORT_MONTH or word[0][0].isupper()):
                yield word.start(), word.start() + len(name), months[name]

    def denies(self, before: str, reach: int = 1) -> bool:
        """Whether one of the last words of a text is a denial, without those of an earlier clause."""
        words = _words_of(_CLAUSES.split(before[-_REACH:])[-1])[-reach:]
        return any(word in self._denials and word not in self.exclusions for word in words) or before.endswith("不")

    def versions(self, text: str) -> Iterator[re.Match[str]]:
        """The names of programs with their versions, as matches of name, mark and number."""
        for match in _VERSION.finditer(text):
            measure = MEASURE.match(text, match.start(3))
            if self._is_version(text, match) and not (measure and measure_of(measure)):
                yield match
                text = f"{text[: match.start()]}{' ' * len(match[0])}{text[match.end() :]}"

    def _is_version(self, text: str, match: re.Match[str]) -> bool:
        """Whether a number is marked as a version, or behind a name with a capital and no time, date or rating.

        A capital says nothing at the beginning: there, the name is an unknown word.
        """
        name, mark, number = match.groups()
        if mark or fold(name) in self.small_words or not name[0].isupper():
            return bool(mark)
        first, second = map(int, number.split(".")[:2])
        is_first = not text[: match.start()].strip()
        is_date = 0 < second <= _MONTHS and first <= _DAYS and (is_first or first > _MONTHS)
        is_time = bool(_CLOCK.fullmatch(number))
        least = UNKNOWN if is_first else RARE
        return not is_date and not is_time and self.background.rarity(fold_words(name)) >= least

    def divide(self, text: str, language: str | None = None) -> tuple[str, ...]:
        """What a text affirms, what it denies as part of a phrase, what is not needed, and what it denies outright."""
        divided = [list[str]() for _ in range(4)]
        for part in PARTS.split(_NUMBERED.sub("nr ", text)):
            words = _words_of(part)
            group_of = {at: group for place in range(len(words)) for at, group in self._denied(words, place, language)}
            for place, word in enumerate(words):
                divided[group_of.get(place, 0)].append(word)
        return tuple(map(" ".join, divided))

    def _denied(self, words: Sequence[str], place: int, language: str | None) -> Iterator[tuple[int, int]]:
        """What a word denies in its clause, with its group: the phrase behind it, or the one before "not allowed".

        A phrase has two words that are not small and ends at a small one. Small words and "allow" may be before it, and
        no word before a place or "with".
        """
        known = self._denials.get(words[place])
        if known is None:
            return
        before, behind = words[max(0, place - _REACH_WORDS) : place][::-1], words[place + 1 : place + 1 + _REACH_WORDS]
        # A denial of one language is another word of another: "no centro", "sin tax"; "deux pas" are steps.
        if (
            (language in self._known and language not in known)
            or not self._affirming.isdisjoint(behind[:_NEAR])
            or not self._counts.isdisjoint(before[:1])
        ):
            return
        # "Never without", "no room without": two denials cancel.
        near = takewhile(lambda word: word not in self._ends, before)
        if words[place] in self.exclusions and any(word in self._denials for word in near):
            return
        lead = list(takewhile(self._leads, behind))
        phrase = self._phrase(behind, len(lead), self._joining)
        earlier = self._phrase(before, len(list(takewhile(self._leads, before))), BE)
        is_admitted = not self._admitted.isdisjoint(lead)
        if earlier and (is_admitted or not (phrase or self._needs.isdisjoint(lead)) or not behind):
            found, is_alone = [place - 1 - at for at in earlier], True
        else:
            found = [place + 1 + at for at in phrase]
            beside = (*before[:1], *lead)
            # "The bike is not electric" denies it, and "there is no tip" is a custom.
            subject = next((word for word in before if word not in BE), "")
            is_said = not BE.isdisjoint(beside) and subject not in self._small
            is_alone = not before or is_said or any(map(self._goes_with, beside))
        is_needless = not self._needs.isdisjoint((*before[:1], *behind[:_NEAR]))
        for at in found:
            yield at, 2 if is_needless else 3 if is_alone and abs(found[-1] - found[0]) != 1 else 1

    def _leads(self, word: str) -> bool:
        return word not in self._ends and (word in self._small or word in BE or self._goes_with(word))

    def _goes_with(self, word: str) -> bool:
        """Whether a word is a form of "need", "allow" or "accept"."""
        return word in self._needs or word[:_ADMITS] in self._admitting

    def _phrase(self, words: Sequence[str], start: int, within: Set[str]) -> list[int]:
        """Where the words of a phrase are; it goes on behind some small words."""
        ends = takewhile(lambda at: words[at] not in self._small or words[at] in within, range(start, len(words)))
        return [at for at in ends if words[at] not in within and not self._goes_with(words[at])][:_LONGEST_PHRASE]


def _words_of(text: str) -> list[str]:
    return _JOINED.findall(fold_words(text).replace("’", "'").replace("n't", " not"))


class Choice:
    """Things of which a query may ask for one: one way or return, in stock or sold out."""

    def __init__(self, expressions: Mapping[str, str], words: StatedWords) -> None:
        """Takes the expressions of each thing, and under "asked" one that a query must have as well."""
        values = {value: expression for value, expression in expressions.items() if value != "asked"}
        self._values, self._words = tuple(values), words
        groups = "|".join(f"({expression})" for expression in values.values())
        asked = expressions.get("asked", groups)
        self._pattern, self._asked = (
            re.compile(rf"(?<!{_LETTER})(?:{wanted})(?!{_LETTER})") for wanted in (groups, asked)
        )

    def is_asked(self, folded: str, /) -> bool:
        """Whether a query may choose: "return" is a fare beside "train" only."""
        return self._asked.search(folded) is not None

    def spans(self, folded: str) -> Iterator[tuple[int, int, str]]:
        """What a text names, and where; the denied one of two things is the other one."""
        for match in self._pattern.finditer(folded):
            value = self._values[(match.lastindex or 1) - 1]
            if self._words.denies(folded[max(0, match.start() - _REACH) : match.start()], _NEAR):
                value = next((other for other in self._values if other not in (value, OPEN)), OPEN)
            yield *match.span(), value

    def named(self, seen: SeenResult) -> Set[str]:
        """Which things a result names."""
        return {value for *_, value in self.spans(seen.folded)}

    def is_met(self, value: str | None, seen: SeenResult) -> bool:
        """Whether a result names one of the things, or names none and is taken for it; whether it names any."""
        named = self.named(seen)
        return bool(named) if value is None else value in (named or self.implied(seen))

    def is_contradicted(self, value: str, seen: SeenResult) -> bool:
        """Whether a result names other things only."""
        return value not in (self.named(seen) or {value})

    def implied(self, _: SeenResult) -> Set[str]:
        """What a result is taken for that names none."""
        return {self._values[0]}


class _Languages(Choice):
    """The language in which something is: in English, auf Deutsch, en inglés y francés."""

    def __init__(self, patterns: Patterns, words: StatedWords) -> None:
        self._words, self._asked = words, re.compile("")  # any query may ask for a language
        self._names = {w: code for pack in patterns.values() for code, words in pack.languages.items() for w in words}
        self._before, self._behind = (joined_words(patterns, f"language_cues{place}") for place in ("", "_behind"))

    def spans(self, folded: str) -> Iterator[tuple[int, int, str]]:
        words, last = list(TERM.finditer(folded)), -2
        for place, word in enumerate(words):
            if (code := self._names.get(word[0])) is None:
                continue
            is_behind = place > 0 and words[place - 1][0] in self._before
            is_before = place + 1 < len(words) and words[place + 1][0] in self._behind
            # A list of languages goes on behind the first one.
            if is_behind or is_before or place - last <= 2:
                start, end = words[place - is_behind].start(), words[place + is_before].end()
                yield start, end, OPEN if self._words.denies(folded[:start], _NEAR) else code
                last = place
        for name, code in self._names.items():
            if is_ideographic(name[0]) and (at := folded.find(name)) >= 0:
                yield at, at + len(name), code

    def named(self, seen: SeenResult) -> Set[str]:
        """The languages that it names, and its own: "also available in German", not "in German only"."""
        named = super().named(seen)
        is_other = not named or OPEN in named or not _ONLY.isdisjoint(TERM.findall(seen.folded))
        return named if is_other or seen.language is None else named | {seen.language}

    def implied(self, seen: SeenResult) -> Set[str]:
        """The languages that it names otherwise, and its own."""
        return {self._names.get(word, "") for word in TERM.findall(seen.folded)} | {seen.language or ""}
