"""Texts on which an expression may backtrack, and whether its time on them grows faster than their length.

Each repetition of an expression is pumped: a text has a prefix that the expression requires, then repeats what the
repetition matches, and has different ends. CPU time is compared between sizes, so the machine's speed does not matter.
"""

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import islice, zip_longest
from math import inf
from time import thread_time
from types import FrameType
from typing import Any, NamedTuple

import regex

_parser: Any = import_module("re._parser")

ENDINGS = ("", "!", "\n", "\0")
MOST_TEXTS = 240
"""Of one expression, evenly chosen from all of its texts."""
_VARIANTS = 4
_PREFIXES = 4
_ALWAYS_TRIED = "a0 \n_-.:,!/"
_MOST_COPIES = 50
_RUNS = (1, 15)
"""How many copies of the repeated text follow the text before it, if both are repeated."""
_SHORT_SIZES = (12, 40, 150, 500)
_LONG_SIZES = (2_000, 8_000)
_EXPLODES = 0.05
"""CPU seconds that no text of up to 500 characters may take: exponential and cubic time show here already."""
_SUSPECT = 6
_TOO_MUCH = 8
"""Growth from 2,000 to 8,000 characters: 4 is linear, 16 is quadratic."""
_MEASURABLE = 0.0002
_STRAIGHT = 3.4
_UNNOTICED = 0.000015
"""Linear growth from 150 to 500 characters, and CPU seconds beside it. Quadratic time that is less there is less than
``_NOTICEABLE`` for 8,000 characters, so no longer text is tried."""
_NOTICEABLE = 0.005
"""CPU seconds for 8,000 characters, below which no growth is looked at: quadratic time is over 0.03 seconds."""
_MOST_SECONDS = 0.2
_READ_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE | re.VERBOSE
_PROPERTY = re.compile(r"\\p\{\w+\}")
_EVERY_CHARACTER = "".join(map(chr, range(0xD800)))
_RANGE_OF = {"CATEGORY_DIGIT": str.isdigit, "CATEGORY_SPACE": str.isspace}

Expression = re.Pattern[str] | re.Pattern[bytes]
Tree = Sequence[tuple[Any, Any]]


class Pumped(NamedTuple):
    """A text of any size: ``begin``, then ``unit`` again and again, then ``end``."""

    begin: str
    unit: str
    end: str

    def of(self, size: int) -> str:
        """The text of about so many characters, and of one unit at least."""
        return self.begin + self.unit * max(1, size // len(self.unit)) + self.end


def pumped(expression: Expression) -> list[Pumped]:
    """The texts for all repetitions of an expression: at most ``MOST_TEXTS``, the same ones in each run."""
    found = [*dict.fromkeys(_Examples(expression).texts())]
    return found if len(found) <= MOST_TEXTS else [found[at * len(found) // MOST_TEXTS] for at in range(MOST_TEXTS)]


def grows_too_fast(expression: Expression, at_start: bool = False) -> Pumped | None:
    """The first text on which the expression takes more than linear time; None if there is no such text.

    Args:
        expression: To be searched from every place of a text.
        at_start: It is only matched at the beginning of a text, so only this is measured.
    """
    return next((text for text in pumped(expression) if _is_too_fast(expression, text, at_start)), None)


def _is_too_fast(expression: Expression, text: Pumped, at_start: bool) -> bool:
    def seconds(size: int, tries: int = 1) -> float:
        return min(_seconds(expression, text.of(size), at_start) for _ in range(tries))

    shorter = small = 0.0
    for size in _SHORT_SIZES:
        shorter, small = small, seconds(size)
        if small > _EXPLODES and seconds(size) > _EXPLODES:
            return True
    if small < _STRAIGHT * shorter + _UNNOTICED:
        return False
    middle, long = _LONG_SIZES
    if seconds(middle) < max(_SUSPECT * small, _MEASURABLE):
        return False
    most = max(_TOO_MUCH * seconds(middle, 3), _NOTICEABLE)
    return most == inf or seconds(long, 4) > most


def _seconds(expression: Expression, text: str, at_start: bool) -> float:
    """CPU seconds of a search through the whole text; infinite where it takes more than ``_MOST_SECONDS``."""
    given: Any = text.encode("latin-1", "replace") if isinstance(expression.pattern, bytes) else text
    work: Callable[[], object] = (
        (lambda: expression.match(given)) if at_start else (lambda: sum(1 for _ in expression.finditer(given)))
    )
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_SECONDS)
    begin = thread_time()
    try:
        work()
        return thread_time() - begin
    except TimeoutError:
        return inf
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _give_up(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError


class _Examples:
    """Strings that parts of an expression match, chosen by single characters."""

    def __init__(self, expression: Expression) -> None:
        pattern = expression.pattern
        flags = expression.flags if isinstance(pattern, bytes) else expression.flags & ~re.UNICODE
        self._tree: Tree = _parser.parse(_without_properties(pattern), flags & _READ_FLAGS)
        self._ignores_case = bool(expression.flags & re.IGNORECASE)
        self._dot_is_all = bool(expression.flags & re.DOTALL)
        self._groups: dict[int, str] = {}
        self._matched: dict[str, list[str]] = {}
        self._alphabet = self._ordered_alphabet()

    def texts(self) -> Iterator[Pumped]:
        """The texts for each repetition, alone and after the strings that may come before it."""
        known: dict[str, list[str]] = {}
        for prefixes, body in self._repetitions(self._tree, [""]):
            seen = known.setdefault(str(body), [])
            new = [prefix for prefix in prefixes if prefix not in seen][: _PREFIXES - len(seen)]
            seen += new
            for unit in self._variants(body, _VARIANTS):
                for prefix in new:
                    yield from (Pumped(prefix, unit, end) for end in ENDINGS)
                    if prefix:
                        yield from (Pumped("", prefix + unit * run, ENDINGS[1]) for run in _RUNS)

    def _repetitions(self, tree: Tree, before: list[str]) -> Iterator[tuple[list[str], Tree]]:
        """Each repeated part of the expression, with strings that may come before it."""
        for op, value in tree:
            match str(op):
                case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                    if value[1] > 1:
                        yield before, value[2]
                    yield from self._repetitions(value[2], before)
                case "BRANCH":
                    for branch in value[1]:
                        yield from self._repetitions(branch, before)
                case "ASSERT" | "ASSERT_NOT":
                    yield from self._repetitions(value[1], before if value[0] > 0 else [""])
                case _:
                    for part in _parts(op, value):
                        yield from self._repetitions(part, before)
            shortest, longer = self._one(op, value, least=True), self._one(op, value, least=False)
            extended = [prefix + shortest for prefix in before] + [prefix + longer for prefix in before]
            before = [*dict.fromkeys(extended)][:2]

    def _variants(self, tree: Tree, most: int) -> list[str]:
        """Different strings that a part matches, none empty."""
        if len(tree) != 1:
            examples = [self._example(tree, least=True), self._example(tree, least=False)]
            for at in range(len(tree)):
                around = self._example(tree[:at], least=True), self._example(tree[at + 1 :], least=True)
                examples += [around[0] + variant + around[1] for variant in self._variants(tree[at : at + 1], 3)]
            return [*dict.fromkeys(filter(None, examples))][:most]
        op, value = tree[0]
        match str(op):
            case "IN" | "ANY" | "NOT_LITERAL":
                return self._characters(op, value)[:most]
            case "BRANCH":
                ways = zip_longest(*(self._variants(branch, most) for branch in value[1]))
                return [*islice((variant for way in ways for variant in way if variant), most)]
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                copies = min(max(1, value[0]), _MOST_COPIES)
                return [copies * variant for variant in self._variants(value[2], most)]
            case "SUBPATTERN" | "ATOMIC_GROUP":
                return self._variants(_parts(op, value)[0], most)
        return [*filter(None, [self._one(op, value, least=False)])]

    def _example(self, tree: Tree, *, least: bool) -> str:
        return "".join([self._one(op, value, least=least) for op, value in tree])

    def _one(self, op: Any, value: Any, *, least: bool) -> str:
        """One string that a part matches; ``least`` leaves out what may be left out."""
        match str(op):
            case "LITERAL":
                return chr(value)
            case "IN" | "ANY" | "NOT_LITERAL":
                return "".join(self._characters(op, value)[:1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                copies = min(int(value[0]) if least else max(1, int(value[0])), _MOST_COPIES)
                return copies * self._example(value[2], least=least)
            case "GROUPREF":
                return self._groups.get(value, "")
            case "SUBPATTERN":
                example = self._example(value[3], least=least)
                if value[0] is not None:
                    self._groups[value[0]] = example
                return example
            case "ASSERT" | "ASSERT_NOT" | "AT":
                return ""
        return self._example(_parts(op, value)[0], least=least)

    def _characters(self, op: Any, value: Any) -> list[str]:
        key = f"{op} {value}"
        if key not in self._matched:
            self._matched[key] = [each for each in self._alphabet if self._matches(op, value, each)]
        return self._matched[key]

    def _matches(self, op: Any, value: Any, character: str) -> bool:
        forms = {character, character.lower(), character.upper()} if self._ignores_case else {character}
        match str(op):
            case "LITERAL":
                return chr(value) in forms
            case "NOT_LITERAL":
                return chr(value) not in forms
            case "ANY":
                return character != "\n" or self._dot_is_all
        negated = str(value[0][0]) == "NEGATE"
        return negated != any(_is_in(item, form) for item in value for form in forms if len(form) == 1)

    def _ordered_alphabet(self) -> list[str]:
        """Characters of the expression and a few others; characters that most of its parts match come first."""
        singles = {repr(part): part for part in _singles(self._tree)}.values()
        characters = dict.fromkeys(_ALWAYS_TRIED)
        for op, value in singles:
            items = value if str(op) == "IN" else [(op, value)]
            for kind, code in items:
                if str(kind) in ("LITERAL", "RANGE"):
                    characters.setdefault(chr(code if str(kind) == "LITERAL" else code[0]))
        return sorted(characters, key=lambda each: -sum(self._matches(op, value, each) for op, value in singles))


def _without_properties(pattern: str | bytes) -> str | bytes:
    """The pattern with one character for each property of ``regex``, which ``re`` can't parse."""
    if isinstance(pattern, bytes):
        return pattern
    return _PROPERTY.sub(lambda found: str(regex.findall(found[0], _EVERY_CHARACTER)[0]), pattern)


def _parts(op: Any, value: Any) -> list[Tree]:
    """The trees within a part of an expression."""
    match str(op):
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [value[2]]
        case "BRANCH":
            return [*value[1]]
        case "SUBPATTERN":
            return [value[3]]
        case "ASSERT" | "ASSERT_NOT":
            return [value[1]]
        case "ATOMIC_GROUP":
            return [value]
        case "GROUPREF_EXISTS":
            return [tree for tree in value[1:] if tree is not None]
    return []


def _singles(tree: Tree) -> Iterator[tuple[Any, Any]]:
    """The parts that match one character each."""
    for op, value in tree:
        if str(op) in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            yield op, value
        for part in _parts(op, value):
            yield from _singles(part)


def _is_in(item: tuple[Any, Any], character: str) -> bool:
    kind, value = item
    match str(kind):
        case "LITERAL":
            return chr(value) == character
        case "RANGE":
            return bool(value[0] <= ord(character) <= value[1])
        case "CATEGORY":
            name = str(value)
            positive = name.replace("_NOT_", "_")
            is_word = character.isalnum() or character == "_"
            found = is_word if positive == "CATEGORY_WORD" else _RANGE_OF[positive](character)
            return found != (name != positive)
    return False
