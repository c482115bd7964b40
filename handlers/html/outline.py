"""A page after one walk: its texts in order, links, headings, metadata, and the elements around each text.

``handlers.html.walk`` fills an ``Outline``, on which all readers work. Few texts and elements of a page matter: the
elements around a text, the meaning of their class names and the blocks of text are found when they are needed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from selectolax.lexbor import LexborNode

from handlers.html.hidden import Hidden
from handlers.html.hints import Hints, Regions
from handlers.html.nodes import HEADINGS, LEAVES, NAME_OF, PRE, TEXT, A, ancestors
from handlers.text.scripts import has_cjk

DIRECT = 2
_MAX_COMMENTS = 4
"""Comments in a row; frameworks put one on each side of a blank."""
_MARKS_OF_LINKS = " ¶↩\ufe0e"
"""Signs that are all of the text of a link to the place of a heading or back from a note."""
_LONGEST_MARK = 40
_BRACKETED = re.compile(rf"(?<=\S)\s?\[[^\[\]]{{1,{_LONGEST_MARK}}}\]\Z")
"""A link behind a heading by which its section is edited; such a link is no line either."""
_RUNNING, _RUNNING_CJK = 40, 20
"""Characters of a line from which on it is running text."""
_FEW = 8
"""Most texts are inside fewer inline elements."""


@dataclass(slots=True)
class Block:
    """A run of text between block boundaries.

    Attributes:
        text: With whitespace collapsed, except in ``pre``.
        tag: Name of the block element around it.
        linked: Characters of it that are inside links.
        element: Index of the block element around it, or of the next one outwards.
        start: Index of its first text.
        end: Index after its last text.
        alone: Whether it is a single link directly in a block element, as in menus and cards.
        running: Whether it is running text, and no heading or link.
    """

    text: str
    tag: str
    linked: int
    element: int
    start: int
    end: int
    alone: bool = False
    running: bool = False


@dataclass(slots=True)
class Outline:
    """The result of a walk.

    Attributes:
        texts: Texts in page order, unchanged, without those of blanks only.
        nodes: The text node of each.
        starts: Whether a block element or a line break begins between a text and the one before it.
        links: Whether a link begins there.
        hrefs: Addresses of links that name a host.
        stated: Elements with microdata of a date or an author, or ``rel=author``, except those of others, with these.
        rows: Rows of tables.
        asides: Beginnings of navigation and of what is beside the text, each with the index of the text after it.
        comments: Comments of the body, cut.
        times: Elements ``time``, each with the index of the text after it.
        meta: Contents by lower-case name.
        meta_read: Elements meta that were read.
        item_types: Types of items in microdata and RDFa.
        part_types: Types of those that are properties of others.
        json_ld: Texts of JSON-LD scripts.
        title: The window's title.
        language: As declared.
        hidden: Text that no visitor sees.
        is_suspected: Whether a passage may be written to a machine.
    """

    hints: Hints
    texts: list[str] = field(default_factory=list)
    nodes: list[LexborNode] = field(default_factory=list)
    starts: list[bool] = field(default_factory=list)
    links: list[bool] = field(default_factory=list)
    hrefs: list[str] = field(default_factory=list)
    stated: list[tuple[LexborNode, list[str]]] = field(default_factory=list)
    rows: list[LexborNode] = field(default_factory=list)
    asides: list[tuple[int, str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    times: list[tuple[int, LexborNode]] = field(default_factory=list)
    meta: dict[str, list[str]] = field(default_factory=dict)
    meta_read: int = 0
    item_types: list[str] = field(default_factory=list)
    part_types: list[str] = field(default_factory=list)
    json_ld: list[str] = field(default_factory=list)
    title: str = ""
    language: str = ""
    hidden: list[Hidden] = field(default_factory=list)
    is_suspected: bool = False
    entered: dict[int, int] = field(default_factory=dict)
    _holders: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    _lines: list[Block] | None = None
    _all_lines: list[Block] = field(default_factory=list)
    _firsts: list[int] = field(default_factory=list)
    regions: Regions = field(init=False)
    tags: list[str] = field(init=False)
    outer: list[int] = field(init=False)
    elements: list[LexborNode] = field(init=False)

    def __post_init__(self) -> None:
        self.regions = Regions(self.hints)
        self.tags, self.outer, self.elements = self.regions.tags, self.regions.outer, self.regions.nodes

    def place(self, node: LexborNode | None) -> int:
        """Where a node is: twice the index of the block element around it, plus one inside a link; -2 if in none.

        An element gets its index when it or an element in it is first asked for, after the elements around it.
        """
        if node is None:
            return -2
        entered = self.entered
        place = entered.get(node.mem_id)
        if place is not None:
            return place
        passed = [(node, node.mem_id)]
        place = -2
        while (node := node.parent) is not None:
            identity = node.mem_id
            found = entered.get(identity)
            if found is not None:
                place = found
                break
            passed.append((node, identity))
        tags, add = self.tags, self.regions.add
        for node, identity in reversed(passed):
            tag = node.tag_id
            name = NAME_OF.get(tag)
            if name is not None:
                add(node, name, place >> 1)
                place = len(tags) - 1 << 1 | place & 1
            elif tag == A:
                place |= 1
            entered[identity] = place
        return place

    def holder(self, text: LexborNode) -> tuple[int, int, int]:
        """The tag number of the block element around a text (0 for none), its place, and what link is in between.

        A leaf (``LEAVES``) gets no index: its place is that of the element around it. The link is 0 for none, or
        ``DIRECT`` if it is all that is in between.
        """
        node = text.parent
        link = 0
        steps = _FEW
        while node is not None:
            tag = node.tag_id
            if tag in NAME_OF:
                if tag in LEAVES and (above := node.parent) is not None:
                    node = above
                place = self.entered.get(node.mem_id)
                if place is None:
                    place = self.place(node)
                return tag, place, DIRECT if link and steps == _FEW - 1 else link
            if not steps:
                tag, place, above_link = self._far_holder(node)
                return tag, place, link or above_link
            steps -= 1
            if tag == A:
                link = 1
            node = node.parent
        return 0, -2, link

    def _far_holder(self, inline: LexborNode) -> tuple[int, int, int]:
        """The same for an inline element, itself included; cached, since thousands can be nested."""
        passed: list[LexborNode] = []
        found: tuple[int, int, int] | None = None
        node: LexborNode | None = inline
        while node is not None and (found := self._holders.get(node.mem_id)) is None:
            passed.append(node)
            node = node.parent
            if node is not None and node.tag_id in NAME_OF:
                found = self.holder(passed[-1])
                break
        tag, place, link = found or (0, -2, 0)
        for element in reversed(passed):
            link |= element.tag_id == A
            self._holders[element.mem_id] = (tag, place, link)
        return tag, place, link

    def element_of(self, index: int) -> int:
        """The block element around a text; -1 without one."""
        return self.place(self.nodes[index].parent) >> 1

    def href(self, index: int) -> str | None:
        """The address of the link around a text; None without one."""
        node = self.link(index)
        return node.attrs.get("href") if node is not None else None

    def link(self, index: int) -> LexborNode | None:
        """The link around a text; None without one."""
        return next((node for node in ancestors(self.nodes[index]) if node.tag_id == A), None)

    def around(self, element: int) -> Iterator[int]:
        """A block element and those around it, the innermost first."""
        while element >= 0:
            yield element
            element = self.outer[element]

    def blocks(self, start: int = 0, end: int | None = None) -> list[Block]:
        """The blocks that begin at the texts from ``start`` to before ``end``; those of the page are made once."""
        if self._lines is None:
            self._all_lines = _lines_of(self)
            self._lines = [block for block in self._all_lines if not block.alone]
            self._firsts = [block.start for block in self._lines]
        if end is None:
            return self._lines[bisect_left(self._firsts, start) :]
        return self._lines[bisect_left(self._firsts, start) : bisect_left(self._firsts, end)]

    def lines_with_links(self) -> list[Block]:
        """All blocks, also those that are a single link."""
        self.blocks()
        return self._all_lines

    def blank(self, indices: Iterable[int]) -> None:
        """Takes out texts."""
        for index in indices:
            self.texts[index] = " "
        self._lines = None

    def line_at(self, index: int) -> Block | None:
        """The block that a text is in; None if it is in none."""
        blocks = self.blocks()
        place = bisect_right(self._firsts, index) - 1
        return blocks[place] if place >= 0 and index < blocks[place].end else None


def _lines_of(outline: Outline) -> list[Block]:
    """The lines that a page's texts make, in page order."""
    found: list[Block] = []
    nodes = outline.nodes
    first = 0
    for index, starts in enumerate([*outline.starts, True]):
        if not index or (not starts and _goes_on(nodes[index - 1])):
            continue
        _add(found, outline, first, index)
        first = index
    return found


def _line(outline: Outline, first: int, end: int) -> str:
    """The text of a line that several texts make; blanks between them may be a text of their own."""
    texts, nodes = outline.texts, outline.nodes
    pieces = [texts[first]]
    for index in range(first + 1, end):
        text, before = texts[index], texts[index - 1]
        if not (text[0].isspace() or before[-1].isspace()) and _are_apart(nodes[index - 1], nodes[index]):
            pieces.append(" ")
        pieces.append(text)
    return "".join(pieces)


def _add(found: list[Block], outline: Outline, first: int, end: int) -> None:
    """Makes a block of the texts of a line."""
    is_single = end == first + 1
    tag, place, link = outline.holder(outline.nodes[first])
    text = outline.texts[first] if is_single else _line(outline, first, end)
    is_code = is_single and tag == PRE
    text = text if is_code else text.strip()
    # A printable text without double blanks is the usual case. Others are split at all blanks, also non-breaking ones.
    if not is_code and ("  " in text or not text.isprintable()):
        text = " ".join(text.split())
    if not is_code and text[-1:] in _MARKS_OF_LINKS:
        text = text.rstrip(_MARKS_OF_LINKS)
    if tag in HEADINGS and text[-1:] == "]" and not is_single and True in outline.links[first + 1 : end]:
        text = _BRACKETED.sub("", text)
    if not text or place < 0:
        return
    linked = 0
    if place & 1:
        linked = len(text)
    elif is_single:
        linked = len(text) if link else 0
    elif link or True in outline.links[first:end]:
        linked = min(_linked(outline, first, end, link > 0), len(text))
    if linked and text[0] == "[" and text[-1] == "]" and len(text) <= _LONGEST_MARK:
        return
    alone = link == DIRECT and is_single and outline.links[first] and tag not in HEADINGS
    length = len(text)
    running = length >= _RUNNING_CJK and linked * 2 < length and tag not in HEADINGS
    if running and length < _RUNNING:
        running = has_cjk(text)
    found.append(Block(text, NAME_OF[tag], linked, place >> 1, first, end, alone, running))


def _linked(outline: Outline, first: int, end: int, is_linked: bool) -> int:
    """Characters of a line's texts that are in links which are in the same block element."""
    found = 0
    for index in range(first, end):
        if is_linked or outline.links[index]:
            is_linked = outline.holder(outline.nodes[index])[2] > 0
            if is_linked:
                found += len(outline.texts[index])
    return found


def _goes_on(text: LexborNode) -> bool:
    """Whether a node follows a text in its block element."""
    above: LexborNode | None = text
    while above is not None and above.tag_id not in NAME_OF:
        if above.next is not None:
            return True
        above = above.parent
    return False


def _are_apart(text: LexborNode, following: LexborNode) -> bool:
    """Whether a text of blanks is between two texts."""
    return _is_blank(text, "next") or _is_blank(following, "prev")


def _is_blank(text: LexborNode, side: Literal["next", "prev"]) -> bool:
    """Whether the next node on one side of a text, apart from comments, is a text of blanks in its block element."""
    above: LexborNode | None = text
    while above is not None and above.tag_id not in NAME_OF:
        beside: LexborNode | None = getattr(above, side)
        for _ in range(_MAX_COMMENTS):
            if beside is None or not beside.is_comment_node:
                break
            beside = getattr(beside, side)
        if beside is not None:
            return beside.tag_id == TEXT and beside.is_empty_text_node
        above = above.parent
    return False
