"""Whether a passage is written to a machine that reads the page, and not to a reader.

A linear model adds up weights of words, of pairs of words near each other and of four letters, hashed, over up to three
sentences that follow each other. Lines with too few of the words that such passages have are not scored.
``tools/training/addressed.py`` fits words, weights and limits.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b85decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import log1p, sqrt
from zlib import crc32

from pydantic import Field

from schemas.rules import Section

BITS = 16
"""Of the number of a weight."""
_MASK = (1 << BITS) - 1
_LETTERS = 4
SMOOTH = 20.0
"""Features that a passage has at least, for its length: very short ones say little."""
_WINDOW, _MOST, _MOST_FOUND = 3, 3, 100
PER_LINE = 0.8
"""What the limit rises by for the logarithm of the number of scored lines."""
_PIECE, _OVERLAP = 400, 300
"""Characters of a long line that are looked at together, and that are also in the next piece."""
_MAX_SENTENCE, _MAX_TEXT = 300, 400_000
_NO_BLANKS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{_NO_BLANKS}]|(?:[^\W\d_{_NO_BLANKS}]|[\u0300-\u036f\u064b-\u0655\u0900-\u0dff])+")
_ASCII_WORD = re.compile("[a-z]+")
_TOKEN = re.compile(rf"{WORD.pattern}|\d+|[^\w\s.,;'’()-]+")
_ENDS = re.compile(r"[.!?…。！？•|](?:(?<=[.!?…])[\s\"'”’)»*]+|(?<=[。！？•])|(?<=\|)(?=\s))")
_SHAPES = bytes(97 if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_APART = b" a a a a a"
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:(?:[ .·*]{1,3}|-)[^\W\d_](?![^\W_])){3,60}")


class AddressedSection(Section):
    """Words, weights and limits that tell whether a passage is written to a machine."""

    about: str = Field(default="", description="What the weights were fitted on, and when.")
    telling: dict[str, float] = Field(default={}, description="How telling words of such passages are.")
    worth: float = Field(default=0.0, description="How telling the three most telling words of a scored line are.")
    start: float = Field(default=-9.0, description="The score before any weight is added.")
    step: float = Field(default=1.0, description="What a weight of 1 adds.")
    weights: str = Field(default="", description="Weights from -127 to 127, as the digits of base 85.")
    suspected: float = Field(default=9.0, description="The score from which on visible text is suspected.")
    quarantined: float = Field(default=9.0, description="The score from which on hidden text is quarantined.")
    doubtful: float = Field(default=9.0, description="The score from which on surely hidden text is left out.")

    @cached_property
    def compiled(self) -> Addressed:
        """The weights in the form that is evaluated, made once."""
        return Addressed(self)


@dataclass(frozen=True, slots=True)
class Found:
    """A passage of a text that is written to a machine: its first character, that after its last, and its score."""

    start: int
    end: int
    score: float


class Addressed:
    """The compiled words and weights."""

    def __init__(self, section: AddressedSection) -> None:
        self.section = section
        self._telling = frozenset(section.telling)
        stored = b85decode(section.weights) if section.weights else bytes(1 << BITS)
        self.weights = [(value - 256 if value > 127 else value) * section.step for value in stored]
        self._word = lru_cache(maxsize=50_000)(self._weigh_word)

    def find(self, text: str) -> list[Found]:
        """Passages of visible text that are written to a machine, the clearest first.

        The more parts of a text have telling words, the more likely it is about machines, and one of them by chance.
        """
        pieces = list(self._pieces(text[:_MAX_TEXT], self.section.worth))
        least = self.section.suspected + PER_LINE * log1p(len(pieces))
        found = [
            Found(begin + start, begin + end, score)
            for begin, piece in pieces
            for start, end, score in self._windows(piece)
            if score >= least
        ]
        kept: list[Found] = []
        for one in sorted(found, key=lambda one: -one.score)[:_MOST_FOUND]:
            if all(one.end <= other.start or other.end <= one.start for other in kept):
                kept.append(one)
        return kept

    def best(self, text: str, *, is_sure: bool = True) -> Found | None:
        """The passage of a hidden text with the highest score, if any is worth one; of surely hidden text, more is."""
        found = [
            Found(begin + start, begin + end, score)
            for begin, piece in self._pieces(" ".join(text.split()), self.section.worth / (1 + is_sure))
            for start, end, score in self._windows(piece)
        ]
        return max(found, key=lambda one: one.score, default=None)

    def _pieces(self, text: str, least: float) -> Iterator[tuple[int, str]]:
        """The pieces of the lines of a text that are worth a score, each with its first character."""
        begin = 0
        lines, plain = text.split("\n"), normal(text).split("\n")
        for line, its in zip(lines, plain if len(plain) == len(lines) else map(normal, lines), strict=True):
            if self.worth(its) >= least:
                if len(line) <= _PIECE + _OVERLAP:
                    yield begin, line
                else:
                    for cut in range(0, len(line) - _OVERLAP, _PIECE):
                        piece = line[cut : cut + _PIECE + _OVERLAP]
                        if self.worth(normal(piece)) >= least:
                            yield begin + cut, piece
            begin += len(line) + 1

    def worth(self, line: str) -> float:
        """How telling the most telling words of a line in its normal form are."""
        found = self._telling.intersection((_ASCII_WORD if line.isascii() else WORD).findall(line))
        return sum(sorted(map(self.section.telling.__getitem__, found))[-_MOST:]) if found else 0.0

    def _windows(self, line: str) -> Iterator[tuple[int, int, float]]:
        """Up to three sentences that follow each other, each with a telling word: ends and score."""
        sums: list[tuple[int, int, float, int]] = []
        for first, last in sentence_bounds(line):
            words = words_of(line[first:last])
            if self._telling.isdisjoint(words):
                sums.clear()
                continue
            sums = [*sums[1 - _WINDOW :], (first, last, *self.weigh(words))]
            total, number = 0.0, 0
            for start, _, own, count in reversed(sums):
                total, number = total + own, number + count
                yield start, last, self.section.start + total / sqrt(number + SMOOTH)

    def weigh(self, words: Sequence[str]) -> tuple[float, int]:
        """The sum of the weights of a sentence, and their number: as of ``numbers_of``, which takes longer."""
        known = list(map(self._word, words))
        near = near_each_other([one[0] for one in known])
        total = sum([one[1] for one in known]) + sum(map(self.weights.__getitem__, near))
        return total, sum([one[2] for one in known]) + len(near)

    def _weigh_word(self, word: str) -> tuple[int, float, int]:
        numbers = of_word(word)
        return numbers[0], sum(map(self.weights.__getitem__, numbers)), len(numbers)


def words_of(sentence: str) -> list[str]:
    """The words, numbers and runs of signs of a sentence."""
    return _TOKEN.findall(normal(sentence))


def numbers_of(sentence: str) -> list[int]:
    """The numbers of the weights of a sentence: its words, their letters, and words before and near each of them."""
    words = [of_word(word) for word in words_of(sentence)]
    return [*chain.from_iterable(words), *near_each_other([one[0] for one in words])]


def near_each_other(words: Sequence[int]) -> list[int]:
    """Numbers of each word with that before it, and with those two and three words before it."""
    own = [one * 0x9E3779B1 for one in words]
    before = [0, *(one * 0x85EBCA77 for one in words)]
    near = [one * 0xC2B2AE3D for one in words]
    found = [(one + other >> 15) & _MASK for one, other in zip(own, before, strict=False)]
    for far in (2, 3):
        found += [(one + other >> 15) & _MASK for one, other in zip(own[far:], near, strict=False)]
    return found


@lru_cache(maxsize=50_000)
def of_word(word: str) -> tuple[int, ...]:
    """Numbers of a word and of each four letters of it."""
    parts = [word if not word.isdigit() else "0"]
    if len(word) > 2 and word.isalpha():
        edged = f"<{word[:40]}>"
        parts += [edged[place : place + _LETTERS] for place in range(len(edged) - _LETTERS + 1)]
    return tuple(crc32(part.encode("utf-8", "replace")) & _MASK for part in parts)


def normal(text: str) -> str:
    """A text in one form: compatible characters and case folded, and letters together that signs keep apart.

    >>> normal("I g n o r e the ＲＵＬＥＳ")
    'ignore the rules'
    """
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    text = text.lower()
    is_apart = _APART in b" " + text.encode("utf-8", "replace").translate(_SHAPES)
    return _SPACED.sub(_put_together, text) if is_apart else text


def _put_together(match: re.Match[str]) -> str:
    words = re.split(r"[^\w]{3,}", match[0])
    return " ".join(re.sub(r"[\W_]+", "", word) for word in words)


def sentence_bounds(line: str) -> Iterator[tuple[int, int]]:
    """The first character of each sentence of a line, and that after its last; long ones in pieces."""
    begin = 0
    for sign in (*_ENDS.finditer(line), None):
        last = sign.start() + 1 if sign else len(line)
        while last - begin > _MAX_SENTENCE:
            cut = line.rfind(" ", begin + 1, begin + _MAX_SENTENCE)
            cut = cut if cut > 0 else begin + _MAX_SENTENCE
            yield begin, cut
            begin = cut
        if last > begin:
            yield begin, last
        begin = sign.end() if sign else last
