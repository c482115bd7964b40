"""Places that hold an author or a date by their markup, and parts of a page that others than its author wrote.

Class names are read only around the heading and the beginning of the main text: elsewhere they belong to other stories.
Dates, names, figures and citations of reviews and comments are not the page's. The day of an event is no publication.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from selectolax.lexbor import LexborNode

from handlers.html.hints import BESIDE, BYLINE, DATE, EVENT, OTHERS, plain
from handlers.html.outline import HEADING_NAMES, NAME_OF, TEXT, Mark, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData
from handlers.html.walk import MARK_CHARACTERS, short_text
from schemas.addresses import web_address

_TEXTS_BEFORE = 16
_TEXTS_AFTER = 12
_TEXTS_BEFORE_HEADING = 4
_TEXTS_AFTER_HEADING = 20
_TEXTS_IN_HEAD = 14
_TEXTS_TO_HEADING = 60
_LONG_TEXT = 250
_MAX_STATED = 400
_MAX_ABOVE = 12
_MAX_HEADINGS = 30
_MIN_HEADING = 5
_MAX_NODES = 40
_PROPERTIES = frozenset(("datepublished", "datecreated", "author"))
_MEDIA = ("/imageobject", "/videoobject")
_OTHERS = ("/comment", "/answer", "/review", "/usercomments", *_MEDIA)
_SEGMENT = re.compile(r"[^\W\d_]+")
_MAX_OTHERS_HEADING = 60
_MAX_OTHERS_HEADINGS = 400
_HEAD_TEXTS = 14
_MAX_LABEL = 40
_MAX_INSIDE = 6
_LEAST_TEXT = 80


@dataclass(frozen=True, slots=True)
class Near:
    """Where the byline and the dateline of the page's own story are looked for.

    Attributes:
        first: Index of the text with which the main text begins.
        heading: Index of the first text of the page's heading; -1 without a heading.
        body: Index of the first long text below the heading. All texts between the two are the story's own.
        places: Ranges of texts around the two.
        named: Elements there with the class name of a byline or a date: the nearest first, boilerplate last.
    """

    first: int
    heading: int
    body: int
    places: tuple[range, ...]
    named: tuple[Mark, ...]

    def is_head(self, index: int) -> bool:
        """Whether a text is between the heading and the story."""
        return 0 <= self.heading < index < self.body

    def distance(self, index: int) -> int:
        """How many texts away from the heading or the main text a text is."""
        away = abs(index - self.first)
        return away if self.heading < 0 else min(away, abs(index - self.heading))


def look_near(outline: Outline, content_first: int) -> Near:
    """Finds the page's heading, and the bylines and dates around it and the beginning of the main text."""
    heading = _heading(outline, content_first)
    places = _places(len(outline.texts), content_first, heading)
    body = heading + _TEXTS_IN_HEAD if heading >= 0 else -1
    length = 0
    for index in range(heading + 1, min(body, len(outline.texts))):
        # A shorter one may be the summary of the story, with the byline below it.
        length += len(outline.texts[index])
        if length >= _LONG_TEXT:
            body = index
            break
    near = Near(content_first, heading, body, places, ())
    found: list[Mark] = []
    seen: set[int] = set()
    for place in places:
        _collect(outline, place, near, seen, found)
    found.sort(key=lambda mark: (mark.boilerplate, mark.distance))
    return Near(content_first, heading, body, places, tuple(found))


def stated_marks(story: Story) -> list[Mark]:
    """Microdata and rel=author anywhere on the page, in page order, except in parts that others wrote."""
    found: list[Mark] = []
    authors: list[tuple[int, LexborNode]] = []
    outline = story.outline
    for node in outline.stated[:_MAX_STATED]:
        attributes = node.attributes
        names = [
            f"itemprop:{name}" for name in (attributes.get("itemprop") or "").lower().split() if name in _PROPERTIES
        ]
        if "author" in (attributes.get("rel") or "").lower().split():
            names.append("rel:author")
        if names and not _is_others(node, outline):
            # An element that the walk removed with its footer has no place. An author that is stated there counts.
            place = outline.place(node)
            if place >= 0 and story.holds_node(place >> 1, node):
                continue
            hidden = place >= 0 and outline.regions.hides(place >> 1)
            value = _value(attributes)
            text = short_text(node)
            if "itemprop:author" in names and not value:
                value = _name_in(node)
            for name in names:
                authors += [(len(found), node)] if name.endswith("author") else []
                found.append(Mark(name, value, text, 0, hidden, place >> 1))
    if len(authors) > 1:
        places = {text.mem_id: index for index, text in enumerate(outline.nodes)}
        for number, node in authors:
            texts = (part.mem_id for part in islice(node.traverse(include_text=True), _MAX_NODES))
            index = next((places[text] for text in texts if text in places), -1)
            found[number] = replace(found[number], index=index)
    return found


def _heading(outline: Outline, first: int) -> int:
    """The first text of the heading that the title repeats, else of the first h1 outside boilerplate; -1 for none."""
    titles = [title.casefold() for title in (outline.title, *outline.meta.get("og:title", ())[:1]) if title]
    repeated = (
        text
        for _, text in outline.headings[:_MAX_HEADINGS]
        if len(text) > _MIN_HEADING and any(text.casefold() in title for title in titles)
    )
    longest = max(repeated, key=len, default="")
    texts = [longest] if longest else [text for level, text in outline.headings[:_MAX_HEADINGS] if level == 1]
    places = [place for text in texts if (place := _place_of(outline, text, first)) >= 0]
    shown = (place for place in places if not outline.regions.hides(outline.element_of(place)))
    return next(shown, places[0] if places else -1)


def _place_of(outline: Outline, text: str, first: int) -> int:
    """Where a heading is; -1 if it is not among the texts."""
    word = text.partition(" ")[0]
    # Menus and breadcrumbs may repeat it. The nearest to the text is the heading.
    near = range(max(0, first - _TEXTS_TO_HEADING), min(first + _TEXTS_TO_HEADING, len(outline.texts)))
    found = _find(outline.texts, near, text, word, first)
    return found if found >= 0 else _find(outline.texts, range(len(outline.texts)), text, word, first)


def _find(texts: list[str], places: range, text: str, word: str, first: int) -> int:
    """The text nearest to the main text that is the heading, else the first that is a large part of it; else -1."""
    begins = -1
    whole: list[int] = []
    for index in places:
        piece = texts[index]
        if word in piece and piece.lstrip().startswith(word):
            line = " ".join(piece[:MARK_CHARACTERS].split())
            if line == text:
                whole.append(index)
            elif begins < 0 and len(line) * 2 > len(text) and text.startswith(line):
                begins = index
    return min(whole, key=lambda index: abs(index - first), default=begins)


def _places(end: int, first: int, heading: int) -> tuple[range, ...]:
    around = range(max(0, first - _TEXTS_BEFORE), min(first + _TEXTS_AFTER, end))
    if heading < 0:
        return (around,)
    below = range(max(0, heading - _TEXTS_BEFORE_HEADING), min(heading + _TEXTS_AFTER_HEADING, end))
    if around.start <= below.stop and below.start <= around.stop:
        start = below.start if heading <= first else min(around.start, below.start)
        return (range(start, max(around.stop, below.stop)),)
    return below, around


def _collect(outline: Outline, place: range, near: Near, seen: set[int], found: list[Mark]) -> None:
    """Elements that call themselves a byline or a date, the inner ones before those around them."""
    for index in place:
        begins = place.start and index == place.start
        if len(outline.texts[index]) > _LONG_TEXT and not begins:
            continue
        element = outline.element_of(index)
        if begins:
            # These began before the range and are too large for a byline.
            seen.update(outline.around(element))
        nodes: list[tuple[LexborNode, int]] = []
        node = outline.nodes[index].parent
        while node is not None and node.tag_id not in NAME_OF and node.mem_id not in seen:
            seen.add(node.mem_id)
            nodes.append((node, outline.hints.of_node(node)))
            node = node.parent
        for around in outline.around(element):
            if around in seen:
                break
            seen.add(around)
            nodes.append((outline.elements[around], outline.regions.hint(around)))
        for node, hint in nodes:
            if hint & (BYLINE | DATE):
                hidden = outline.regions.hides(element) and not near.is_head(index)
                value, distance = _value(node.attributes), near.distance(index)
                if hint & BYLINE:
                    found.append(Mark("hint:byline", value, _apart(node), distance, hidden, element, index))
                if hint & DATE:
                    value = value or (node.attributes.get("title") or "")[:MARK_CHARACTERS]
                    found.append(Mark("hint:date", value, short_text(node), distance, hidden, element, index))


def _name_in(author: LexborNode) -> str:
    """The name among the properties of an author; "" without one near the beginning."""
    for node in islice(author.traverse(include_text=False), _MAX_NODES):
        attributes = node.attributes
        if "name" in (attributes.get("itemprop") or "").lower().split():
            return _value(attributes) or short_text(node)
    return ""


def _is_others(node: LexborNode, outline: Outline) -> bool:
    """Whether microdata belongs to a comment, an answer, a review, media beside the items, or an item of an aside."""
    items = outline.item_types
    above = node.parent
    for _ in range(_MAX_ABOVE):
        if above is None:
            return False
        kind = above.attributes.get("itemtype")
        if kind:
            others = _OTHERS if items != [kind] else _OTHERS[: -len(_MEDIA)]
            return kind.lower().rstrip("/").endswith(others) or _is_taken_out(above)
        above = above.parent
    return False


def _is_taken_out(node: LexborNode) -> bool:
    """Whether the walk took an element out of the page, with the aside around it."""
    for _ in range(_MAX_ABOVE):
        if (above := node.parent) is None:
            return node.tag_id in NAME_OF and node.tag != "html"
        node = above
    return False


def _apart(node: LexborNode) -> str:
    """The beginning of an element's text, one line for each text in it: names are in elements of their own."""
    texts = islice(node.traverse(include_text=True, skip_empty=True), _MAX_NODES)
    lines = (" ".join((part.text_content or "")[:MARK_CHARACTERS].split()) for part in texts if part.tag_id == TEXT)
    return "\n".join(line for line in lines if line)[:MARK_CHARACTERS]


def _value(attributes: dict[str, str | None]) -> str:
    return (attributes.get("content") or attributes.get("datetime") or "").strip()[:MARK_CHARACTERS]


class StoryWords:
    """The configured words, ready for look-up."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.events = frozenset(reading.event_hints)
        self.event_labels = tuple(label.casefold() for label in reading.event_labels)
        self.thing_labels = tuple(label.casefold() for label in reading.thing_labels)


class Story:
    """The page's own story: where it is, and which parts others than its author wrote.

    Attributes:
        outline: The page.
        near: Where the byline and the dateline are searched.
        begin: Index of the first text of the heading, or else of the main text.
    """

    def __init__(self, outline: Outline, near: Near, words: StoryWords) -> None:
        self.outline = outline
        self.near = near
        self._words = words
        begin = near.heading if near.heading >= 0 else near.first
        self.begin = begin
        self._nodes: set[int] | None = None
        # An element around the heading is the page's own, whatever its name is.
        self._own = frozenset(outline.around(outline.element_of(begin))) if begin < len(outline.texts) else frozenset()
        self._known: dict[int, bool] = {-1: False}
        self._said: dict[int, int] = {}
        self._of_node: dict[int, int] = {}
        self._held: dict[tuple[int, int], bool] = {}
        self._sections = _sections(outline, begin)

    @cached_property
    def stated(self) -> list[Mark]:
        """Microdata and rel=author, except in parts that others wrote."""
        return stated_marks(self)

    @property
    def heading(self) -> str:
        """The text of the page's heading; "" without one outside of boilerplate, such as a banner."""
        line = self.outline.line_at(self.near.heading) if self.near.heading >= 0 else None
        return "" if line is None or self.outline.regions.hides(line.element) else line.text

    def holds(self, element: int, index: int = -1) -> bool:
        """Whether a block element, or the text ``index`` in it, is in a part of others."""
        place = element, index
        found = self._held.get(place)
        if found is None:
            found = self._held[place] = (
                self._is_inside(element)
                or (index > self.begin and bool(self._said_by_line(index) & OTHERS))
                or (bool(self._sections) and any(index in section for section in self._sections))
            )
        return found

    def is_teased(self, index: int) -> bool:
        """Whether a text is below a further heading, such as "More from the web", without running text between."""
        return any(index in teaser for teaser in self._teasers)

    @cached_property
    def _teasers(self) -> tuple[range, ...]:
        found, opened, has_text, first = [], -1, False, max(self.begin, self.near.first)
        for block in self.outline.blocks(self.begin + 1):
            is_heading = block.tag in HEADING_NAMES
            if is_heading and has_text and opened < 0 and block.start > first:
                opened = block.start
            elif not is_heading and len(block.text) >= _LEAST_TEXT:
                has_text = True
                found += [range(opened, block.start)] if opened >= 0 else []
                opened = -1
        return (*found, range(opened, len(self.outline.texts))) if opened >= 0 else tuple(found)

    def is_own(self, element: int, index: int) -> bool:
        """Whether a text is the author's: not in a part of others, and not hidden unless it is below the heading."""
        is_shown = self.near.is_head(index) or not self.outline.regions.hides(element)
        return is_shown and not self.holds(element, index)

    def holds_node(self, element: int, node: LexborNode) -> bool:
        """Whether an inline element, which is in a block element, is in a part of others."""
        if self._nodes is None:
            parents = (self.outline.nodes[index].parent for section in self._sections for index in section)
            self._nodes = {above.mem_id for parent in parents for above in _line_elements(parent)}
        return node.mem_id in self._nodes or self.holds(element)

    def is_of_thing(self, line: str) -> bool:
        """Whether a line is of the data of a book or the like, which has a day of publication of its own."""
        return _is_labelled(line, self._words.thing_labels)

    def dates_event(self, element: int, index: int = -1) -> bool:
        """Whether a date there is not the story's: in a part of others, or in what calls itself an event."""
        hint = self.outline.regions.hint
        return (
            self.holds(element, index)
            or bool(self._said_by_line(index) & EVENT)
            or any(hint(around) & EVENT for around in self.outline.around(element))
        )

    def calls_byline(self, element: int, index: int) -> bool:
        """Whether the line of a text, or the element around it, calls itself a byline."""
        return bool((self._said_by_line(index) | self.outline.regions.hint(element)) & BYLINE)

    def _said_by_line(self, index: int) -> int:
        """The hints of the elements that hold only the line of a text."""
        found = self._said.get(index)
        if found is None:
            outline, of_node = self.outline, self._of_node
            found = 0
            node = outline.nodes[index].parent if 0 <= index < len(outline.nodes) else None
            for _ in range(_MAX_INSIDE):
                if node is None:
                    break
                identity = node.mem_id
                said = of_node.get(identity)
                if said is None:
                    said = of_node[identity] = outline.hints.of_node(node)
                found |= said
                if node.tag_id in NAME_OF:
                    break
                node = node.parent
            self._said[index] = found
        return found

    def _is_inside(self, element: int) -> bool:
        if (found := self._known.get(element)) is not None:
            return found
        passed = []
        while (found := self._known.get(element)) is None:
            passed.append(element)
            # A credit that counts comments is the story's own.
            if element not in self._own and self.outline.regions.hint(element) & (OTHERS | BESIDE) == OTHERS:
                found = True
                break
            element = self.outline.outer[element]
        self._known.update(dict.fromkeys(passed, found))
        return found


def _line_elements(node: LexborNode | None) -> Iterator[LexborNode]:
    """An inline element and those around it, up to the block element."""
    for _ in range(_MAX_INSIDE):
        if node is None:
            break
        yield node
        if node.tag_id in NAME_OF:
            break
        node = node.parent


def is_event(story: Story, data: StructuredData, url: str, words: StoryWords) -> bool:
    """Whether a page announces an event: by its type, its address, its classes, or labels beside its heading."""
    if data.type is not None and data.type.endswith("Event"):
        return True
    folders = web_address(url).path.lower().split("/")[:-1]
    if any(not words.events.isdisjoint(_SEGMENT.findall(folder)) for folder in folders):
        return True
    outline, begin = story.outline, story.begin
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


def _sections(outline: Outline, begin: int) -> tuple[range, ...]:
    """Stretches of texts below headings such as "Comments", each up to a heading of the same or a higher level."""
    found: list[range] = []
    opened: tuple[int, str] | None = None
    others = outline.hints.others_headings
    headings = [block for block in outline.blocks(begin + 1) if block.tag in HEADING_NAMES]
    for block in headings[:_MAX_OTHERS_HEADINGS]:
        if opened is not None and block.tag <= opened[1]:
            found.append(range(opened[0], block.start))
            opened = None
        if opened is None and len(block.text) <= _MAX_OTHERS_HEADING and plain(block.text) in others:
            opened = (block.start, block.tag)
    if opened is not None:
        found.append(range(opened[0], len(outline.texts)))
    return tuple(found)
