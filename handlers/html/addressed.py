"""Whether a text addresses a language model: gives it orders, or says how it should judge, answer or act.

The words of a sentence name concepts ("the model", "to ignore", "instructions"). A linear model adds up weights of
concepts, of pairs of them and of beginnings of words, over up to three sentences that follow each other.
``tools/training/addressed.py`` fits the weights. The word lists and the weights are configuration.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, combinations
from operator import itemgetter
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick
from pydantic import Field

from handlers.html.sentences import MARK, NO_BLANKS, QUOTE, normal, sentence_bounds, without_signs
from schemas.rules import Section

_STRONG = ("model", "agent", "override", "instruction", "output", "recommend", "conceal", "private", "persona")
"""A text that addresses a model names one of these concepts."""
_WEAK = ("you", "page", "described", "site", "attack", "when", "never", "always", "must")
"""Alone, these are no sign of an order."""
_EVERYWHERE = ("you", "described", "site", "attack")
_TOPIC = ("model", "attack")
_ROLE = "role"
"""Words of the marks of a role. Only a mark counts, not its words."""
_MAX_CONCEPTS = 64
_MAX_TEXT, _MAX_KNOWN = 200_000, 10_000
_WINDOW = 3
_NEAR, _SIDE = 50, 2
"""Characters from the beginning of a word, and from its end, to a later word that is near it, or beside it."""
_FOLLOWING = 3
_STEM = 6
_SHORT, _LONG = 45, 180
"""Characters of sentences."""
_Match = tuple[int, int, int]
_begin, _begin_of = itemgetter(0), itemgetter(1)


class AddressedSection(Section):
    """Words and weights that tell whether a text addresses a language model."""

    words: dict[str, str] = Field(
        default={}, max_length=_MAX_CONCEPTS, description="Words by concept, with blanks between."
    )
    about: str = Field(default="", description="What the weights were fitted on, and when.")
    start: float = Field(default=-9.0, description="The score before any weight is added.")
    quarantined: float = Field(default=1.0, description="The score from which on hidden text is quarantined.")
    doubtful: float = Field(default=-3.0, description="The score from which on hidden text is left out.")
    suspected: float = Field(default=3.0, description="The score from which on visible text is reported.")
    weights: dict[str, float] = Field(default={}, description="Added to the score for each thing that a text has.")

    @cached_property
    def compiled(self) -> Addressed:
        """The words and weights in the form that is evaluated, made once."""
        return Addressed(self)


@dataclass(frozen=True, slots=True)
class Found:
    """Sentences that address a model: the number of the line that they are in, their score, and what they name."""

    line: int
    score: float
    reason: str


class Named(NamedTuple):
    """Words that name concepts: their first character, the one after their last, and the concepts as bits and names."""

    begin: int
    end: int
    concepts: int
    names: Sequence[str]


@dataclass(slots=True)
class Sentence:
    """A sentence in its normal form: from its first character on, with the words in it that name concepts."""

    text: str
    begin: int
    named: Sequence[Named]
    concepts: int
    has_role: bool
    is_quote: bool

    def features(self) -> set[str]:
        """What it has by itself: words, concepts, and pairs of concepts near each other or side by side."""
        found = {word[:_STEM] for word in without_signs(self.text).split()}
        for place, one in enumerate(self.named):
            for name in one.names:
                found.add(f"one {name}")
                if one.begin == self.begin:
                    found.add(f"first {name}")
            for later in self.named[place + 1 : place + 1 + _FOLLOWING]:
                if later.begin - one.begin > _NEAR:
                    break
                is_beside = later.begin - one.end < _SIDE
                for name in one.names:
                    for other in later.names:
                        found.add(f"near {name} {other}")
                        if is_beside:
                            found.add(f"side {name} {other}")
        if self.has_role:
            found.add("is role")
        if self.is_quote:
            found.add("is quote")
        if self.text.endswith("?"):
            found.add("is question")
        return found


class Addressed:
    """The compiled words and weights."""

    def __init__(self, section: AddressedSection) -> None:
        self.section = section
        self._names, self._weights = tuple(section.words), section.weights
        patterns: dict[str, int] = {}
        for number, words in enumerate(section.words.values()):
            for word in words.split():
                pattern = _pattern(word)
                patterns[pattern] = patterns.get(pattern, 0) | 1 << number
        self._role, self._topic, self._strong = map(self._bits, ((_ROLE,), _TOPIC, _STRONG))
        self._telling = ~self._bits((*_EVERYWHERE, _ROLE))
        self._core = ~self._bits((*_WEAK, _ROLE))
        self._concepts = tuple(patterns.values())
        self._named = tuple((concepts, self._names_of(concepts & ~self._role)) for concepts in self._concepts)
        self._has_words = tuple(" " in pattern.strip() for pattern in patterns)
        # Few of all sets of concepts occur, and some often.
        self._weight_of_pairs = lru_cache(maxsize=_MAX_KNOWN)(self._weigh_pairs)
        self._matches = AhoCorasick(list(patterns)).find_matches_as_indexes

    def _bits(self, names: Iterable[str]) -> int:
        return sum(1 << number for number, name in enumerate(self._names) if name in names)

    def _names_of(self, concepts: int) -> list[str]:
        return [name for number, name in enumerate(self._names) if concepts >> number & 1]

    def find_all(self, text: str, least: float, *, is_hidden: bool) -> list[Found]:
        """For each line the sentences with the highest score, if it is at least ``least``.

        Hidden text is little, so that more of it is scored.
        """
        best: dict[int, tuple[float, int]] = {}
        known: dict[int, float] = {}
        for line, sentences in self.windows(text[:_MAX_TEXT], is_hidden=is_hidden):
            score = self.section.start
            for one in sentences:
                if one.begin not in known:
                    known[one.begin] = sum(map(self._weights.__getitem__, one.features() & self._weights.keys()))
                score += known[one.begin]
            concepts, is_quote = _joined(sentences), any(one.is_quote for one in sentences)
            score += self._weight_of_pairs(concepts, is_quote)
            score += sum([self._weights.get(name, 0.0) * value for name, value in self._shape(sentences, concepts)])
            if score >= best.get(line, (least, 0))[0]:
                best[line] = score, concepts & self._core
        return [Found(line, score, ", ".join(self._names_of(concepts))) for line, (score, concepts) in best.items()]

    def _weigh_pairs(self, concepts: int, is_quote: bool) -> float:
        return sum([self._weights.get(name, 0.0) for name in self._pairs(concepts, is_quote)])

    def lines_on_models(self, text: str) -> int:
        """The number of lines that name a model or an attack on one."""
        lines = self._lines(normal(text), self._topic.__and__)
        return sum(_joined(named) & self._topic > 0 for _, _, named in lines)

    def windows(self, text: str, *, is_hidden: bool) -> Iterator[tuple[int, list[Sentence]]]:
        """Up to three sentences of a line that follow each other and are worth a score, with the number of the line.

        The first and the last of them name something.
        """
        text = normal(text)
        for number, begin, named in self._lines(text, partial(self._names_enough, is_hidden=is_hidden)):
            sentences = self._sentences(text, begin, named)
            for first, begins in enumerate(sentences):
                if not self._names_something(begins):
                    continue
                concepts, has_role = 0, False
                for end, one in enumerate(sentences[first : first + _WINDOW], first + 1):
                    concepts |= one.concepts
                    has_role = has_role or one.has_role
                    if self._names_something(one) and (has_role or self._names_enough(concepts, is_hidden=is_hidden)):
                        yield number, sentences[first:end]

    def _lines(self, text: str, is_enough: Callable[[int], int]) -> Iterator[tuple[int, int, list[Named]]]:
        """The lines of a normal text whose concepts are enough: number, first character, and what they name."""
        plain = without_signs(f" {text} ")
        number = begin = concepts = 0
        end = -1
        matches: list[_Match] = []
        for match in self._matches(plain, overlapping=True):
            place = match[1]
            if place > end:
                if is_enough(concepts):
                    yield number, begin, self._named_by(matches, text, plain)
                following = text.rfind("\n", 0, place) + 1
                number += text.count("\n", begin, following)
                begin, end = following, text.find("\n", place)
                end = len(text) if end < 0 else end
                concepts, matches = 0, []
            # Words of two lines count too; few lines have any.
            concepts |= self._concepts[match[0]]
            matches.append(match)
        if is_enough(concepts):
            yield number, begin, self._named_by(matches, text, plain)

    def _named_by(self, matches: list[_Match], text: str, plain: str) -> list[Named]:
        """The words of a normal text that name concepts, in their order."""
        found: list[Named] = []
        for pattern, begin, end in sorted(matches, key=_begin_of):
            # A blank was put before the text. Patterns of words begin with one, and may be the beginning of a word.
            is_word = plain[begin] == " "
            after = plain.find(" ", end - 1) if is_word else end
            if not (self._has_words[pattern] and "\n" in text[begin : after - 1]):
                found.append(Named(begin - (not is_word), after - 1, *self._named[pattern]))
        return found

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a text of one line."""
        text = normal(text)
        plain = without_signs(f" {text} ")
        return self._sentences(text, 0, self._named_by(self._matches(plain, overlapping=True), text, plain))

    def _sentences(self, text: str, begin: int, named: Sequence[Named]) -> list[Sentence]:
        """The sentences of the line of a normal text that begins at a character; long ones in pieces."""
        end = text.find("\n", begin)
        found, place = [], 0
        for first, last in sentence_bounds(text, begin, len(text) if end < 0 else end):
            after = bisect_left(named, last, place, key=_begin)
            own = named[place:after]
            part = text[first:last]
            concepts = _joined(own)
            has_role = concepts & self._role > 0 and MARK.search(part) is not None
            found.append(Sentence(part, first, own, concepts & ~self._role, has_role, QUOTE.search(part) is not None))
            place = after
        return found

    def _names_something(self, sentence: Sentence) -> bool:
        return sentence.has_role or sentence.concepts & self._telling > 0

    def _names_enough(self, concepts: int, *, is_hidden: bool) -> bool:
        """Whether a text may have a role or names two concepts: a visible one a strong one and another."""
        if concepts & self._role:
            return True
        core = (concepts & self._core).bit_count()
        if is_hidden:
            return core > 0 and (concepts & self._telling).bit_count() > 1
        return concepts & self._strong > 0 and core > 1

    def features(self, sentences: Sequence[Sentence]) -> dict[str, float]:
        """What has a weight in sentences that follow each other."""
        concepts = _joined(sentences)
        own = Counter(chain.from_iterable(one.features() for one in sentences))
        pairs = self._pairs(concepts, any(one.is_quote for one in sentences))
        return dict(own) | dict.fromkeys(pairs, 1.0) | dict(self._shape(sentences, concepts))

    def _pairs(self, concepts: int, is_quote: bool) -> list[str]:
        """Pairs of concepts that sentences have, wherever they are, and what they have with a quotation."""
        names = self._names_of(concepts)
        quoted = [f"quoted {name}" for name in names] if is_quote else []
        return [*(f"both {one} {other}" for one, other in combinations(names, 2)), *quoted]

    def _shape(self, sentences: Sequence[Sentence], concepts: int) -> tuple[tuple[str, float], ...]:
        """How much sentences name, and how long they are."""
        length, distinct = sum([len(one.text) for one in sentences]), (concepts & self._core).bit_count()
        return (
            ("is distinct", distinct),
            ("is dense", distinct * _SHORT / max(_SHORT, length)),
            ("is long", min(3.0, length / _LONG)),
            ("is short", length < _SHORT),
            ("is several", len(sentences) > 1),
        )


def _pattern(word: str) -> str:
    """What is searched for to find a word of the configuration: with a blank where it begins, and where it ends."""
    plain = " ".join(without_signs(normal(word.replace("_", " "))).split())
    if NO_BLANKS.search(plain):
        return plain
    # The beginning of a word with a hyphen is a word of its own.
    return f" {plain}" if word.endswith("*") and not word.endswith("-*") else f" {plain} "


def _joined(parts: Iterable[Named | Sentence]) -> int:
    concepts = 0
    for one in parts:
        concepts |= one.concepts
    return concepts
