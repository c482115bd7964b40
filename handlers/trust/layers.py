"""What a text says under its layers: as it stands, with its character codes read, and without its markup.

In: a text. Out: its readings, each of which knows where in the text every character of it was written, so that what is
found in a reading can be taken out of the text and the rest stays as it was written. Codes may stand for codes, and
tags between the parts of a code: the number of steps is bounded, whatever a page does. Standard library only (R-178).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import compress
from urllib.parse import unquote

from handlers.trust.lookalikes import seen

_LAYERS = 6
_PEELS = 3
"""How often markup is taken away and codes are read that stood between it."""
_ANY_CODE = re.compile(
    r"&(?:#|[a-z])|%u?[0-9a-f]{2}|\\(?:[ux][0-9a-f{]|[0-3][0-7]{2})|=[0-9a-f]{2}|U\+[0-9a-f]|<[!/a-z]", re.IGNORECASE
)
_MORE_CODES = re.compile(r"&(?:amp;|#0*38;|#x0*26;)+", re.IGNORECASE)
_MORE_PERCENT = re.compile("%(?:25)+")
_CODE = re.compile(
    r"(?<!\\)\\++(?:(?-i:U)([0-9a-f]{8})|u([0-9a-f]{4})|u\{([0-9a-f]{1,8})\}|x([0-9a-f]{2})|00([0-9a-f]{4})"
    r"|(?P<octal>[0-3][0-7]{2}))"
    r"|%u([0-9a-f]{4})|\bU\+([0-9a-f]{4,6})\b(?: (?=U\+))?",
    re.IGNORECASE,
)
# Byte by byte, but for the bytes of one character.
_PERCENT = re.compile("[%=](?:[0-7][0-9a-f]|[c-f][0-9a-f](?:[%=][89ab][0-9a-f]){1,3}|[89a-f][0-9a-f])", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,12};?|#x[0-9a-f]{1,12};?|[a-z][a-z0-9]{1,31};?)", re.IGNORECASE)
# A comment that holds the beginning of another is none: each sign is looked at once.
_MARKUP = re.compile(r"<!--(?:(?!-->|<!--).)*-->|<[/!a-z][^<>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it reads.

    Attributes:
        text: What is read.
        begins: Of each of its characters, where what stands for it begins in the text that was written.
        ends: And where that ends.
    """

    text: str
    begins: list[int] | range
    ends: list[int] | range

    def written_at(self, first: int, after: int) -> tuple[int, int]:
        """Where what is read from ``first`` to ``after`` was written: begin and end."""
        return self.begins[first], self.ends[after - 1]


def readings(text: str) -> Iterator[Reading]:
    """The text as it stands, then each way in which it reads differently: at most seven.

    What looks like a tag may be what is looked for, so codes are read to the end before markup is taken away.

    Args:
        text: Without characters that nobody sees (``lookalikes.seen``).

    >>> [reading.text for reading in readings("a&amp;lt;b> <i>c")]
    ['a&amp;lt;b> <i>c', 'a<b> <i>c', 'a c']
    """
    reading = Reading(text, range(len(text)), range(1, len(text) + 1))
    yield reading
    if not _ANY_CODE.search(text):
        return
    for _ in range(_PEELS):
        decoded = _decoded(reading)
        if decoded is not reading:
            yield decoded
        reading = _seen(_put(_MARKUP, lambda _: "", decoded))
        if reading is decoded:
            return
        yield reading


def _decoded(reading: Reading) -> Reading:
    """What character codes stand for, and what those codes do."""
    for _ in range(_LAYERS):
        before = reading
        reading = _put(_MORE_PERCENT, lambda _: "%", _put(_MORE_CODES, lambda _: "&", reading))
        reading = _put(_CODE, _character, reading)
        reading = _put(_PERCENT, lambda code: unquote(code[0].replace("=", "%"), errors="ignore"), reading)
        reading = _seen(_put(_ENTITY, lambda code: unescape(code[0]), reading))
        if reading is before:
            break
    return reading


def _put(pattern: re.Pattern[str], stands_for: Callable[[re.Match[str]], str], reading: Reading) -> Reading:
    """The reading with what each match stands for in its place; the same one where nothing changes."""
    pieces: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    for match in pattern.finditer(reading.text):
        if (put := stands_for(match)) == match[0]:
            continue
        first, after = match.span()
        pieces += (reading.text[at:first], put)
        begins += reading.begins[at:first]
        ends += reading.ends[at:first]
        begins += [reading.begins[first]] * len(put)
        ends += [reading.ends[after - 1]] * len(put)
        at = after
    if not pieces:
        return reading
    pieces.append(reading.text[at:])
    begins += reading.begins[at:]
    ends += reading.ends[at:]
    return Reading("".join(pieces), begins, ends)


def _seen(reading: Reading) -> Reading:
    """The reading without what nobody sees."""
    plain = seen(reading.text)
    if plain == reading.text:
        return reading
    kept = [bool(seen(character)) for character in reading.text]
    return Reading(plain, [*compress(reading.begins, kept)], [*compress(reading.ends, kept)])


def _character(code: re.Match[str]) -> str:
    number = int(code["octal"], 8) if code["octal"] else int(next(filter(None, code.groups())), 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
