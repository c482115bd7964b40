"""The one splitter of texts into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOSING = r"[\"'”’»」』）)】》\]]{0,3}"
# One class of characters to begin with: the engine then looks for it in one go.
_END = re.compile(rf"[.!?…。！？；\n](?:(?<=\n)|(?<=[。！？；]){_CLOSING}(?![。！？；])|(?<=[.!?…]){_CLOSING}(?!\S))")
_SHORT = re.compile(r"(?:^|[\s(.])(?:[^\W\d_][^\W\d_]?|\d\d?)$")
_BEFORE = 3


def sentence_ends(text: str, *, is_folded: bool = False) -> Iterator[int]:
    """Where sentences end: behind their marks and closing quotation marks, and behind a line break.

    A full stop inside a word, behind an initial or a day ("H.C. Andersen", "4. Mai"), or before a small letter ends
    none. What is left of a text behind the last mark has no end here.

    Args:
        text: Any text.
        is_folded: Whether it is in lower case, so that every full stop before a blank ends a sentence.

    >>> list(sentence_ends("H.C. Andersen died in 1875. “He was 70!” So"))
    [27, 40]
    """
    for mark in _END.finditer(text):
        start, end = mark.span()
        if is_folded or text[start] != "." or not _goes_on(text, start, end):
            yield end


def sentences(text: str, *, is_folded: bool = False) -> Iterator[str]:
    """The sentences of a text without the blanks around them.

    >>> list(sentences("天氣好。「真的嗎？」 Yes, e.g. today. Good"))
    ['天氣好。', '「真的嗎？」', 'Yes, e.g. today.', 'Good']
    """
    start = 0
    for end in (*sentence_ends(text, is_folded=is_folded), len(text)):
        if sentence := text[start:end].strip():
            yield sentence
        start = end


def _goes_on(text: str, stop: int, end: int) -> bool:
    """Whether a sentence goes on behind a full stop."""
    following = text[end : end + _BEFORE].lstrip()
    if not following or "\n" in text[end : end + 1]:
        return False
    if following[0].islower():
        return True
    short = _SHORT.search(text[max(0, stop - _BEFORE) : stop])
    return short is not None and not short[0].strip("(. \t\n").islower()
