"""The places of a site's template that the lines of a page are in, and the measures that trees ask about.

A place is all lines with the same tag, in elements of one make. Its measures are those of its lines, of the elements
around it and of the page; no text of a line is a measure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from handlers.html.hints import BOILERPLATE, LANDMARKS, OTHERS, plain
from handlers.html.nodes import HEADING_NAMES
from handlers.html.outline import Block, Outline

CONTAINERS = frozenset(
    ("html", "body", "div", "section", "article", "main", "td", "center", "form", "fieldset", "figure", "table")
)
_LINKED = 0.8
"""Share of a paragraph that is in links, from which on it is a place of its own."""
_LONG = 80
_SHORT = 60
_LEAST_SHARE = 0.006
"""Of a page's characters: half of the places have fewer. Trees gain nothing from asking about them."""
_MOSTLY = 0.6
_LINK_COST = 3
"""Tenths of a character in the choice of a container, by which one inside of a link counts less."""
_LEAST_CARDS, _LEAST_LINK, _OPENING = 3, 13, 4
"""Cards side by side; characters of the link to another page; lines of a card among which it is."""
_PRICE = re.compile(r"[$€£¥₹₩₺₽] ?\d|\d\s?(?:[$€£₺₽₫원]|[円元](?![\u3040-\u9fff])|(?:zł|Kč|руб)\b)")
_KINDS = {"p": 2, "li": 3, "td": 4, "th": 4, "dt": 5, "dd": 5, "button": 6, "label": 7}
_KINDS |= dict.fromkeys(HEADING_NAMES, 1)
_ABOVE = 3
"""Elements around a place that are measured, the innermost first."""
_MARKS_BITS = 16
_MARKS = (1 << _MARKS_BITS) - 1
_TYPES = {"product": ('"Product', "schema.org/Product", "product"), "article": ('Article"', "Posting", "article")}
"""Signs of a page's type: in JSON-LD, in the types of microdata, and in ``og:type``."""


OF_PAGE = (
    *("page narrow", "page places", "page main", "page body", "page body share", "page body lines", "page linked"),
    *("page prose", "page lines", "page cards", "page beyond cards", "page lines beyond cards"),
    *(f"page {name}" for name in _TYPES),
)
OF_PLACE = (
    *("narrow", "beside", "hidden", "share", "longest", "mean", "lines", "linked", "kind", "prices"),
    *("from heading", "first", "last", "spread", "depth", "below others", "below link", "in cards", "beyond"),
    *("in body", "body text"),
    *(f"{what} {level}" for level in range(_ABOVE) for what in ("text", "links")),
)
_MARKED = {"others": OTHERS, "boilerplate": BOILERPLATE}
OF_MARKS = (*(f"{name}{where}" for name in _MARKED for where in ("", " around")), *LANDMARKS)
"""The measures, in the order in which they are found; those of marks have few values, shared by many places."""


@dataclass(slots=True)
class Place:
    """Lines in elements of the same make.

    Attributes:
        element: The element around the first line.
        tag: Of the lines.
        numbers: The lines in page order.
        characters: The length of the lines.
    """

    element: int
    tag: str
    numbers: list[int] = field(default_factory=list)
    characters: int = 0


def marks(said: int) -> list[float]:
    """What the names and the tags of the elements around a place say (``_said``), as ``OF_MARKS``."""
    own, around, inside = (said >> shift & _MARKS for shift in (0, _MARKS_BITS, 2 * _MARKS_BITS))
    bits = [(own & bit, around & bit) for bit in _MARKED.values()]
    return [*(bit > 0 for pair in bits for bit in pair), *(inside & bit > 0 for bit in LANDMARKS.values())]


def measured(outline: Outline, blocks: list[Block]) -> tuple[list[float], Iterator[tuple[Place, int, list[float]]]]:
    """The measures of a page as ``OF_PAGE``, and its places, each with its marks and its measures as ``OF_PLACE``.

    A place with few of the characters is left out, unless it has headings.
    """
    sums = _Sums(outline, blocks)
    total, count = sums.text[-1], len(blocks)
    places = _places(outline, blocks, sums)
    mains = [element for element, tag in enumerate(outline.tags) if tag == "main"]
    kind = " ".join(outline.meta.get("og:type", ())).lower()
    items = " ".join((*outline.item_types, *outline.part_types))
    of_page: list[float] = [
        (sums.text[sums.narrow[1]] - sums.text[sums.narrow[0]]) / total,
        len(places),
        sum([sums.inside(sums.text, element) for element in mains]) / total,
        sums.body_prose,
        sums.body_prose / total,
        sums.body_lines,
        sums.linked[-1] / total,
        sums.prose[-1] / total,
        count,
        *sums.of_cards,
        *(
            any(script in text for text in outline.json_ld) + (item in items) + (meta in kind)
            for script, item, meta in _TYPES.values()
        ),
    ]
    least = _LEAST_SHARE * total
    large = [place for place in places if place.characters >= least or place.tag in HEADING_NAMES]
    return of_page, _measures(large, outline, blocks, sums)


def _places(outline: Outline, blocks: list[Block], sums: _Sums) -> list[Place]:
    found: list[Place] = []
    makes: dict[tuple[str, str, str, str, bool], dict[str, Place]] = {}
    of_element: dict[int, dict[str, Place]] = {}
    tags, outer, stems = outline.tags, outline.outer, outline.regions.makes
    for number, (block, is_hidden) in enumerate(zip(blocks, sums.hidden, strict=True)):
        element, tag = block.element, block.tag
        if tag == "p" and block.linked >= _LINKED * len(block.text):
            # Between the paragraphs of a story, such a one leads to another page.
            tag = "a"
        by_tag = of_element.get(element)
        if by_tag is None:
            around = outer[element]
            above = (tags[around], stems[around]) if around >= 0 else ("", "")
            make = tags[element], stems[element], *above, is_hidden
            by_tag = of_element[element] = makes.setdefault(make, {})
        place = by_tag.get(tag)
        if place is None:
            place = by_tag[tag] = Place(element, block.tag)
            found.append(place)
        place.numbers.append(number)
        place.characters += len(block.text)
    return found


def _measures(
    places: list[Place], outline: Outline, blocks: list[Block], sums: _Sums
) -> Iterator[tuple[Place, int, list[float]]]:
    """What the trees ask about each place."""
    regions, outer = outline.regions, outline.outer
    total, lines, heading = sums.text[-1], len(blocks), sums.heading
    known: dict[int, tuple[float, float]] = {-1: (0, 0)}
    for place in places:
        element, numbers, characters = place.element, place.numbers, place.characters
        count, first, last = len(numbers), numbers[0], numbers[-1]
        inside = [blocks[number] for number in numbers]
        lengths = [len(block.text) for block in inside]
        begin, end = (bisect_left(numbers, number) for number in sums.narrow)
        measures = [
            sum(lengths[begin:end]) / characters,
            regions.beside[element],
            regions.hidden[element],
            characters / total,
            max(lengths),
            characters / count,
            count,
            sum([block.linked for block in inside]) / characters,
            _KINDS.get(place.tag, 0),
            sum([sums.prices[number] for number in numbers]) / count,
            first - heading if heading >= 0 else -99,
            first / lines,
            last / lines,
            (last - first) / lines,
            regions.depth[element],
            sum([sums.below_others[number] for number in numbers]) / count,
            sum([sums.below_link[number] for number in numbers]) / count,
            sum([sums.in_cards[number] for number in numbers]) / count,
            (first - sums.narrow[1]) / lines,
            (bisect_left(numbers, sums.body[1]) - bisect_left(numbers, sums.body[0])) / count,
            characters / (sums.body_prose + 1),
        ]
        around = element
        for _ in range(_ABOVE):
            values = known.get(around)
            if values is None:
                begin, end = sums.first[around], sums.after[around]
                text = sums.text[end] - sums.text[begin]
                values = known[around] = text / total, (sums.linked[end] - sums.linked[begin]) / text
            measures += values
            if around >= 0:
                around = outer[around]
        outside = regions.around[outer[element]] if outer[element] >= 0 else 0
        landmarks = regions.inside[element] << 2 * _MARKS_BITS
        yield place, regions.said[element] | outside << _MARKS_BITS | landmarks, measures


def below_others(outline: Outline, blocks: Sequence[Block]) -> list[bool]:
    """For each line, whether it is below a heading such as "Comments"."""
    found = []
    others, opened = outline.hints.others_headings, ""
    for block in blocks:
        if block.tag in HEADING_NAMES:
            if opened and block.tag <= opened:
                opened = ""
            if not opened and len(block.text) <= _SHORT and plain(block.text) in others:
                opened = block.tag
        found.append(bool(opened))
    return found


def _below_links(
    outline: Outline, blocks: Sequence[Block], first: Mapping[int, int], after: Mapping[int, int]
) -> list[bool]:
    """For each line, whether it follows a heading that is a link, in the element that holds more than that heading."""
    found = []
    title, end = outline.title.casefold(), 0
    for number, block in enumerate(blocks):
        if block.tag in HEADING_NAMES:
            end = 0
            if (
                block.linked * 2 > len(block.text)
                and block.text.casefold() not in title
                and "#" not in (outline.href(block.start) or "#")
            ):
                element = block.element
                while element >= 0 and after[element] - first[element] == 1:
                    element = outline.outer[element]
                end = after[element]
        found.append(number < end)
    return found


def extents(outline: Outline, blocks: Sequence[Block]) -> tuple[dict[int, int], dict[int, int]]:
    """The number of the first line inside of each block element, and the number behind its last line."""
    outer = outline.outer
    first: dict[int, int] = {-1: 0}
    after = {-1: len(blocks)}
    for number, block in enumerate(blocks):
        element = block.element
        while element not in first:
            first[element] = number
            element = outer[element]
    for number, block in zip(range(len(blocks), 0, -1), reversed(blocks), strict=True):
        element = block.element
        while element not in after:
            after[element] = number
            element = outer[element]
    return first, after


def _in_cards(
    outline: Outline, blocks: Sequence[Block], first: Mapping[int, int], after: Mapping[int, int]
) -> list[bool]:
    """For each line, whether it is in an element or a list item that, as others of its make, leads to another page."""
    groups: dict[tuple[int, str, str], list[tuple[int, int]]] = defaultdict(list)
    for element, start in first.items():
        if element >= 0:
            make = outline.regions.makes[element]
            groups[outline.outer[element], outline.tags[element], make].append((start, after[element]))
    for number, block in enumerate(blocks):
        if block.tag == "li":
            groups[block.element, block.tag, ""].append((number, number + 1))
    leads = [
        block.linked >= _LEAST_LINK and (block.linked * 2 > len(block.text) or outline.links[block.start])
        for block in blocks
    ]
    edges = [0] * (len(blocks) + 1)
    for spans in groups.values():
        if len(spans) < _LEAST_CARDS:
            continue
        if sum([True in leads[start : min(end, start + _OPENING)] for start, end in spans]) < _MOSTLY * len(spans):
            continue
        for start, end in spans:
            edges[start] += 1
            edges[end] -= 1
    return [around > 0 for around in islice(accumulate(edges), len(blocks))]


class _Sums:
    """Sums over the lines inside of each block element, and what is known of the elements around it.

    The lines of an element follow each other, so that sums over the first lines of the page tell those of any element.
    """

    def __init__(self, outline: Outline, blocks: list[Block]) -> None:
        regions = outline.regions
        self._tags, self._outer = regions.tags, regions.outer
        texts, links = [block.text for block in blocks], [block.linked for block in blocks]
        elements = [block.element for block in blocks]
        lengths = [len(text) for text in texts]
        prose = [
            length if length >= _LONG and linked * 2 < length else 0
            for length, linked in zip(lengths, links, strict=True)
        ]
        self.text, self.linked, self.prose = ([0, *accumulate(values)] for values in (lengths, links, prose))
        # Most lines are in ASCII and have no dollars; a search takes several times as long.
        self.prices = [
            length < _SHORT and ("$" in text or not text.isascii()) and _PRICE.search(text) is not None
            for text, length in zip(texts, lengths, strict=True)
        ]
        self.heading = next((number for number, block in enumerate(blocks) if block.tag == "h1"), -1)
        self.first, self.after = extents(outline, blocks)
        self.hidden, beside = ([said[element] for element in elements] for said in (regions.hidden, regions.beside))
        worth = [
            0 if is_beside else 10 * length - _LINK_COST * linked
            for is_beside, length, linked in zip(beside, lengths, links, strict=True)
        ]
        self.below_others = below_others(outline, blocks)
        self.below_link = _below_links(outline, blocks, self.first, self.after)
        self.in_cards = _in_cards(outline, blocks, self.first, self.after)
        running = [length for length, is_card in zip(prose, self.in_cards, strict=True) if length and not is_card]
        in_cards = sum([length for length, is_card in zip(lengths, self.in_cards, strict=True) if is_card])
        self.of_cards = in_cards / self.text[-1], sum(running), len(running)
        self.narrow = self._container(blocks, worth)
        direct: dict[int, list[int]] = {}
        for number, element in enumerate(elements):
            if prose[number] and not self.hidden[number] and blocks[number].tag != "li" and not self.below_link[number]:
                direct.setdefault(element, []).append(number)
        told = max(direct.values(), key=lambda numbers: sum([lengths[number] for number in numbers]), default=[])
        self.body = (told[0], told[-1] + 1) if told else (0, 0)
        self.body_prose = sum([lengths[number] for number in told])
        self.body_lines = len(told)

    def inside(self, sums: list[int], element: int) -> int:
        """The sum over the lines inside of an element."""
        return sums[self.after[element]] - sums[self.first[element]] if element in self.first else 0

    def _container(self, blocks: list[Block], worth: list[int]) -> tuple[int, int]:
        """The first line of the smallest container with most of the text, which is more than half, and its end."""
        sums = [0, *accumulate(worth)]
        least, middle = _MOSTLY * sums[-1], bisect_right(sums, sums[-1] / 2) - 1
        element = blocks[middle].element if sums[-1] else 0
        while element > 0 and (self._tags[element] not in CONTAINERS or self.inside(sums, element) < least):
            element = self._outer[element]
        return self.first[max(element, 0)], self.after[max(element, 0)]
