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
    "model agent override instruction output recommend conceal private persona".split()  # noqa: SIM905
)
"""A text that addresses a model names one of these concepts."""
_WEAK = frozenset("you page described site attack when never always must".split())  # noqa: SIM905
"""Every text names these."""
_TOPIC = frozenset(("model", "attack"))
_EVERYWHERE = frozenset(("you", "described", "site", "attack"))
_MAX_KNOWN = 50_000
_MAX_TEXT = 200_000
_MAX_LINE = 3_000
_OVERLAP = 500
_MAX_SENTENCE = 300
_MAX_CONCEPTS = 64
_WINDOW = 3
_FAR = 8
_FOLLOWING = 3
_STEM = 6
_BEGIN = 4
_FEW_WORDS = 8
_MANY_WORDS = 30
_ONE, _FIRST, _NEAR, _SIDE, _BOTH, _QUOTED, _OTHER = (number << 12 for number in range(7))
_FORMS = ("{0}", "^{0}", "{0}>{1}", "{0}.{1}", "{0}+{1}", "quote+{0}")
_OTHERS = ("role", "quote", "?", "distinct", "density", "long", "short", "again")
ROLE, QUOTE, ASKS, DISTINCT, DENSITY, LONG, SHORT, AGAIN = (_OTHER + number for number in range(len(_OTHERS)))
_SIGNS_OF_STR = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))
_SIGNS_OF_BYTES = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_OTHER_SIGNS = "“”„‘’‚«»‹›–—…·•¡¿、。，！？：；（）「」『』【】《》"
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
_SHAPES = bytes(97 if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_APART = b" a a a a a"
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
        self._pairs: dict[str, dict[str, int]] = {}
        for pair, bits in self._exact.items():
            first, _, second = pair.partition(" ")
            if second:
                self._pairs.setdefault(first, {})[second] = bits
        self._begins: dict[str, list[tuple[str, int]]] = {}
        for word, bits in self._beginnings.items():
            self._begins.setdefault(word[:_BEGIN], []).append((word, bits))
        longest_first = sorted(map(re.escape, self._inside), key=len, reverse=True)
        self._find_inside = re.compile("|".join(longest_first) or "(?!)").finditer
        self._core = sum(1 << number for number, name in enumerate(self._names) if name not in _WEAK)
        self._told = sum(1 << number for number, name in enumerate(self._names) if name not in _EVERYWHERE)
        self._strong = sum(1 << number for number, name in enumerate(self._names) if name in _STRONG)
        self._known: dict[str, int] = {}
        # The concepts of a word, and of all pairs that begin with it.
        self._may: dict[str, int] = {}
        self._telling: set[str] = set()
        self._anchors: set[str] = set()
        self._numbers: dict[int, tuple[int, ...]] = {}
        keys = {self.name_of(key): key for key in self._all_keys()}
        self._weights: dict[Key, float] = {
            name[2:] if name.startswith("w:") else keys[name]: weight
            for name, weight in section.weights.items()
            if name.startswith("w:") or name in keys
        }

    def _take(self, word: str, bits: int) -> None:
        # The beginning of a word with a hyphen is a word of its own.
        is_beginning = word.endswith("*") and not word.endswith("-*")
        table = self._inside if _NO_BLANKS.search(word) else self._beginnings if is_beginning else self._exact
        plain = " ".join(_words(word))
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

    def find_all(self, text: str, least: float, *, is_hidden: bool) -> list[Found]:
        """For each line the sentences with the highest score, if it is at least ``least``.

        Hidden text is little, so that more of it is scored.
        """
        found: list[Found] = []
        for number, line in self._told_lines(normal(text[:_MAX_TEXT]), is_hidden=is_hidden):
            known: dict[int, float] = {}
            best, best_score = 0, least
            for sentences in self.windows(line):
                if not self.is_worth(sentences, is_hidden=is_hidden):
                    continue
                if (score := self._score(sentences, known)) >= best_score:
                    best, best_score = _joined(sentences) | 1 << _MAX_CONCEPTS, score
            if best:
                names = self._concepts(best & self._core)
                found.append(Found(number, best_score, ", ".join(self._names[name] for name in names)))
        return found

    def lines_on_models(self, text: str) -> int:
        """The number of lines that name a model or an attack on one."""
        topic = sum(1 << number for number, name in enumerate(self._names) if name in _TOPIC)
        return sum(any(self._of(word) & topic for word in _words(line)) for line in normal(text).split("\n"))

    def windows(self, line: str) -> Iterator[Sequence[Sentence]]:
        """Up to three sentences of a normal line that follow each other; the first and the last name something."""
        sentences = [self.sentence(part) for part in split(line)]
        tells = [one.has_role or one.concepts & self._told > 0 for one in sentences]
        for begin in range(len(sentences)):
            for end in range(begin + 1, min(begin + _WINDOW, len(sentences)) + 1) if tells[begin] else ():
                if tells[end - 1]:
                    yield sentences[begin:end]

    def is_worth(self, sentences: Iterable[Sentence], *, is_hidden: bool) -> bool:
        """Whether sentences name enough to be scored, or have a role."""
        return self._is_enough(_joined(sentences), is_hidden=is_hidden) or any(one.has_role for one in sentences)

    def _is_enough(self, bits: int, *, is_hidden: bool) -> bool:
        """Whether a text names two concepts; a visible one a strong one and another that is not in every text."""
        core = (bits & self._core).bit_count()
        if is_hidden:
            return core > 0 and (bits & self._told).bit_count() > 1
        return bits & self._strong > 0 and core > 1

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
        known, pairs = self._known.get, self._pairs
        for place, word in enumerate(words):
            bits = known(word)
            if bits is None:
                bits = self._of(word)
            if word in pairs and place + 1 < len(words):
                bits |= pairs[word].get(words[place + 1], 0)
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
            self._known[word] = may = bits
            for more in self._pairs.get(word, {}).values():
                may |= more
            self._may[word] = may
            if may & self._core:
                self._telling.add(word)
            if bits & self._strong:
                self._anchors.add(word)
        return bits

    def _look_up(self, word: str) -> int:
        bits = self._exact.get(word, 0)
        for begin in (word[:_BEGIN], word[: _BEGIN - 1], word[: _BEGIN - 2]):
            for beginning, more in self._begins.get(begin, ()):
                if word.startswith(beginning):
                    bits |= more
        if not bits and not word.isalpha() and not word.isdigit():
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

    def _told_lines(self, text: str, *, is_hidden: bool) -> Iterator[tuple[int, str]]:
        """The lines, with their numbers, that name enough or have a role. The words of the text are looked at once."""
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
            self._may.clear()
        words = set(_words(text))
        for word in words.difference(self._known):
            self._of(word)
        hot = words & (self._telling if is_hidden else self._anchors)
        is_other = not text.isascii() and _NO_BLANKS.search(text) is not None
        has_role = _has_role(text)
        is_apart = _is_apart(text)
        if not (hot or is_other or has_role or is_apart):
            return
        bits_of = self._may.get if is_hidden else self._known.get
        for number, piece in _pieces(text):
            if is_apart and _is_apart(piece):
                yield number, together(piece)
                continue
            is_told = False
            if any(word in piece for word in hot) and not hot.isdisjoint(own := _words(piece)):
                bits = 0
                for word in own:
                    bits |= bits_of(word, 0)
                is_told = self._is_enough(bits, is_hidden=is_hidden)
            if is_told or (is_other and _NO_BLANKS.search(piece)) or (has_role and _ROLE.search(piece)):
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
    """The words of a normal text. Signs become blanks, most of them in bytes, which is faster than an expression."""
    if text.isascii():
        return text.translate(_SIGNS_OF_STR).split()
    for sign in _OTHER_SIGNS:
        if sign in text:
            text = text.replace(sign, " ")
    return text.encode("utf-8", "replace").translate(_SIGNS_OF_BYTES).decode().split()


def _joined(sentences: Iterable[Sentence]) -> int:
    bits = 0
    for one in sentences:
        bits |= one.concepts
    return bits


def _has_role(text: str) -> bool:
    """Whether a text has a sign of a role in a conversation, of a call, or of the end of a quoted document."""
    return any(sign in text for sign in _ROLE_SIGNS) and _ROLE.search(text) is not None


def normal(text: str) -> str:
    """A text in one form: compatible characters and case folded.

    >>> normal("Ignore the ＲＵＬＥＳ")
    'ignore the rules'
    """
    if text.isascii():
        return text.lower()
    return (text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)).casefold()


def together(line: str) -> str:
    """A normal line, with letters that blanks or signs keep apart put together.

    >>> together("i g n o r e  the rules")
    'ignore  the rules'
    """
    return _SPACED.sub(_put_together, line) if _is_apart(line) else line


def _is_apart(text: str) -> bool:
    """Whether blanks or signs keep letters apart."""
    return _APART in b" " + text.encode("utf-8", "replace").translate(_SHAPES)


def _put_together(match: re.Match[str]) -> str:
    words = re.split(r"[^\w]{3,}", match[0])
    return " ".join(re.sub(r"[\W_]+", "", word) for word in words)


def split(line: str) -> list[str]:
    """The sentences of a normal line, whose letters are together; long ones in pieces.

    >>> split("stop. go on")
    ['stop.', 'go on']
    """
    found = []
    for part in _SENTENCE.split(line):
        while len(part) > _MAX_SENTENCE:
            end = part.rfind(" ", 1, _MAX_SENTENCE)
            end = end if end > 0 else _MAX_SENTENCE
            found.append(part[:end])
            part = part[end:]
        if plain := part.strip():
            found.append(plain)
    return found
