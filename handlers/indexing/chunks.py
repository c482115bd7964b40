"""Chunks of a text for the index: paragraphs and sentences stay whole where they fit.

A text and a size go in; chunks that no chunk exceeds come out, in order, with nothing lost between them but white
space. Chinese and English sentences end differently; a sentence that is longer than a chunk is cut at a clause, then at
a word, and only then anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from handlers.html.main_text import count_words

ChunkUnit = Literal["characters", "words"]

_CLOSING = r"[\"'”’」』）)】》\]]{0,3}"
_SENTENCE = re.compile(rf"(?<=[。！？；])(?!{_CLOSING}[。！？；])|(?<=[.!?…])\s+|(?<=[.!?…][\"'”’)\]])\s+")
_CLOSED = re.compile(rf"^{_CLOSING}")
_CLAUSE = re.compile(r"(?<=[，、：])|(?<=[,;:—–])\s+")
_STEPS = 32
"""In which a chunk is filled from a run of CJK characters without any mark: a piece a character would take most of the
time, and be of no use to a reader."""
_ENDS_SENTENCE = tuple('。！？；.!?…：:"”」』)）')
_HEADING_CHARACTERS = 60
_WORD_CHARACTERS = 32
_ACCENTS = 32
"""That a letter may bear: a text of nothing but accents is cut like any other, or it would take its square in time."""
_SMALL = 4
"""A last chunk below a quarter of the size takes over from the one before it."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part that stays whole; ``joint`` stood before it: a line end, a space, or nothing. The size holds both."""

    text: str
    joint: str
    size: int


def chunk_text(text: str, max_size: int, unit: ChunkUnit = "characters") -> tuple[str, ...]:
    r"""Cuts a text into chunks (R-211, C-37).

    Args:
        text: One paragraph a line, as the main text of a page is.
        max_size: Of a chunk, at least 1.
        unit: What sizes count: characters, or words as ``word_count`` counts them (CJK characters and words). By words
            a chunk holds at most 32 characters for each, for what has no spaces is one word however long it is.

    Returns:
        Chunks without white space around them; none for a text without anything but white space.

    >>> chunk_text("Rain fell. It fell all day.\nThen the sun came.", 30)
    ('Rain fell. It fell all day.', 'Then the sun came.')
    >>> chunk_text("雨下了。整天都在下。", 6)
    ('雨下了。', '整天都在下。')
    """
    measure = _measure(unit)
    chunks: list[list[_Piece]] = []
    held = 0
    for piece in _pieces(text, max_size, measure):
        if chunks and held + piece.size <= max_size:
            chunks[-1].append(piece)
            held += piece.size
            continue
        heading = _heading_at_end(chunks[-1]) if chunks else None
        if heading is not None and heading.size + piece.size <= max_size:
            chunks[-1].pop()
            chunks.append([heading, piece])
            held = heading.size + piece.size
        else:
            chunks.append([piece])
            held = piece.size
    _even_out(chunks, max_size)
    return tuple(_joined(chunk) for chunk in chunks)


def _measure(unit: ChunkUnit) -> Callable[[str], int]:
    if unit == "characters":
        return len
    # So that sizes of pieces and their joints add up: a sum of these is never less than that of the whole.
    return lambda text: max(count_words(text), len(text) // _WORD_CHARACTERS + 1)


def _pieces(text: str, max_size: int, measure: Callable[[str], int]) -> Iterator[_Piece]:
    cuts = (_SENTENCE, _CLAUSE, _words(max_size // _STEPS))
    for line in text.splitlines():
        if paragraph := line.strip():
            first = True
            for part, before in _parts(paragraph, max_size, measure, cuts):
                joint = "\n" if first else before
                first = False
                # Sizes hold the joint, but a chunk begins without one: a piece of full size still has a chunk.
                yield _Piece(part, joint, min(measure(joint + part), max_size))


@cache
def _words(characters: int) -> re.Pattern[str]:
    """Cuts at white space, and after so many CJK characters, where the group is."""
    return re.compile(rf"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{{1,{max(1, characters)}}}+(?!\s)()|\s+")


def _parts(
    text: str, max_size: int, measure: Callable[[str], int], cuts: Sequence[re.Pattern[str]]
) -> Iterator[tuple[str, str]]:
    """Parts that fit, cut as gently as possible, each with the space that stood before it."""
    if measure(text) <= max_size:
        yield text, ""
        return
    if not cuts:
        yield from ((part, "") for part in _cut_anywhere(text, max_size, measure))
        return
    for part, before in _split(text, cuts[0]):
        first = True
        for inner, space in _parts(part, max_size, measure, cuts[1:]):
            yield inner, (before if first else space)
            first = False


def _split(text: str, cut: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """A text split where a pattern, or its group, matches; each part with the space before it."""
    start, before = 0, ""
    for match in cut.finditer(text):
        gap = match.lastindex or 0
        at, end = match.span(gap)
        if end == at and (closed := _CLOSED.match(text[at : at + 3])):
            # A quotation mark after the full stop belongs to the sentence that it closes.
            at += closed.end()
        if part := text[start:at]:
            yield part, before
            before = " " if end > match.start(gap) else ""
        start = max(at, end)
    if part := text[start:]:
        yield part, before


def _cut_anywhere(text: str, max_size: int, measure: Callable[[str], int]) -> Iterator[str]:
    """Cuts by characters, but not between a letter and its accents where that can be helped."""
    most = max_size if measure is len else _WORD_CHARACTERS * max_size
    start = 0
    while start < len(text):
        end = furthest = min(start + most, len(text))
        while max(start + 1, furthest - _ACCENTS) < end < len(text) and unicodedata.combining(text[end]):
            end -= 1
        while measure(text[start:end]) > max_size:
            end = start + max(1, (end - start) // 2)
        yield text[start:end]
        start = end


def _heading_at_end(chunk: list[_Piece]) -> _Piece | None:
    """A short line without a full stop that would stand at a chunk's end: it belongs to what follows."""
    last = chunk[-1]
    is_line = last.joint == "\n" and len(last.text) <= _HEADING_CHARACTERS
    return last if is_line and len(chunk) > 1 and not last.text.endswith(_ENDS_SENTENCE) else None


def _even_out(chunks: list[list[_Piece]], max_size: int) -> None:
    """Gives a very small last chunk something of the one before it, so that it says enough to be found."""
    if len(chunks) < 2:
        return
    before, last = chunks[-2], chunks[-1]
    while len(before) > 1 and _size(last) * _SMALL < max_size:
        moved = before[-1]
        if moved.size + _size(last) > max_size or moved.size + _size(last) > _size(before):
            return
        last.insert(0, before.pop())


def _size(chunk: list[_Piece]) -> int:
    return sum(piece.size for piece in chunk)


def _joined(chunk: list[_Piece]) -> str:
    return "".join([chunk[0].text, *(piece.joint + piece.text for piece in chunk[1:])]).strip()
