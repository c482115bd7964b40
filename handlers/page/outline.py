"""What is collected of a page in one walk: its texts in order, links, headings, metadata, and what is around a text.

``handlers.page.walk`` fills an ``Outline``; the readers of dates, bylines, text and citations work on it alone. A page
has hundreds of texts and elements, of which few matter. So the texts are kept as they came, and the rest is made where
somebody asks: the elements around a text, what their class names say, the blocks of a stretch of texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from handlers.page.hints import BOILERPLATE, Hints
from handlers.page.tags import NAME_OF, TEXT, A

_NAMED = frozenset(("div", "section", "ul", "ol", "dl", "header", "address", "figure", "table"))


@dataclass(slots=True)
class Block:
    """A run of text between block boundaries.

    Attributes:
        text: With whitespace collapsed.
        tag: Name of the block element that it stands in.
        linked: Characters of it that are inside links.
        element: Index of the block element that it stands in.
        start: Index of its first text.
        end: Index after its last text.
    """

    text: str
    tag: str
    linked: int
    element: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A place that says by its markup what it is.

    Attributes:
        name: ``itemprop:…``, ``rel:author``, ``time``, ``hint:byline`` or ``hint:date``.
        value: The attribute that states it, "" where there is none.
        text: Its text.
        distance: Texts between it and the beginning of the main text.
        boilerplate: Whether it stands in a sidebar, among comments or the like.
    """

    name: str
    value: str
    text: str
    distance: int
    boilerplate: bool


@dataclass(slots=True)
class Outline:
    """What one walk found.

    Attributes:
        texts: Texts in page order, as they stand in the page; those of blanks only are left out.
        nodes: The node of each text: a text node, or a long paragraph.
        places: Where each text is, as ``place`` says.
        lone: Indices of the texts of links with nothing beside them.
        linked: Characters inside links, of paragraphs that have some.
        breaks: Indices of the texts that a line break or a rule comes before.
        headings: Level and text of h1 to h3.
        headings_count: Headings h2 and h3 with text (R-194).
        hrefs: Addresses of links.
        stated: Elements with microdata or ``rel=author``.
        times: Elements ``time``, each with the index of the text after it.
        meta: Contents by lower-case name.
        item_types: Microdata types.
        json_ld: Texts of JSON-LD scripts.
        title: The window's title.
        language: As declared.
        named: Marks by class name found so far, by where the main text was taken to begin.
    """

    hints: Hints
    texts: list[str] = field(default_factory=list)
    nodes: list[LexborNode] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    lone: set[int] = field(default_factory=set)
    linked: dict[int, int] = field(default_factory=dict)
    breaks: set[int] = field(default_factory=set)
    headings: list[tuple[int, str]] = field(default_factory=list)
    headings_count: int = 0
    hrefs: list[str] = field(default_factory=list)
    stated: list[LexborNode] = field(default_factory=list)
    times: list[tuple[int, LexborNode]] = field(default_factory=list)
    meta: dict[str, list[str]] = field(default_factory=dict)
    item_types: list[str] = field(default_factory=list)
    json_ld: list[str] = field(default_factory=list)
    title: str = ""
    language: str = ""
    elements: list[LexborNode] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    outer: list[int] = field(default_factory=list)
    entered: dict[int, int] = field(default_factory=dict)
    named: dict[int, list[Mark]] = field(default_factory=dict)
    _said: dict[int, int] = field(default_factory=dict)
    _regions: dict[int, int] = field(default_factory=dict)
    _held: dict[int, int] = field(default_factory=dict)
    _hidden: dict[int, bool] = field(default_factory=dict)
    _total: int = 0
    _believed: bool = False
    _opened: int = 0
    _closed: int = 0
    _lines: list[Block] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def place(self, node: LexborNode | None) -> int:
        """Where a node is: twice the index of the block element around it, plus one inside a link; -2 for nowhere."""
        entered = self.entered
        passed: list[tuple[int, bool]] = []
        place = -2
        while node is not None:
            key = node.mem_id
            found = entered.get(key)
            if found is not None:
                place = found
                break
            passed.append((key, node.tag_id == A))
            node = node.parent
        for key, is_link in reversed(passed):
            place |= is_link
            entered[key] = place
        return place

    def element_of(self, index: int) -> int:
        """The block element that a text stands in; -1 for nowhere."""
        return self.places[index] >> 1

    def end(self, element: int) -> int:
        """Index of the first block element after all those inside of one."""
        return next(
            (later for later in range(element + 1, len(self.outer)) if self.outer[later] < element), len(self.outer)
        )

    def around(self, element: int) -> Iterator[int]:
        """A block element and those around it, the innermost first."""
        while element >= 0:
            yield element
            element = self.outer[element]

    def open(self, start: int, end: int) -> None:
        """Makes the blocks of the texts that are going to be asked for, once for all readers."""
        self._opened = max(start, 0)
        self._closed = min(end, len(self.texts))
        self._lines = self._blocks(self._opened, self._closed)
        self._starts = [block.start for block in self._lines]

    def blocks(self, start: int = 0, end: int | None = None) -> list[Block]:
        """The blocks that begin at the texts from ``start`` to before ``end``."""
        start = max(start, 0)
        end = len(self.texts) if end is None else min(end, len(self.texts))
        if start < self._opened or end > self._closed:
            return self._blocks(start, end)
        return self._lines[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def _blocks(self, start: int, end: int) -> list[Block]:
        found: list[Block] = []
        pieces: list[str] = []
        linked = 0
        texts, places, breaks, lone = self.texts, self.places, self.breaks, self.lone
        current = within = -1
        for index in range(start, end):
            if index in lone:
                current = -1
                continue
            text = texts[index]
            place = places[index]
            if pieces and (
                place >> 1 != current
                or index in breaks
                or not (text[0].isspace() or pieces[-1][-1].isspace() or self._touch(self.nodes[index], pieces))
            ):
                self._end(found, pieces, linked, within, start, index)
                pieces, linked = [], 0
            if not pieces:
                start = index
            current = within = place >> 1
            pieces.append(text)
            if place & 1:
                linked += len(text)
            elif index in self.linked:
                linked += self.linked[index]
        if pieces:
            self._end(found, pieces, linked, within, start, end)
        return found

    def _end(self, found: list[Block], pieces: list[str], linked: int, element: int, start: int, end: int) -> None:
        # Blanks that HTML does not take for any, such as the one that does not break, are no text either.
        if text := " ".join((pieces[0] if len(pieces) == 1 else "".join(pieces)).split()):
            found.append(Block(text, self.tags[element], min(linked, len(text)), element, start, end))

    def _touch(self, node: LexborNode, pieces: list[str]) -> bool:
        """Whether two texts stand in one line; a blank between them is put into ``pieces``."""
        before: LexborNode | None = None
        above: LexborNode | None = node
        while above is not None and above.tag_id not in NAME_OF:
            before = above.prev
            if before is not None:
                break
            above = above.parent
        if before is None:
            return True
        tag = before.tag_id
        if tag == TEXT and before.is_empty_text_node:
            pieces.append(" ")
        return tag not in NAME_OF

    def hint(self, element: int) -> int:
        """What the class names and the id of a block element say (``handlers.page.hints``)."""
        known = self._said.get(element)
        if known is None:
            known = self._said[element] = self.hints.of_node(self.elements[element])
        return known

    def hide_boilerplate(self, running: list[tuple[int, int]]) -> None:
        """Decides which elements that call themselves navigation, comments and the like are believed.

        Frames and forum posts call themselves widgets and comments too: an element that holds more than half of the
        running text is none, and where hiding leaves next to nothing, nobody is believed.

        Args:
            running: Block elements with running text and its length; an element may come often.
        """
        held: dict[int, int] = {}
        self._total = sum(length for _, length in running)
        for element, length in running:
            region = self._region(element)
            held[region] = held.get(region, 0) + length
        for region in list(held):
            around = region
            while around >= 0 and (around := self._region(self.outer[around])) not in held:
                held[around] = 0
        # Those inside come after an element, so they are counted when its turn comes.
        for region in sorted(held, reverse=True):
            if region >= 0:
                held[self._region(self.outer[region])] += held[region]
        self._held = held
        self._hidden = {-1: False}
        self._believed = self._total > 0
        hidden = sum(length for element, length in running if self.is_boilerplate(element))
        self._believed = hidden * 4 < self._total * 3

    def is_boilerplate(self, element: int) -> bool:
        """Whether an element is inside of what is hidden."""
        if not self._believed:
            return False
        region = self._region(element)
        passed = []
        while (found := self._hidden.get(region)) is None:
            passed.append(region)
            if self._held.get(region, 0) * 2 <= self._total:
                found = True
                break
            region = self._region(self.outer[region])
        self._hidden.update(dict.fromkeys(passed, found))
        return found

    def _region(self, element: int) -> int:
        """The innermost element around an element, or itself, that calls itself boilerplate; -1 for none."""
        regions = self._regions
        passed = []
        found = -1
        while element >= 0:
            known = regions.get(element)
            if known is not None:
                found = known
                break
            passed.append(element)
            tag = self.tags[element]
            if tag == "form" or (tag in _NAMED and self.hint(element) & BOILERPLATE):
                found = element
                break
            element = self.outer[element]
        regions.update(dict.fromkeys(passed, found))
        return found
