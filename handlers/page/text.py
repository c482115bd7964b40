"""Main text without boilerplate: an outline goes in, the blocks that are the page's own text come out.

Blocks earn points for running text and lose them for links; containers collect what is inside them, and the smallest
container that holds nearly everything good is the text's. Within it, navigation, link lists and crumbs are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.page.outline import Block, Outline

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_CJK_SIGNS = re.compile(r"[\u3000-\u303f\uff00-\uff65]")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_GOOD_CHARACTERS = 60
_GOOD_CJK_CHARACTERS = 25
_MOSTLY_LINKS = 0.5
_SHARE_KEPT = 0.75
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MAIN_TAGS = frozenset(("article", "main"))


@dataclass(frozen=True, slots=True)
class MainText:
    """The main text and where it begins and ends among the outline's blocks; ``blocks`` are those kept."""

    text: str
    blocks: tuple[Block, ...]
    first: int
    end: int


def main_text(outline: Outline, max_characters: int) -> MainText:
    """The main text of a page, one block a line; "" where the page has none."""
    blocks = outline.blocks
    points = [_points(block) for block in blocks]
    if not any(points):
        points = [_points(block, strict=False) for block in blocks]
    first, end = _span(outline, points)
    kept = [block for place, block in enumerate(blocks[first:end], first) if _keep(block, points[place])]
    # A heading at the end, or one that another follows, stands over nothing.
    while kept and kept[-1].tag in _HEADINGS:
        kept.pop()
    text = "\n".join(block.text for block in kept)[:max_characters]
    return MainText(text, tuple(kept), first, end)


def count_words(text: str) -> int:
    """CJK characters and words of other scripts (C-32).

    >>> count_words("字數 counts two words, 五個字符")
    9
    """
    if text.isascii():
        return len(text.split())
    cjk = len(_CJK.findall(text))
    if not cjk:
        return len(text.split())
    return cjk + len(_CJK_SIGNS.sub(" ", _CJK.sub(" ", text)).split())


def leading_sentences(text: str, max_characters: int) -> str:
    """Whole sentences from the beginning of a text, as many as fit; a cut first one where none fits.

    >>> leading_sentences("One. Two is longer. Three.", 20)
    'One. Two is longer.'
    """
    head = text[: max_characters + 1].replace("\n", " ")
    if len(head) <= max_characters:
        return head.strip()
    ends = [match.start() for match in _SENTENCE_END.finditer(head) if match.start() <= max_characters]
    return head[: ends[-1]].strip() if ends else head[:max_characters].rsplit(" ", 1)[0].strip()


def _points(block: Block, *, strict: bool = True) -> int:
    """Running text earns its length, as far as it is not linked."""
    if block.boilerplate or block.tag in _HEADINGS:
        return 0
    own = len(block.text) - block.linked
    if own < (1 - _MOSTLY_LINKS) * len(block.text):
        return 0
    if (
        strict
        and own < _GOOD_CHARACTERS
        and (block.text.isascii() or len(_CJK.findall(block.text)) < _GOOD_CJK_CHARACTERS)
    ):
        return 0
    return own


def _span(outline: Outline, points: list[int]) -> tuple[int, int]:
    """The blocks of the smallest container that holds most of the good text."""
    total = sum(points)
    if not total:
        return 0, len(points)
    before = [0]
    for point in points:
        before.append(before[-1] + point)
    best, best_size = (0, len(points)), len(points) + 1
    for container in reversed(outline.containers):
        share = (before[container.end] - before[container.first]) / total
        size = container.end - container.first
        if share >= 0.5 and (container.is_body or (container.tag in _MAIN_TAGS and share >= _SHARE_KEPT)):
            return container.first, container.end
        if share >= _SHARE_KEPT and size < best_size:
            best, best_size = (container.first, container.end), size
    return best


def _keep(block: Block, points: int) -> bool:
    if points or (block.tag in _HEADINGS and not block.boilerplate):
        return True
    return not block.boilerplate and block.linked <= _MOSTLY_LINKS * len(block.text)
