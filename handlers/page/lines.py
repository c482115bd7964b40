"""Lines of text: an outline's texts go in, those that stand in one line are put together to blocks.

A line ends where a block element begins or ends, or at a line break. The links of menus and cards, which have nothing
beside them, belong to no line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborNode

from handlers.page.tags import HEADINGS, NAME_OF, TEXT, A

if TYPE_CHECKING:
    from handlers.page.outline import Outline


@dataclass(slots=True)
class Block:
    """A run of text between block boundaries.

    Attributes:
        text: With whitespace collapsed.
        tag: Name of the block element that it stands in.
        linked: Characters of it that are inside links.
        element: Index of the block element that it stands in, or of the one around this.
        start: Index of its first text.
        end: Index after its last text.
    """

    text: str
    tag: str
    linked: int
    element: int
    start: int
    end: int


def lines_of(outline: Outline) -> list[Block]:
    """The lines that a page's texts make, in page order."""
    found: list[Block] = []
    texts, nodes, starts = outline.texts, outline.nodes, outline.starts
    first = 0
    pieces: list[str] = []
    for index in range(len(texts)):
        if pieces:
            between = None if starts[index] else _between(nodes[index - 1], nodes[index])
            if between is None:
                _add(found, outline, pieces, first, index)
                first = index
                pieces = []
            elif between:
                pieces.append(between)
        pieces.append(texts[index])
    if pieces:
        _add(found, outline, pieces, first, len(texts))
    return found


def _add(found: list[Block], outline: Outline, pieces: list[str], first: int, end: int) -> None:
    """Makes a block of the texts of a line."""
    nodes = outline.nodes
    tag, place, is_linked = outline.holder(nodes[first])
    if place < 0 or not (text := _line(pieces)):
        return
    if place & 1:
        linked = len(text)
    elif end == first + 1:
        if is_linked and tag not in HEADINGS and _stands_alone(nodes[first]):
            return
        linked = len(text) if is_linked else 0
    elif not is_linked and True not in outline.links[first:end]:
        linked = 0
    else:
        linked = sum(len(outline.texts[index]) for index in range(first, end) if _is_linked(nodes[index]))
    found.append(Block(text, NAME_OF[tag], min(linked, len(text)), place >> 1, first, end))


def _line(pieces: list[str]) -> str:
    """Pieces as one line. Blanks that HTML does not take for any, such as the one that does not break, go as well."""
    text = pieces[0] if len(pieces) == 1 else "".join(pieces)
    # Only what can be printed and a single blank at a time: the usual case, and five times as fast.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def _stands_alone(text: LexborNode) -> bool:
    """Whether a text that is a whole line is that of a link which is its block element's own."""
    link = text.parent
    if link is None or link.tag_id != A:
        return False
    around = link.parent
    return around is not None and around.tag_id in NAME_OF


def _is_linked(text: LexborNode) -> bool:
    """Whether a text is in a link that is in the same block element."""
    above = text.parent
    while above is not None and (tag := above.tag_id) not in NAME_OF:
        if tag == A:
            return True
        above = above.parent
    return False


def _between(text: LexborNode, following: LexborNode) -> str | None:
    """What is between two texts where no block element begins: a blank, nothing, or None for the end of one."""
    above: LexborNode | None = text
    while above is not None and above.tag_id not in NAME_OF:
        after = above.next
        if after is not None:
            return " " if _is_blank(after) or _comes_after_blank(following) else ""
        above = above.parent
    return None


def _comes_after_blank(text: LexborNode) -> bool:
    above: LexborNode | None = text
    while above is not None and above.tag_id not in NAME_OF:
        before = above.prev
        if before is not None:
            return _is_blank(before)
        above = above.parent
    return False


def _is_blank(node: LexborNode) -> bool:
    return node.tag_id == TEXT and node.is_empty_text_node
