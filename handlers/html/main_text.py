"""Main text of a page without boilerplate.

The main text is in the smallest container with most of the running text outside of links. Navigation, link lists,
captions, credits, lines that introduce links, and notes after the end are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import zip_longest

from handlers.html.outline import HEADING_NAMES, HEADINGS, Block, Outline
from handlers.text.scripts import CJK_SIGN
from handlers.text.sentences import sentence_ends

_NOT_CJK_BYTES = bytes(range(0xE3)) + bytes(range(0xF0, 0x100))
_CJK_SIGNS = re.compile(r"[\u3000-\u303f\uff00-\uff65]")
_GOOD_CHARACTERS = 40
_GOOD_CJK_CHARACTERS = 20
_MOSTLY_LINKS = 0.5
_COLONS = ":："
_SHORT = 40  # of a line that introduces links
_LONG = 60  # of a line that is certainly in the text
_LONG_CJK = 20
_MANY = 4  # long lines of an article
_SMALL = 0.2  # of the text, for what may be cut off behind it
_SHARE_KEPT = 0.75
_PROSE = frozenset(("p", "li", "blockquote", "dd"))
_MAIN_TAGS = frozenset(("article", "main"))
CONTAINERS = frozenset(
    ("html", "body", "div", "section", "article", "main", "td", "center", "form", "fieldset", "figure", "table")
)


@dataclass(frozen=True, slots=True)
class MainText:
    """The main text, its blocks, and its range in the outline's texts."""

    text: str
    blocks: tuple[Block, ...]
    first: int
    end: int


def main_text(outline: Outline, max_characters: int) -> MainText:
    """The main text of a page, one block a line; "" if the page has none."""
    running = _running_text(outline)
    outline.regions.believe([(element, length) for _, element, length in running])
    seen = [found for found in running if not outline.regions.is_beside(found[1])]
    if not seen:
        seen = [found for found in _running_text(outline, strict=False) if not outline.regions.hides(found[1])]
    first, end = _span(outline, seen)
    kept = _kept(outline, outline.blocks(first, end))
    # A heading at the end has no text below it.
    while kept and kept[-1].tag in HEADING_NAMES:
        kept.pop()
    kept = [
        block
        for block, after in zip_longest(kept, kept[1:])
        if block.text[-1] not in _COLONS or not _leads_to_links(block, after)
    ]
    kept = _without_tail(kept)
    text = "\n".join(block.text for block in kept)[:max_characters]
    return MainText(text, tuple(kept), first, end)


def has_cjk(text: str) -> bool:
    """Whether a text may hold CJK characters or signs: in UTF-8 these begin with a byte from E3 on."""
    return not text.isascii() and bool(text.encode("utf-8", "replace").translate(None, _NOT_CJK_BYTES))


def count_words(text: str) -> int:
    """CJK characters and words of other scripts (C-32).

    >>> count_words("字數 counts two words, 五個字符")
    9
    """
    if not has_cjk(text):
        return len(text.split())
    others, cjk = CJK_SIGN.subn(" ", text)
    return int(cjk) + len(_CJK_SIGNS.sub(" ", others).split())


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


def _running_text(outline: Outline, *, strict: bool = True) -> list[tuple[int, int, int]]:
    """Texts outside of links and headings, each with an element around it and its length; long ones only if strict."""
    found = []
    texts, nodes = outline.texts, outline.nodes
    least = _GOOD_CJK_CHARACTERS if strict else 0
    for index in [index for index, text in enumerate(texts) if len(text) >= least]:
        text = texts[index].strip()
        length = len(text)
        if strict and length < _GOOD_CHARACTERS and (text.isascii() or not _is_good_cjk(text)):
            continue
        tag, place, is_linked = outline.holder(nodes[index])
        if is_linked or place & 1 or place < 0 or tag in HEADINGS:
            continue
        found.append((index, place >> 1, length))
    return found


def _is_good_cjk(text: str) -> bool:
    return len(text) >= _GOOD_CJK_CHARACTERS and len(CJK_SIGN.findall(text)) >= _GOOD_CJK_CHARACTERS


def _span(outline: Outline, running: list[tuple[int, int, int]]) -> tuple[int, int]:
    """The texts of the smallest container that holds most of the running text."""
    total = sum(length for _, _, length in running)
    if not total:
        return 0, len(outline.texts)
    held = [0] * len(outline.tags)
    for _, element, length in running:
        held[element] += length
    # The index of an element is larger than those of the elements around it.
    for element in range(len(held) - 1, 0, -1):
        if held[element] and (around := outline.outer[element]) >= 0:
            held[around] += held[element]
    best = 0
    for element, length in enumerate(held):
        share = length / total
        if share < 0.5 or (tag := outline.tags[element]) not in CONTAINERS:
            continue
        if (tag in _MAIN_TAGS and share >= _SHARE_KEPT) or _is_body(outline, element):
            best = element
            break
        if share >= _SHARE_KEPT:
            best = element
    inside = outline.inside(best)
    first = next(index for index, _, _ in running if inside(index))
    end = next(index for index, _, _ in reversed(running) if inside(index)) + 1
    # The texts of an element follow each other.
    first = bisect_left(range(first), True, key=inside)
    end = bisect_left(range(len(outline.texts)), True, lo=end, key=lambda index: not inside(index))
    return first, end


def _is_body(outline: Outline, element: int) -> bool:
    return "articlebody" in (outline.elements[element].attrs.get("itemprop") or "").lower()


def _kept(outline: Outline, blocks: list[Block]) -> list[Block]:
    """The blocks without link lists, captions and what is beside the text."""
    _, beside = outline.regions.hidden_and_beside([block.element for block in blocks])
    return [
        block
        for block, is_beside in zip(blocks, beside, strict=True)
        if not is_beside
        and block.tag != "figcaption"
        and (block.linked <= _MOSTLY_LINKS * len(block.text) or block.tag in HEADING_NAMES)
    ]


def _leads_to_links(block: Block, after: Block | None) -> bool:
    """Whether a line with a colon, such as "Read more:", introduces links, which were left out."""
    return len(block.text) < _SHORT and (after is None or after.start > block.end)


def _without_tail(kept: list[Block]) -> list[Block]:
    """Lines up to the last long one, if these are many and little follows them: notes, offers, credits."""
    long = [index for index, block in enumerate(kept) if block.tag in _PROSE and _is_long(block.text)]
    if len(long) < _MANY:
        return kept
    end = long[-1] + 1
    tail = sum(len(block.text) for block in kept[end:])
    return kept[:end] if tail < _SMALL * sum(len(block.text) for block in kept) else kept


def _is_long(line: str) -> bool:
    return len(line) >= _LONG or (len(line) >= _LONG_CJK and has_cjk(line))
