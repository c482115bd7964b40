"""Lines of text: an outline's texts go in, those that stand in one line are put together to blocks.

A line ends where a block element begins or ends, or at a line break. The links of menus and cards, which have nothing
beside them, belong to no line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from selectolax.lexbor import LexborNode

from handlers.html.tags import HEADINGS, NAME_OF, TEXT, A


class Texts(Protocol):
    """A page's texts in page order, as its outline has them."""

    texts: list[str]
    nodes: list[LexborNode]
    starts: list[bool]
    links: list[bool]

    def holder(self, text: LexborNode) -> tuple[int, int, bool]:
        """The tag of the block element around a text, its place, and whether a link stands between."""
        ...


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


def lines_of(outline: Texts) -> list[Block]:
    """The lines that a page's texts make, in page order."""
    found: list[Block] = []
    texts, nodes = outline.texts, outline.nodes
    first = 0
    pieces: list[str] = []
    for index, starts in enumerate(outline.starts):
        if not starts and index and _goes_on(nodes[index - 1]):
            text, before = texts[index], texts[index - 1]
            if not (text[0].isspace() or before[-1].isspace()) and _are_apart(nodes[index - 1], nodes[index]):
                pieces.append(" ")
            pieces.append(text)
            continue
        if index:
            _add(found, outline, texts[first] + "".join(pieces) if pieces else texts[first], first, index)
        first = index
        pieces = []
    if texts:
        _add(found, outline, texts[first] + "".join(pieces), first, len(texts))
    return found


def _add(found: list[Block], outline: Texts, text: str, first: int, end: int) -> None:
    """Makes a block of the texts of a line."""
    nodes = outline.nodes
    if end == first + 1 and outline.links[first] and _stands_alone(nodes[first]):
        return
    tag, place, is_linked = outline.holder(nodes[first])
    text = text.strip()
    # Blanks that HTML does not take for any, such as the one that does not break, go as well. What can be printed, with
    # a blank at a time, is the usual case, and needs no work.
    if not text.isprintable() or "  " in text:
        text = " ".join(text.split())
    if not text or place < 0:
        return
    linked = 0
    if place & 1:
        linked = len(text)
    elif end == first + 1:
        linked = len(text) if is_linked else 0
    elif is_linked or True in outline.links[first:end]:
        linked = min(_linked(outline, first, end, is_linked), len(text))
    found.append(Block(text, NAME_OF[tag], linked, place >> 1, first, end))


def _stands_alone(text: LexborNode) -> bool:
    """Whether a text that is a whole line is that of a link which is its block element's own, and no heading."""
    link = text.parent
    if link is None or link.tag_id != A or (around := link.parent) is None:
        return False
    return (tag := around.tag_id) in NAME_OF and tag not in HEADINGS


def _linked(outline: Texts, first: int, end: int, is_linked: bool) -> int:
    """Characters of a line's texts that are in links which are in the same block element."""
    found = 0
    for index in range(first, end):
        if is_linked or outline.links[index]:
            is_linked = outline.holder(outline.nodes[index])[2]
            if is_linked:
                found += len(outline.texts[index])
    return found


def _goes_on(text: LexborNode) -> bool:
    """Whether something follows a text in its block element."""
    above: LexborNode | None = text
    while above is not None and above.tag_id not in NAME_OF:
        if above.next is not None:
            return True
        above = above.parent
    return False


def _are_apart(text: LexborNode, following: LexborNode) -> bool:
    """Whether a text of blanks stands after a text or before the one that follows."""
    return _is_blank(text, "next") or _is_blank(following, "prev")


def _is_blank(text: LexborNode, side: Literal["next", "prev"]) -> bool:
    """Whether what stands beside a text in its block element, on one side, is a text of blanks."""
    above: LexborNode | None = text
    while above is not None and above.tag_id not in NAME_OF:
        beside: LexborNode | None = getattr(above, side)
        if beside is not None:
            return beside.tag_id == TEXT and beside.is_empty_text_node
        above = above.parent
    return False
