"""The one splitter of texts into sentences, and the one counter of words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handlers.text.scripts import CJK_SIGN, has_cjk

_CLOSING = r"[\"'”’»」』）)】》\]]{0,3}"
# One class of characters to begin with: the engine then looks for it in one go.
_END = re.compile(rf"[.!?…。！？；\n](?:(?<=\n)|(?<=[。！？；]){_CLOSING}(?![。！？；])|(?<=[.!?…]){_CLOSING}(?!\S))")
_SHORT = re.compile(r"(?:^|[\s(.])(?:[^\W\d_][^\W\d_]?|\d\d?)$")
_BEFORE = 3
_CJK_SIGNS = re.compile(r"[\u3000-\u303f\uff00-\uff65]")


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


def leading_sentences(text: str, max_characters: int) -> str:
    """As many whole sentences from the beginning of a text as fit; if none fits, a part of the first.

    >>> leading_sentences("One. Two is longer. Three.", 20)
    'One. Two is longer.'
    """
    head = text[: max_characters + 1].replace("\n", " ")
    if len(head) <= max_characters:
        return head.strip()
    ends = [end for end in sentence_ends(head) if end <= max_characters]
    return head[: ends[-1]].strip() if ends else head[:max_characters].rsplit(" ", 1)[0].strip()


def count_words(text: str) -> int:
    """CJK characters and words of other scripts (C-32).

    >>> count_words("字數 counts two words, 五個字符")
    9
    """
    if not has_cjk(text) and not _CJK_SIGNS.search(text):
        return len(text.split())
    others, cjk = CJK_SIGN.subn(" ", text)
    return int(cjk) + len(_CJK_SIGNS.sub(" ", others).split())


def _goes_on(text: str, stop: int, end: int) -> bool:
    """Whether a sentence goes on behind a full stop."""
    following = text[end : end + _BEFORE].lstrip()
    if not following or "\n" in text[end : end + 1]:
        return False
    if following[0].islower():
        return True
    short = _SHORT.search(text[max(0, stop - _BEFORE) : stop])
    return short is not None and not short[0].strip("(. \t\n").islower()
