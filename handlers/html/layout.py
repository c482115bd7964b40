"""Where things are on a page by its heading and its content, and elements whose markup marks an author or a date.

Dates and authors are measured by their distance from the heading and from the lines that ``find_content`` chooses.
Class names are read only around the two: elsewhere they belong to other stories.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, takewhile

from selectolax.lexbor import LexborNode

from handlers.html.hints import BESIDE, BOILERPLATE, BYLINE, DATE, EVENT, OTHERS
from handlers.html.main_content import Content
from handlers.html.nodes import DEEPEST, HEADING_NAMES, MARK_CHARACTERS, NAME_OF, ancestors, short_text, texts_in
from handlers.html.outline import Outline
from handlers.html.structured_data import StructuredData
from handlers.html.template import below_others
from schemas.addresses import web_address
from schemas.pages import ContentEntry

_BEFORE, _AFTER = 16, 20
"""Texts before and after the heading, and the beginning of the content, that are read for marks."""
_LONG_TEXT = 250
_FAR = 200
_MAX_NODES, _MAX_INSIDE = 40, 6
_MIN_HEADING = 5
_HEAD_TEXTS, _MAX_LABEL = 14, 40


@dataclass(frozen=True, slots=True)
class Mark:
    """An element whose markup marks it as an author or a date.

    Attributes:
        name: ``itemprop:…``, ``rel:author``, ``hint:byline`` or ``hint:date``.
        value: The attribute that states it; "" without one.
        text: Its text, with one line for each text in it if it is a byline.
        index: Index of its first text, or of the one after it; -1 if the walk removed it.
        element: Index of the block element around it; -1 if unknown.
    """

    name: str
    value: str
    text: str
    index: int
    element: int


class Layout:
    """The heading and the content of a page, and where a text is by both.

    Attributes:
        first: Index of the text with which the first running line of the content begins.
        end: Index behind the last text of the content.
        heading: Index of the first text of the page's heading; -1 without a heading.
        body: Index of the text below the heading with which the content goes on; what is between is the head.
    """

    def __init__(self, outline: Outline, content: Content, entries: Sequence[ContentEntry] = ()) -> None:
        self.outline = outline
        self.first, self.end = content.first, content.end
        self.heading = _heading(outline, content.first)
        self._starts = [block.start for block in content.blocks]
        self._ends = [block.end for block in content.blocks]
        begin = self.heading if self.heading >= 0 else self.first
        self.begin = begin
        self.body, length = self.begin, 0
        for block in content.blocks[bisect_right(self._starts, begin) :]:
            # A shorter text may be the summary of the story, with the byline below it.
            self.body = block.start
            length += len(block.text)
            if length >= _LONG_TEXT:
                break
        # An element around the heading is the page's own, whatever its name is.
        self._own = frozenset(outline.around(outline.element_of(begin))) if begin < len(outline.texts) else frozenset()
        below = [block for block in outline.lines_with_links() if block.start > begin]
        self._others = [
            range(block.start, block.end)
            for block, is_others in zip(below, below_others(outline, below), strict=True)
            if is_others
        ]
        # The first post of a thread is the page's own, though it calls itself a reply. Below a text it is a comment.
        length = next((entry["end"] for entry in entries[:1] if entry["kind"] == "post"), 0)
        first = sum(begin < entries[0]["start"] for begin, _ in content.spans) if length else 0
        inside = sum(end <= length for _, end in content.spans)
        is_thread = inside and not any(block.running for block in content.blocks[:first])
        self._post = range(begin, self._ends[inside - 1] if is_thread else begin)
        self._said: list[int] = []
        self._of_node: dict[int, int] = {}

    @property
    def heading_text(self) -> str:
        """The text of the page's heading; "" without one outside of boilerplate, such as a banner."""
        line = self.outline.line_at(self.heading) if self.heading >= 0 else None
        return "" if line is None or self.outline.regions.hidden[line.element] else line.text

    @cached_property
    def near(self) -> tuple[range, ...]:
        """Ranges of texts around the heading and the beginning of the content, in page order."""
        anchors = sorted({self.begin, self.first})
        ranges = [range(max(0, at - _BEFORE), min(at + _AFTER, len(self.outline.texts))) for at in anchors]
        if len(ranges) > 1 and ranges[0].stop >= ranges[1].start:
            return (range(ranges[0].start, ranges[1].stop),)
        return tuple(ranges)

    def is_near(self, index: int) -> bool:
        """Whether a text is around the heading or the beginning of the content."""
        return any(index in place for place in self.near)

    def is_head(self, index: int) -> bool:
        """Whether a text is between the heading and the content below it."""
        return 0 <= self.heading < index < self.body

    def distance(self, index: int) -> int:
        """How many texts away from the heading or the beginning of the content a text is."""
        return min(abs(index - self.first), abs(index - self.begin))

    def measures(self, index: int, element: int) -> dict[str, float]:
        """What trees ask about the place of a text; ``element`` is the block element around it, or -1."""
        said = self.said(index, element)
        is_hidden = element >= 0 and self.outline.regions.hidden[element]
        place = bisect_right(self._starts, index) - 1
        return {
            "from heading": float(max(-_FAR, min(index - self.begin, _FAR))),
            "from text": float(max(-_FAR, min(index - self.first, _FAR))),
            "from end": float(max(-_FAR, min(index - self.end, _FAR))),
            "away": float(min(self.distance(index), _FAR) + _FAR * is_hidden),
            "head": float(self.is_head(index)),
            "early": index / (len(self.outline.texts) or 1),
            "content": float(place >= 0 and index < self._ends[place]),
            "hidden": float(is_hidden),
            "beside": float(said & BESIDE > 0),
            "boilerplate": float(said & BOILERPLATE > 0),
            "byline": float(said & BYLINE > 0),
        }

    def is_teased(self, index: int) -> bool:
        """Whether a text is below a further heading, such as "More from the web", without running text between."""
        place = bisect_left(self._parts[0], index) - 1
        return place >= 0 and self._parts[1][place]

    @cached_property
    def _parts(self) -> tuple[list[int], list[bool]]:
        """Headings and running lines below the page's heading: where each begins, and whether it is such a heading."""
        starts, teased, has_text = [], [], False
        for block in self.outline.blocks(self.begin + 1):
            if block.tag in HEADING_NAMES or block.running:
                # A heading without text above it is the summary of the story.
                has_text = has_text or block.running
                starts.append(block.start)
                teased.append(has_text and not block.running)
        return starts, teased

    def said(self, index: int, element: int) -> int:
        """What the elements around a text call themselves, inline and block elements, except those of the heading.

        A text below a heading such as "Comments" is others'.
        """
        said = self._said_inside(index) | self._said_around(element)
        if index in self._post:
            return said & ~OTHERS
        return said | OTHERS * any(index in line for line in self._others)

    def _said_around(self, element: int) -> int:
        known, regions = self._said, self.outline.regions
        for inner in range(len(known), element + 1):
            found = known[regions.outer[inner]] if regions.outer[inner] >= 0 else 0
            known.append(found if inner in self._own else found | _own_names(regions.said[inner]))
        return known[element] if element >= 0 else 0

    def _said_inside(self, index: int) -> int:
        """The hints of the elements that hold only the line of a text."""
        outline, of_node, found = self.outline, self._of_node, 0
        for node in ancestors(outline.nodes[index], _MAX_INSIDE) if 0 <= index < len(outline.nodes) else ():
            said = of_node.get(node.mem_id)
            if said is None:
                said = of_node[node.mem_id] = _own_names(outline.hints.of_node(node))
            found |= said
            if node.tag_id in NAME_OF:
                break
        return found

    @cached_property
    def stated(self) -> list[Mark]:
        """Microdata and rel=author anywhere on the page, in page order, except those of nested items of others."""
        outline = self.outline
        found: list[Mark] = []
        for node, names in outline.stated:
            value = _value(node.attributes) or (_name_in(node) if "itemprop:author" in names else "")
            # An element that the walk removed with its footer has no place. An author that is stated there counts.
            index, element = self._index_of(node), outline.place(node) >> 1
            found += [Mark(name, value, short_text(node), index, element) for name in names]
        return found

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {text.mem_id: index for index, text in enumerate(self.outline.nodes)}

    def _index_of(self, node: LexborNode) -> int:
        """The index of the first text of an element; -1 without one."""
        texts = (part.mem_id for part in islice(node.traverse(include_text=True), _MAX_NODES))
        return next((self._indexes[text] for text in texts if text in self._indexes), -1)

    @cached_property
    def named(self) -> list[Mark]:
        """Elements near the heading that call themselves a byline or a date, the inner ones before those around."""
        outline = self.outline
        found: list[Mark] = []
        for place in self.near:
            # What began before is too large for a byline.
            seen = {node.mem_id for node, _, _ in self._around(place.start - 1)} if place.start else set[int]()
            for index in place:
                if len(outline.texts[index]) > _LONG_TEXT:
                    continue
                for node, hint, element in self._around(index):
                    if node.mem_id in seen:
                        break
                    seen.add(node.mem_id)
                    if hint & BYLINE:
                        found.append(Mark("hint:byline", _value(node.attributes), _apart(node), index, element))
                    if hint & DATE:
                        value = _value(node.attributes) or (node.attributes.get("title") or "")[:MARK_CHARACTERS]
                        found.append(Mark("hint:date", value, short_text(node), index, element))
        return sorted(found, key=lambda mark: (outline.regions.hidden[mark.element], self.distance(mark.index)))

    def _around(self, index: int) -> Iterator[tuple[LexborNode, int, int]]:
        """The elements around a text, the innermost first, each with its hints and the text's block element."""
        outline = self.outline
        element = outline.element_of(index)
        for node in takewhile(lambda node: node.tag_id not in NAME_OF, ancestors(outline.nodes[index], DEEPEST)):
            yield node, outline.hints.of_node(node), element
        for block in outline.around(element):
            yield outline.elements[block], outline.regions.said[block], element


def is_event(layout: Layout, data: StructuredData, url: str) -> bool:
    """Whether a page announces an event: by its type, its address, its classes, or labels beside its heading."""
    if data.type is not None and data.type.endswith("Event"):
        return True
    outline, begin = layout.outline, layout.begin
    folders = web_address(url).path.lower().rpartition("/")[0]
    if outline.hints.of_words(folders) & EVENT:
        return True
    if begin >= len(outline.texts):
        return False
    if any(outline.regions.said[element] & EVENT for element in outline.around(outline.element_of(begin))):
        return True
    lines = (block.text for block in outline.blocks(begin + 1, begin + _HEAD_TEXTS))
    return any(is_labelled(line, outline.hints.event_labels) for line in lines)


def is_labelled(line: str, labels: tuple[str, ...]) -> bool:
    """Whether a line begins with a label and ends with it, or goes on with a colon or a number."""
    line = line[:_MAX_LABEL].casefold()
    if not line.startswith(labels):
        return False
    rests = (line.removeprefix(label).lstrip() for label in labels if line.startswith(label))
    return any(not rest or rest[0] in ":：" or rest[0].isdigit() for rest in rests)


def _heading(outline: Outline, first: int) -> int:
    """The first text of the heading that the title repeats, else of the first h1 outside boilerplate; -1 for none."""
    titles = [title.casefold() for title in (outline.title, *outline.meta.get("og:title", ())[:1]) if title]
    blocks = [block for block in outline.blocks() if block.tag in HEADING_NAMES and block.tag < "h4"]
    repeated = [
        block
        for block in blocks
        if len(block.text) > _MIN_HEADING and any(block.text.casefold() in title for title in titles)
    ]
    most = max((len(block.text) for block in repeated), default=0)
    # Menus and breadcrumbs may repeat it. The nearest to the content is the heading.
    found = sorted(
        (block for block in repeated if len(block.text) == most), key=lambda block: abs(block.start - first)
    ) or [block for block in blocks if block.tag == "h1"]
    shown = (block for block in found if not outline.regions.hidden[block.element])
    return next((block.start for block in chain(shown, found)), -1)


def _own_names(hint: int) -> int:
    """Hints of an element. A credit that counts comments is the story's own."""
    return hint & ~OTHERS if hint & BESIDE else hint


def _name_in(author: LexborNode) -> str:
    """The name among the properties of an author; "" without one near the beginning."""
    for node in islice(author.traverse(include_text=False), _MAX_NODES):
        attributes = node.attributes
        if "name" in (attributes.get("itemprop") or "").lower().split():
            return _value(attributes) or short_text(node)
    return ""


def _apart(node: LexborNode) -> str:
    """The beginning of an element's text, one line for each text in it: names are in elements of their own."""
    lines = (" ".join(text[:MARK_CHARACTERS].split()) for text in texts_in(node, _MAX_NODES))
    return "\n".join(line for line in lines if line)[:MARK_CHARACTERS]


def _value(attributes: dict[str, str | None]) -> str:
    return (attributes.get("content") or attributes.get("datetime") or "").strip()[:MARK_CHARACTERS]
