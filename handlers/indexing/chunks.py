"""Chunks of a text for the index: paragraphs and sentences stay whole where they fit.

A sentence that is longer than a chunk is cut at a clause, then at a space, and only then anywhere. Nothing is lost
between chunks but white space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from handlers.text.sentences import count_words
from schemas.pages import ContentBlock

ChunkUnit = Literal["characters", "words"]

_CLOSING = r"[\"'”’」』）)】》\]]"
_SENTENCE = re.compile(rf"[。！？；]++{_CLOSING}*+\s*+|(?<![.!?…])[.!?…]++{_CLOSING}*+\s++")
_CLAUSE = re.compile(r"[，、：]\s*+|[,;:—–]\s++")
_SPACE = re.compile(r"\s++")
_ENDS_SENTENCE = tuple('。！？；.!?…：:"”」』)）')
_HEADING_CHARACTERS = 60
_WORD_CHARACTERS = 32
_SMALL = 4
"""A last chunk below a quarter of the size takes over from the one before it."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part that stays whole; ``joint`` stood before it: a line end, a space, or nothing. The size holds both."""

    text: str
    joint: str
    size: int
    is_heading: bool = False


def chunk_text(
    text: str, max_size: int, unit: ChunkUnit = "characters", blocks: Sequence[ContentBlock] = ()
) -> tuple[str, ...]:
    r"""Cuts a text into chunks (R-211, C-37).

    Args:
        text: One paragraph a line, as the main text of a page is.
        max_size: Of a chunk, at least 1.
        unit: What sizes count: characters, or words as ``word_count`` counts them (CJK characters and words). By words
            a chunk holds at most 32 characters for each, for a text without spaces is one word however long it is.
        blocks: Of the text. Code that fits into a chunk stays whole, and a heading goes with what follows it.

    Returns:
        Chunks without white space around them; none for a text of white space alone.

    >>> chunk_text("Rain fell. It fell all day.\nThen the sun came.", 30)
    ('Rain fell. It fell all day.', 'Then the sun came.')
    >>> chunk_text("雨下了。整天都在下。", 6)
    ('雨下了。', '整天都在下。')
    """
    chunks: list[list[_Piece]] = []
    held = 0
    for piece in _pieces(text, max_size, len if unit == "characters" else _words, blocks):
        if chunks and held + piece.size <= max_size:
            chunks[-1].append(piece)
            held += piece.size
            continue
        heading = _heading_at_end(chunks[-1]) if chunks else None
        if heading is not None and heading.size + piece.size <= max_size:
            chunks[-1].pop()
            chunks.append([heading, piece])
        else:
            chunks.append([piece])
        held = _size(chunks[-1])
    _fill_last(chunks, max_size)
    # The lines of code keep their indentation, but for the first of a chunk.
    return tuple(
        "".join([chunk[0].text, *(piece.joint + piece.text for piece in chunk[1:])]).strip() for chunk in chunks
    )


def _words(text: str) -> int:
    # Sizes of pieces and their joints add up: their sum is never less than the size of the whole.
    return max(count_words(text), len(text) // _WORD_CHARACTERS + 1)


def _pieces(
    text: str, max_size: int, measure: Callable[[str], int], blocks: Sequence[ContentBlock]
) -> Iterator[_Piece]:
    at = 0
    for block in (*(block for block in blocks if block["kind"] in ("code", "heading")), None):
        yield from _of_lines(text[at : block["start"] if block else None], max_size, measure)
        if block:
            whole, at = text[block["start"] : block["end"]].rstrip(), block["end"]
            if (size := measure(f"\n{whole}")) <= max_size:
                yield _Piece(whole, "\n", size, block["kind"] == "heading")
            else:
                yield from _of_lines(whole, max_size, measure)


def _of_lines(text: str, max_size: int, measure: Callable[[str], int]) -> Iterator[_Piece]:
    for line in text.splitlines():
        joint = "\n"
        for part, before in _parts(line.rstrip(), max_size, measure, (_SENTENCE, _CLAUSE, _SPACE)):
            joint = joint or before
            # A chunk begins without a joint: a piece of full size fits into one.
            yield _Piece(part, joint, min(measure(joint + part), max_size))
            joint = ""


def _parts(
    text: str, max_size: int, measure: Callable[[str], int], cuts: Sequence[re.Pattern[str]]
) -> Iterator[tuple[str, str]]:
    """Parts that fit, cut at the first of the patterns that is enough, each with the space that stood before it."""
    if not text:
        return
    if measure(text) <= max_size:
        yield text, ""
    elif not cuts:
        # So many characters are no more words than that.
        yield from ((text[at : at + max_size], "") for at in range(0, len(text), max_size))
    else:
        start, space = 0, ""
        for end in (*(match.end() for match in cuts[0].finditer(text)), len(text)):
            for part, before in _parts(text[start:end].rstrip(), max_size, measure, cuts[1:]):
                yield part, space or before
                space = ""
            start, space = end, " " if text[end - 1].isspace() else ""


def _heading_at_end(chunk: list[_Piece]) -> _Piece | None:
    """A heading, or a short last line without a full stop: it belongs to the text that follows."""
    last = chunk[-1]
    if last.is_heading:
        return last if len(chunk) > 1 else None
    is_line = last.joint == "\n" and len(last.text) <= _HEADING_CHARACTERS
    return last if is_line and len(chunk) > 1 and not last.text.endswith(_ENDS_SENTENCE) else None


def _fill_last(chunks: list[list[_Piece]], max_size: int) -> None:
    """Moves text from the last chunk but one into a very small last chunk."""
    while len(chunks) > 1 and len(chunks[-2]) > 1 and _size(chunks[-1]) * _SMALL < max_size:
        size = chunks[-2][-1].size + _size(chunks[-1])
        if size > min(max_size, _size(chunks[-2])):
            return
        chunks[-1].insert(0, chunks[-2].pop())


def _size(chunk: list[_Piece]) -> int:
    return sum(piece.size for piece in chunk)
