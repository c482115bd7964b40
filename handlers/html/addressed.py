"""Whether a passage is written to a machine that reads the page, and not to a reader.

A linear model adds up weights of words, of four letters, and of words near each other, hashed, over up to three
sentences that follow each other. Lines with too few of the words that such passages have are not scored.
``tools/training/addressed.py`` fits words, weights and limits.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b85decode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from math import log1p, sqrt
from zlib import crc32

from ahocorasick_rs import BytesAhoCorasick
from pydantic import Field

from schemas.rules import Section

BITS = 17
"""Of the number of a weight."""
_MASK = (1 << BITS) - 1
_LETTERS, _NEAR = 4, 3
SMOOTH = 20.0
"""Features that a passage has at least, for its length: very short ones say little."""
WINDOW, _MOST, _MOST_FOUND = 3, 3, 100
PER_LINE = 1.0
"""What the limit rises by for the logarithm of the number of scored lines."""
_PIECE, _OVERLAP = 400, 300
"""Characters of a long line that are looked at together, and that are also in the next piece."""
_MAX_SENTENCE, _MAX_SCORED, _CHEAP = 300, 300_000, 10
"""Characters of a sentence, of lines that are scored, and of lines that are not and cost as much as one."""
_ROUGH = 5.5
"""By how much the score of the words alone may be lower: 1,178 of 1,181 attacks that are found had more."""
_NO_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
WORD = re.compile(r"[^\s\d\x00-@\[-`{-¿×÷\u2000-\u2bff\u3000-\u303f\uff00-\uff20]+")
_TOKEN = re.compile(rf"{WORD.pattern}|\d+|[^\w\s.,;'’()-]+")
_ENDS = re.compile(r"[.!?…。！？•|](?:(?<=[.!?…])[\s\"'”’)»*]+|(?<=[。！？•])|(?<=\|)(?=\s))")
_SHAPES = bytes(97 if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_APART = b" a a a a a"
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:(?:[ .·*]{1,3}|-)[^\W\d_](?![^\W_])){3,60}")
_BLANKS = bytes(code if code > 127 or code == 10 or chr(code).isalpha() else 32 for code in range(256))
_QUOTES = [sign.encode() for sign in "“‘«„¡¿"]


class AddressedSection(Section):
    """Words, weights and limits that tell whether a passage is written to a machine."""

    about: str = Field(default="", description="What the weights were fitted on, and when.")
    telling: dict[str, float] = Field(default={}, description="How telling words of such passages are.")
    anchor: float = Field(default=0.0, description="How telling one word of a scored line is.")
    worth: float = Field(default=0.0, description="How telling the three most telling words of a scored line are.")
    start: float = Field(default=-9.0, description="The score before any weight is added.")
    step: float = Field(default=1.0, description="What a weight of 1 adds.")
    weights: str = Field(default="", description="Weights from -127 to 127, as the digits of base 85.")
    suspected: float = Field(default=9.0, description="The score from which on visible text is suspected.")
    quarantined: float = Field(default=9.0, description="The score from which on hidden text is quarantined.")
    stated: float = Field(default=9.0, description="The score from which on a text of metadata is quarantined.")

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
        self._values = {word.encode(): value for word, value in section.telling.items()}
        self._anchors = frozenset(word for word, value in self._values.items() if value >= section.anchor)
        self._dense = BytesAhoCorasick([word for word in self._anchors if _NO_BLANKS.match(word.decode())])
        stored = b85decode(section.weights) if section.weights else bytes(1 << BITS)
        self.weights = [(value - 256 if value > 127 else value) * section.step for value in stored]
        self._word = lru_cache(maxsize=50_000)(self._weigh_word)

    def find(self, text: str) -> list[Found]:
        """Passages of visible text that are written to a machine, the clearest first.

        The more parts of a text have telling words, the more likely it is about machines, and one of them by chance.
        """
        pieces = list(self._pieces(text))
        return _apart(self._scored(pieces, self.section.suspected + PER_LINE * log1p(len(pieces))))

    def suspects(self, text: str) -> tuple[list[Found], int]:
        """What ``find`` may find in a part of a text, or what is quarantined if it is hidden; where reading ended."""
        least = min(self.section.quarantined, self.section.suspected + PER_LINE * log1p(1))
        pieces = list(self._pieces(text))
        return self._scored(pieces, least), _end(pieces, text)

    def passages(self, texts: Iterable[str], least: float) -> list[tuple[str, float] | None]:
        """The clearest passage of each hidden text, with its score if that is enough, else ""; None if not read."""
        flat = [" ".join(text.split()) for text in texts]
        ends = list(accumulate(len(text) + 1 for text in flat))
        joined = "\n".join(flat)
        pieces = list(self._pieces(joined))
        last = _end(pieces, joined)
        found: list[tuple[str, float] | None] = [("", least) if end <= last else None for end in ends]
        for one in reversed(_apart(self._scored(pieces, least))):
            found[bisect_right(ends, one.start)] = joined[one.start : one.end], one.score
        return found

    def _pieces(self, text: str) -> Iterator[tuple[int, list[tuple[int, int, list[str]]]]]:
        """The parts of lines that are worth a score: the first character, and the sentences with their words.

        One without sentences is where reading ended.
        """
        begin, left, plain = 0, _MAX_SCORED, folded(text)
        for line, own, its in zip(text.split("\n"), plain.split("\n"), self._plain(plain), strict=True):
            if self._anchors.isdisjoint(words := its.split()):
                begin += len(line) + 1
                continue
            is_worth = self.worth(words) >= self.section.worth
            left -= len(own) if is_worth else len(own) // _CHEAP
            if left < 0:
                yield begin, []
                break
            if is_worth:
                is_long, is_same = len(own) > _PIECE + _OVERLAP, len(own) == len(line)
                for cut in range(0, len(own) - _OVERLAP, _PIECE) if is_long else (0,):
                    piece = own[cut : cut + _PIECE + _OVERLAP]
                    if not is_long or self.is_worth(piece):
                        found = [(first, last, words_of(piece[first:last])) for first, last in sentence_bounds(piece)]
                        # Characters in another form have other places.
                        yield begin + cut * is_same, found if is_same else [(0, len(line), one) for *_, one in found]
            begin += len(line) + 1

    def _plain(self, text: str) -> list[bytes]:
        """The words of each line of a folded text, with blanks in between."""
        marked = text.encode("utf-8", "replace").translate(_BLANKS)
        if text.isascii():
            return marked.split(b"\n")
        for sign in _QUOTES:
            marked = marked.replace(sign, b" ")
        is_dense = self._dense.find_matches_as_indexes
        lines = marked.split(b"\n")
        return (
            [_spread(line.decode()).encode() if is_dense(line) else line for line in lines]
            if is_dense(marked)
            else lines
        )

    def is_worth(self, text: str) -> bool:
        """Whether a folded text has words that are telling enough."""
        words = [word for line in self._plain(text) for word in line.split()]
        return not self._anchors.isdisjoint(words) and self.worth(words) >= self.section.worth

    def worth(self, words: Iterable[bytes]) -> float:
        """How telling the most telling words are."""
        return sum(sorted(map(self._values.__getitem__, self._values.keys() & words))[-_MOST:])

    def _scored(self, pieces: Iterable[tuple[int, list[tuple[int, int, list[str]]]]], least: float) -> list[Found]:
        """Up to three sentences that follow each other, each with a telling word, and with a score that is enough."""
        found = []
        for begin, sentences in pieces:
            telling = [words for *_, words in sentences if not self._telling.isdisjoint(words)]
            if not telling or max(map(self._rough, telling)) < least - _ROUGH:
                continue
            sums: list[tuple[int, float, int]] = []
            for first, last, words in sentences:
                if self._telling.isdisjoint(words):
                    sums.clear()
                    continue
                sums = [*sums[1 - WINDOW :], (first, *self.weigh(words))]
                total, number = 0.0, 0
                for start, own, count in reversed(sums):
                    total, number = total + own, number + count
                    score = self.section.start + total / sqrt(number + SMOOTH)
                    if score >= least:
                        found.append(Found(begin + start, begin + last, score))
        return found

    def weigh(self, words: Sequence[str]) -> tuple[float, int]:
        """The sum of the weights of a sentence, and their number: as of ``numbers_of``, which takes longer."""
        known = list(map(self._word, words))
        near, own = near_each_other([one[0] for one in known]), set(known)
        total = sum([one[1] for one in own]) + sum(map(self.weights.__getitem__, near))
        return total, sum([one[2] for one in own]) + len(near)

    def _rough(self, words: Sequence[str]) -> float:
        """The score of a sentence by its words alone."""
        known = set(map(self._word, words))
        return self.section.start + sum([one[1] for one in known]) / sqrt(sum([one[2] for one in known]) + SMOOTH)

    def _weigh_word(self, word: str) -> tuple[int, float, int]:
        numbers = of_word(word)
        return numbers[0], sum(map(self.weights.__getitem__, numbers)), len(numbers)


def _end(pieces: list[tuple[int, list[tuple[int, int, list[str]]]]], text: str) -> int:
    """Where the reading of a text ended."""
    return next((begin for begin, sentences in pieces if not sentences), len(text) + 1)


def _apart(found: list[Found]) -> list[Found]:
    """The clearest of passages that overlap, the clearest first."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: -one.score)[:_MOST_FOUND]:
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return kept


def words_of(sentence: str) -> list[str]:
    """The words, numbers and runs of signs of a folded sentence."""
    return _TOKEN.findall(_spread(sentence))


def numbers_of(sentence: str) -> list[int]:
    """The numbers of the weights of a folded sentence: its words, their letters, and words before and near each."""
    words = list(map(of_word, words_of(sentence)))
    own = (number for word in set(words) for number in word)
    return [*own, *near_each_other([word[0] for word in words])]


def near_each_other(words: Sequence[int]) -> set[int]:
    """Numbers of each word with those up to three words before it, the order of which tells."""
    own = [one * 0x9E3779B1 for one in words]
    found: set[int] = set()
    for far in range(1, _NEAR + 1):
        before = 0x85EBCA77 if far == 1 else 0xC2B2AE3D
        found.update([(one + other * before >> 15) & _MASK for one, other in zip(own[far:], words, strict=False)])
    return found


@lru_cache(maxsize=50_000)
def of_word(word: str) -> tuple[int, ...]:
    """Numbers of a word and of each four letters of it."""
    parts = [word if not word.isdigit() else "0"]
    if len(word) > 2 and word.isalpha():
        edged = f"<{word[:40]}>"
        parts += [edged[place : place + _LETTERS] for place in range(len(edged) - _LETTERS + 1)]
    return tuple(crc32(part.encode("utf-8", "replace")) & _MASK for part in parts)


def folded(text: str) -> str:
    """A text in one form: compatible characters and case folded, and letters together that signs keep apart.

    >>> folded("I g n o r e the ＲＵＬＥＳ")
    'ignore the rules'
    """
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    text = text.lower()
    if not _is_apart(text):
        return text
    return "\n".join(_SPACED.sub(_put_together, line) if _is_apart(line) else line for line in text.split("\n"))


def _is_apart(text: str) -> bool:
    return _APART in b" " + text.encode("utf-8", "replace").translate(_SHAPES)


def _put_together(match: re.Match[str]) -> str:
    words = re.split(r"[^\w]{3,}", match[0])
    return " ".join(re.sub(r"[\W_]+", "", word) for word in words)


def _spread(text: str) -> str:
    """A text with blanks around characters of scripts that have none between words."""
    return text if text.isascii() else _NO_BLANKS.sub(r" \g<0> ", text)


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
