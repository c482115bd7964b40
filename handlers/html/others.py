"""Parts of a page that are not its author's: reviews, comments, answers. And whether a page is an event's.

Dates, names, figures and citations of such parts are not the page's. The day of an event is no day of publication.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from handlers.html.hints import BESIDE, EVENT, OTHERS
from handlers.html.marks import Near
from handlers.html.outline import NAME_OF, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData

_NUMBERING = re.compile(r"[\d\W_]+")
_SEGMENT = re.compile(r"[^\W\d_]+")
_MAX_HEADING = 60
_MAX_HEADINGS = 400
_HEAD_TEXTS = 14
_MAX_LABEL = 40
_MAX_INSIDE = 6


class OthersWords:
    """The configured words, ready for look-up."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.headings = frozenset(_plain(heading) for heading in reading.others_headings)
        self.events = frozenset(reading.event_hints)
        self.event_labels = tuple(label.casefold() for label in reading.event_labels)
        self.thing_labels = tuple(label.casefold() for label in reading.thing_labels)


class Others:
    """Which parts of one page are others'."""

    def __init__(self, outline: Outline, near: Near, words: OthersWords) -> None:
        self._outline = outline
        self._words = words
        begin = near.heading if near.heading >= 0 else near.first
        self._begin = begin
        self._nodes: set[int] | None = None
        # An element that holds the heading too is the page's own, whatever it is called.
        self._own = frozenset(outline.around(outline.element_of(begin))) if begin < len(outline.texts) else frozenset()
        self._known: dict[int, bool] = {-1: False}
        self._sections = _sections(outline, begin, words)

    def holds(self, element: int, index: int = -1) -> bool:
        """Whether a block element, or the text ``index`` in it, is in a part of others."""
        return (
            self._is_inside(element)
            or (index > self._begin and bool(self._said_by_line(index) & OTHERS))
            or (bool(self._sections) and any(index in section for section in self._sections))
        )

    def holds_node(self, element: int, node: LexborNode) -> bool:
        """Whether an element within a block element is in a part of others."""
        if self._nodes is None:
            parents = (self._outline.nodes[index].parent for section in self._sections for index in section)
            self._nodes = {above.mem_id for parent in parents for above in _line_elements(parent)}
        return node.mem_id in self._nodes or self.holds(element)

    def is_of_thing(self, line: str) -> bool:
        """Whether a line is of the data of a book or the like, whose day of publication stands beside it."""
        return _is_labelled(line, self._words.thing_labels)

    def dates_event(self, element: int, index: int = -1) -> bool:
        """Whether a date there is not the story's: in a part of others, or in what calls itself an event."""
        hint = self._outline.regions.hint
        return (
            self.holds(element, index)
            or bool(self._said_by_line(index) & EVENT)
            or any(hint(around) & EVENT for around in self._outline.around(element))
        )

    def _said_by_line(self, index: int) -> int:
        """What the elements say that hold nothing but the line of a text: a paragraph, those within it."""
        outline = self._outline
        found = 0
        for node in _line_elements(outline.nodes[index].parent if 0 <= index < len(outline.nodes) else None):
            found |= outline.hints.of_node(node)
        return found

    def _is_inside(self, element: int) -> bool:
        if (found := self._known.get(element)) is not None:
            return found
        passed = []
        while (found := self._known.get(element)) is None:
            passed.append(element)
            # A credit that counts comments is the story's own.
            if element not in self._own and self._outline.regions.hint(element) & (OTHERS | BESIDE) == OTHERS:
                found = True
                break
            element = self._outline.outer[element]
        self._known.update(dict.fromkeys(passed, found))
        return found


def _line_elements(node: LexborNode | None) -> Iterator[LexborNode]:
    """An element within a line and those around it, up to the one that holds the line."""
    for _ in range(_MAX_INSIDE):
        if node is None:
            break
        yield node
        if node.tag_id in NAME_OF:
            break
        node = node.parent


def is_event(outline: Outline, data: StructuredData, near: Near, url: str, words: OthersWords) -> bool:
    """Whether a page announces an event: by its type, its address, its classes, or labels beside its heading."""
    if data.type is not None and data.type.endswith("Event"):
        return True
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    folders = path.lower().split("/")[:-1]
    if any(not words.events.isdisjoint(_SEGMENT.findall(folder)) for folder in folders):
        return True
    begin = near.heading if near.heading >= 0 else near.first
    if begin >= len(outline.texts):
        return False
    if any(outline.regions.hint(element) & EVENT for element in outline.around(outline.element_of(begin))):
        return True
    lines = (block.text for block in outline.blocks(begin + 1, begin + _HEAD_TEXTS))
    return any(_is_labelled(line, words.event_labels) for line in lines)


def _is_labelled(line: str, labels: tuple[str, ...]) -> bool:
    """Whether a line begins with a label and ends with it, or goes on with a colon or a number."""
    line = line[:_MAX_LABEL].casefold()
    if not line.startswith(labels):
        return False
    rests = (line.removeprefix(label).lstrip() for label in labels if line.startswith(label))
    return any(not rest or rest[0] in ":：" or rest[0].isdigit() for rest in rests)


def _sections(outline: Outline, begin: int, words: OthersWords) -> tuple[range, ...]:
    """Stretches of texts below headings such as "Comments", each up to a heading of the same or a higher level."""
    found: list[range] = []
    opened: tuple[int, str] | None = None
    headings = [block for block in outline.blocks(begin + 1) if block.tag[0] == "h" and block.tag[1:].isdigit()]
    for block in headings[:_MAX_HEADINGS]:
        if opened is not None and block.tag <= opened[1]:
            found.append(range(opened[0], block.start))
            opened = None
        if opened is None and len(block.text) <= _MAX_HEADING and _plain(block.text) in words.headings:
            opened = (block.start, block.tag)
    if opened is not None:
        found.append(range(opened[0], len(outline.texts)))
    return tuple(found)


def _plain(heading: str) -> str:
    """Without numbers and signs: "12 Comments", "Reviews (3)"."""
    return " ".join(_NUMBERING.sub(" ", heading.casefold()).split())
