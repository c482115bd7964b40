"""Attributes as the HTML parser finds them in a tag, and how much time those of a page can take at most.

The parser compares each attribute of a tag with all before it, so a tag takes time with the square of its attributes.
What is a tag can't be told without reading all that is before it, in the parser's own states; but that a stretch holds
no long tag can: read as the inside of a tag, in each way in which it could be one, it ends soon.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_VALUE = rb"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\r\f>\"'][^ \t\n\r\f>]*+)?+"
ATTRIBUTE = rb"[^ \t\n\r\f/>][^ \t\n\r\f/>=]*+(?:[ \t\n\r\f]*+=[ \t\n\r\f]*+" + _VALUE + rb")?+"
"""Expression for an attribute. Never looks back, so its time grows with the length alone."""
ATTRIBUTES = rb"(?:[ \t\n\r\f/]++|" + ATTRIBUTE + rb")*+"
"""Expression for what stands in a tag after its name."""
NAMES = re.compile(rb"([^ \t\n\r\f/>][^ \t\n\r\f/>=]*+)(?:[ \t\n\r\f]*+=[ \t\n\r\f]*+" + _VALUE + rb")?+")
"""Finds the names of the attributes in what ``ATTRIBUTES`` matches."""
_REST_OF_TAG = re.compile(ATTRIBUTES)
_STRETCH_BYTES = 4_000_000_000
_MOST_COMPARISONS = 100_000_000


def most_attributes(text: bytes) -> int:
    """An upper bound on the attributes in a piece of a page: each begins a word, or stands right after a value.

    >>> most_attributes(b"a b=1/c='2'd e")
    7
    """
    # Words are what the parser divides: a vertical tab is a letter to it, and a blank to Python.
    return len(text.replace(b"/", b" ").replace(b"\v", b"v").split()) + text.count(b"=") + 1


def has_long_tags(body: bytes) -> bool:
    """Whether tags with many attributes could take the parser more than about a second.

    A page that is full of tags as long as two stretches takes 0.5 to 1.6 seconds, whatever its size. Where stretches
    could be within one tag, it has at most the attributes that could be in them, and in the stretches beside them.
    """
    return all(_most_comparisons(body, most) > _MOST_COMPARISONS for most in (_most_by_signs, most_attributes))


def _most_comparisons(body: bytes, most_in: Callable[[bytes], int]) -> int:
    size = len(body)
    length = max(_STRETCH_BYTES // max(size, 1), 64)
    comparisons = inside = 0
    for start in range(0, size, length):
        end = start + length
        most = _most_inside(body, start, min(end, size), most_in)
        if most is not None:
            inside += most if inside else most + most_in(body[max(0, start - length) : start])
        elif inside:
            inside += most_in(body[start:end])
            comparisons += inside * inside // 2
            inside = 0
        if comparisons + inside * inside // 2 > _MOST_COMPARISONS:
            break
    return comparisons + inside * inside // 2


def _most_inside(body: bytes, start: int, end: int, most_in: Callable[[bytes], int]) -> int | None:
    """The attributes that a stretch could hold if it is the inside of a tag; None where any tag ends in it.

    A ``>`` ends a tag unless it stands in a value with quotes of one of two kinds.
    """
    at = body.find(b">", start, end)
    if at < 0:
        return most_in(body[start:end])
    most = None
    for quote in (b"'", b'"'):
        begin = body.find(quote, at, end) + 1
        if not begin:
            most = most or 0
        elif (rest := _REST_OF_TAG.match(body, begin, end)) is not None and rest.end() == end:
            most = max(most or 0, most_in(body[begin:end]))
    return None if most is None else most + most_in(body[start:at])


def _most_by_signs(text: bytes) -> int:
    return 1 + len(text) - len(text.translate(None, b" \t\n\r\f/="))
