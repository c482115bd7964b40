"""Whether a text addresses a language model: gives it orders, or says how it should judge, answer or act.

A sentence becomes a sequence of the concepts that its words name ("the model", "to ignore", "instructions"). A linear
model adds up weights of concepts, of pairs of them and of beginnings of words, over up to three sentences that follow
each other. ``tools/training/addressed.py`` fits the weights. The word lists and the weights are configuration.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from schemas.rules import Section

Key = int | str
"""What has a weight: the beginning of a word, or a concept or a pair of them as a number."""
_STRONG = frozenset(
    "model agent override instruction output recommend conceal private persona score user tool".split()  # noqa: SIM905
)
"""A text that addresses a model names one of these concepts."""
_WEAK = frozenset("you page described site attack when never always must".split())  # noqa: SIM905
"""Every text names these."""
_MAX_KNOWN = 50_000
_MAX_TEXT = 200_000
_MAX_LINE = 3_000
_OVERLAP = 500
_MAX_SENTENCE = 400
_MAX_CONCEPTS = 64
_WINDOW = 3
_FAR = 8
_FOLLOWING = 3
_STEM = 6
_FEW_WORDS = 8
_MANY_WORDS = 30
_ONE, _FIRST, _NEAR, _SIDE, _BOTH, _QUOTED, _OTHER = (number << 12 for number in range(7))
_FORMS = ("{0}", "^{0}", "{0}>{1}", "{0}.{1}", "{0}+{1}", "quote+{0}")
_OTHERS = ("role", "quote", "?", "distinct", "density", "long", "short", "again")
ROLE, QUOTE, ASKS, DISTINCT, DENSITY, LONG, SHORT, AGAIN = (_OTHER + number for number in range(len(_OTHERS)))
_LETTER = (
    r"(?:[^\W_]|[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])"
)
_WORD = re.compile(f"{_LETTER}+")
_ASCII_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
_NO_BLANKS = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts without blanks between words, and of Korean, whose words have many endings."""
_SENTENCE = re.compile(r"(?<=[.!?…])[\s\"'”’)»]+|(?<=[。！？])|\s[•|]\s")
_ROLES = "system|assistant|human|user|admin|developer"
_ROLE = re.compile(
    r"<\|?/?(?:im_start|im_end|system|assistant|user|context|end|endoftext|document|instructions|start_of_turn|end_of_turn"
    rf"|tool_call|s)\|?>|\[/?(?:inst|{_ROLES})\]|<</?sys>>|##\s*(?:instruction|response|system)|<function="
    rf"|\"(?:role|instruction|tool|function)\"\s*:|(?:^|[.\]>%-]\s?)(?:{_ROLES})(?: \w{{1,20}}){{0,2}}:"
    r"|function_call|begin trusted|end (?:of )?(?:untrusted|document|context)"
)
"""Signs of the roles of a conversation, of calls, and of the end of a quoted document."""
_ROLE_SIGNS = (
    "<",
    "[",
    "##",
    '":',
    '" :',
    "function_call",
    "trusted",
    "end of",
    *(f"{name}:" for name in _ROLES.split("|")),
)
"""A text with a role has one of these, which are faster to find."""
_QUOTE = re.compile('["“”„«»‘「」『』]')
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:(?:[ .·*]{1,3}|-)[^\W\d_](?![^\W_])){3,60}")
_LEET = str.maketrans("013457@$", "oieastas")


class AddressedSection(Section):
    """Words and weights that tell whether a text addresses a language model."""

    words: dict[str, str] = Field(
        default={}, max_length=_MAX_CONCEPTS, description="Words by concept, with blanks between."
    )
    about: str = Field(default="", description="What the weights were fitted on, and when.")
    start: float = Field(default=-9.0, description="The score of a text that has nothing of what has a weight.")
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


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, in the form of ``normal``, with the concepts that it names.

    Attributes:
        hits: The place of each word that names concepts, and the concepts as bits.
        concepts: All of them.
    """

    text: str
    words: Sequence[str]
    hits: Sequence[tuple[int, int]]
    concepts: int
    has_role: bool


class Addressed:
    """The compiled words and weights. It remembers words that it has looked up."""

    def __init__(self, section: AddressedSection) -> None:
        self.section = section
        self._names = tuple(section.words)
        self._exact: dict[str, int] = {}
        self._beginnings: dict[str, int] = {}
        self._inside: dict[str, int] = {}
        for number, words in enumerate(section.words.values()):
            for word in words.split():
                self._take(normal(word.replace("_", " ")), 1 << number)
        self._lengths = sorted({len(word) for word in self._beginnings}, reverse=True)
        longest_first = sorted(map(re.escape, self._inside), key=len, reverse=True)
        self._find_inside = re.compile("|".join(longest_first) or "(?!)").finditer
        self._core = sum(1 << number for number, name in enumerate(self._names) if name not in _WEAK)
        self._strong = sum(1 << number for number, name in enumerate(self._names) if name in _STRONG)
        self._known: dict[str, int] = {}
        self._hot: set[str] = set()
        self._numbers: dict[int, tuple[int, ...]] = {}
        keys = {self.name_of(key): key for key in self._all_keys()}
        self._weights: dict[Key, float] = {
            name[2:] if name.startswith("w:") else keys[name]: weight
            for name, weight in section.weights.items()
            if name.startswith("w:") or name in keys
        }

    def _take(self, word: str, bits: int) -> None:
        table = self._inside if _NO_BLANKS.search(word) else self._beginnings if word.endswith("*") else self._exact
        plain = " ".join(_WORD.findall(word))
        table[plain] = table.get(plain, 0) | bits

    def _all_keys(self) -> Iterator[int]:
        numbers = range(len(self._names))
        yield from range(_OTHER, _OTHER + len(_OTHERS))
        for form in (_ONE, _FIRST, _QUOTED):
            yield from (form + number for number in numbers)
        for form in (_NEAR, _SIDE, _BOTH):
            yield from (form + (number << 6) + other for number in numbers for other in numbers)

    def name_of(self, key: Key) -> str:
        """The name under which the configuration has a weight."""
        if isinstance(key, str):
            return f"w:{key}"
        if key >= _OTHER:
            return _OTHERS[key - _OTHER]
        form, number = key >> 12, key & 0xFFF
        names = (number,) if form in (_ONE >> 12, _FIRST >> 12, _QUOTED >> 12) else (number >> 6, number & 63)
        return _FORMS[form].format(*(self._names[name] for name in names))

    def find(self, text: str, least: float) -> Found | None:
        """The sentences with the highest score, if it is at least ``least``."""
        return max(self.find_all(text, least), key=lambda found: found.score, default=None)

    def find_all(self, text: str, least: float) -> list[Found]:
        """For each line the sentences with the highest score, if it is at least ``least``."""
        found: list[Found] = []
        for number, line in self._hot_lines(normal(text[:_MAX_TEXT])):
            known: dict[int, float] = {}
            best, best_score = 0, least
            for sentences in windows([self.sentence(part) for part in split(line)]):
                if self.is_worth(sentences) and (score := self._score(sentences, known)) >= best_score:
                    best, best_score = _joined(sentences) | 1 << _MAX_CONCEPTS, score
            if best:
                names = self._concepts(best & self._core)
                found.append(Found(number, best_score, ", ".join(self._names[name] for name in names)))
        return found

    def is_worth(self, sentences: Iterable[Sentence]) -> bool:
        """Whether sentences name enough to be scored: two concepts and one of them a strong one, or a role."""
        bits = _joined(sentences)
        if bits & self._strong and (bits & self._core).bit_count() > 1:
            return True
        return any(one.has_role for one in sentences)

    def features(self, sentences: Sequence[Sentence]) -> dict[str, float]:
        """What has a weight in sentences that follow each other, by name."""
        found: dict[str, float] = {}
        for one in sentences:
            for key in self._keys(one):
                name = self.name_of(key)
                found[name] = found.get(name, 0.0) + 1
        return found | {self.name_of(key): value for key, value in self._together(sentences).items()}

    def _score(self, sentences: Sequence[Sentence], known: dict[int, float]) -> float:
        """The log-odds that sentences address a model; ``known`` has the sums of sentences."""
        weight_of, total = self._weights.get, self.section.start
        for one in sentences:
            if (value := known.get(id(one))) is None:
                value = known[id(one)] = sum(weight_of(key, 0.0) for key in self._keys(one))
            total += value
        return total + sum(weight_of(key, 0.0) * value for key, value in self._together(sentences).items())

    def sentence(self, text: str) -> Sentence:
        """A sentence with the concepts that it names; the text must be ``normal``."""
        words = _words(text)
        hits = self._hits(text, words)
        concepts = 0
        for _, bits in hits:
            concepts |= bits
        return Sentence(text, words, hits, concepts, _has_role(text))

    def _keys(self, sentence: Sentence) -> set[Key]:
        """What a sentence has: words, concepts, and pairs of concepts near each other or side by side."""
        keys: set[Key] = {word[:_STEM] for word in sentence.words}
        hits = sentence.hits
        for place, (at, bits) in enumerate(hits):
            following = hits[place + 1 : place + 1 + _FOLLOWING]
            for number in self._concepts(bits):
                keys.add(_ONE + number)
                if at == 0:
                    keys.add(_FIRST + number)
                for later, others in following:
                    if later - at > _FAR:
                        break
                    for other in self._concepts(others):
                        keys.add(_NEAR + (number << 6) + other)
                        if later - at <= 1:
                            keys.add(_SIDE + (number << 6) + other)
        if sentence.has_role:
            keys.add(ROLE)
        if _QUOTE.search(sentence.text):
            keys.add(QUOTE)
        if sentence.text.endswith("?"):
            keys.add(ASKS)
        return keys

    def _together(self, sentences: Sequence[Sentence]) -> dict[Key, float]:
        """What sentences have together: pairs of concepts, wherever they are, and how much they name."""
        bits = _joined(sentences)
        numbers = self._concepts(bits)
        found: dict[Key, float] = {}
        for place, number in enumerate(numbers):
            for other in numbers[place + 1 :]:
                found[_BOTH + (number << 6) + other] = 1.0
        if any(_QUOTE.search(one.text) for one in sentences):
            for number in numbers:
                found[_QUOTED + number] = 1.0
        words, distinct = sum(len(one.words) for one in sentences), (bits & self._core).bit_count()
        found[DISTINCT] = distinct
        found[DENSITY] = 10 * distinct / max(6, words)
        found[LONG] = min(3.0, words / _MANY_WORDS)
        found[SHORT] = float(words < _FEW_WORDS)
        found[AGAIN] = float(len(sentences) > 1)
        return found

    def _hits(self, text: str, words: Sequence[str]) -> list[tuple[int, int]]:
        """The places of words that name concepts, and the concepts as bits."""
        found = []
        last = len(words) - 1
        for place, word in enumerate(words):
            bits = self._of(word)
            if place < last:
                bits |= self._exact.get(f"{word} {words[place + 1]}", 0)
            if bits:
                found.append((place, bits))
        if not text.isascii() and _NO_BLANKS.search(text):
            found += [(match.start() // 2, self._inside[match[0]]) for match in self._find_inside(text)]
            found.sort()
        return found

    def _of(self, word: str) -> int:
        bits = self._known.get(word)
        if bits is None:
            bits = self._look_up(word)
            if len(self._known) < _MAX_KNOWN:
                self._known[word] = bits
                if bits & self._strong:
                    self._hot.add(word)
        return bits

    def _look_up(self, word: str) -> int:
        bits = self._exact.get(word, 0)
        for length in self._lengths:
            if length <= len(word):
                bits |= self._beginnings.get(word[:length], 0)
        if not bits and not word.isalpha() and word.isalnum() and not word.isdigit():
            plain = word.translate(_LEET)
            return self._look_up(plain) if plain != word else 0
        return bits

    def _concepts(self, bits: int) -> tuple[int, ...]:
        found = self._numbers.get(bits)
        if found is None:
            found = tuple(number for number in range(len(self._names)) if bits >> number & 1)
            if len(self._numbers) < _MAX_KNOWN:
                self._numbers[bits] = found
        return found

    def _hot_lines(self, text: str) -> Iterator[tuple[int, str]]:
        """The lines, with their numbers, that have a strong word and another, or a role; a cheap look at all words."""
        pieces = list(_pieces(text))
        words_of = [_words(piece) for _, piece in pieces]
        for word in set().union(*words_of).difference(self._known):
            self._of(word)
        is_other = not text.isascii() and _NO_BLANKS.search(text) is not None
        has_role = _has_role(text)
        hot, bits_of, core = self._hot, self._known.get, self._core
        for (number, piece), words in zip(pieces, words_of, strict=True):
            is_hot = False
            if not hot.isdisjoint(words):
                bits = 0
                for word in words:
                    bits |= bits_of(word, 0)
                is_hot = (bits & core).bit_count() > 1
            if is_hot or (is_other and _NO_BLANKS.search(piece)) or (has_role and _ROLE.search(piece)):
                yield number, piece


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers; long lines in pieces that overlap."""
    for number, line in enumerate(text.split("\n")):
        if len(line) <= _MAX_LINE:
            yield number, line
        else:
            yield from (
                (number, line[begin : begin + _MAX_LINE]) for begin in range(0, len(line), _MAX_LINE - _OVERLAP)
            )


def _words(text: str) -> list[str]:
    """The words of a normal text."""
    return text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text)


def _joined(sentences: Iterable[Sentence]) -> int:
    bits = 0
    for one in sentences:
        bits |= one.concepts
    return bits


def _has_role(text: str) -> bool:
    """Whether a text has a sign of a role in a conversation, of a call, or of the end of a quoted document."""
    return any(sign in text for sign in _ROLE_SIGNS) and _ROLE.search(text) is not None


def normal(text: str) -> str:
    """A text in one form: compatible characters and case folded, letters that blanks keep apart put together.

    >>> normal("I g n o r e  the ＲＵＬＥＳ")
    'ignore  the rules'
    """
    text = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return _SPACED.sub(_put_together, text)


def _put_together(match: re.Match[str]) -> str:
    words = re.split(r"[^\w]{3,}", match[0])
    return " ".join(re.sub(r"[\W_]+", "", word) for word in words)


def split(line: str) -> list[str]:
    """The sentences of a line."""
    return [sentence for part in _SENTENCE.split(line) if part and (sentence := part[:_MAX_SENTENCE].strip())]


def windows(sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    """Up to three sentences that follow each other."""
    for begin in range(len(sentences)):
        for end in range(begin + 1, min(begin + _WINDOW, len(sentences)) + 1):
            yield sentences[begin:end]
