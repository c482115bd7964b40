"""The content of a page, by the places of the site's template that its lines are in.

A template puts lines of one kind in elements of one make: the posts of a thread, the titles and the prices of cards,
the counters beside a user's name. Trees decide about each such place as a whole, by measures of its lines, of the
elements around it and of the page. So cards and posts are kept or left out together, and some 30 decisions make a page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from handlers.html.hints import OTHERS, PLACES
from handlers.html.main_text import CONTAINERS, MainText
from handlers.html.outline import HEADING_NAMES, Block, Outline
from handlers.trees.forest import Forest

_LEAST_CHARACTERS = 200
"""Of a page: with fewer there is too little to measure, and the story is the content."""
_LONG = 80
_SHORT = 60
_LINK_WORTH = 0.7
"""What a character inside of a link counts in the choice of a container."""
_REPEATED = 3
_MOSTLY = 0.5
_SURE = -0.32
"""Log-odds from which on a place is content. A missed line costs more than a superfluous one."""
_SURE_BESIDE, _STORY_PAGE = 1.0, 0.55
"""The same for places outside the story, where the story is more than this share of the page: boxes and teasers."""
_NUMBERS = re.compile(r"\d+")
_MAX_NAMES = 200
_ENDS = ".!?。！？"
_PRICE = re.compile(r"[$€£¥₹] ?\d|\d ?[$€£]")
_KINDS = dict.fromkeys(HEADING_NAMES, 1) | {"p": 2, "li": 3, "td": 4, "th": 4, "dt": 5, "dd": 5}
_ABOVE = 4
"""Elements around a place that are measured, the innermost first."""
_AROUND = tuple(tuple(f"{what} {level}" for what in ("text", "links", "prose", "lines")) for level in range(_ABOVE))
_INSIDE = {name: 1 << bit for bit, name in enumerate(("main", "article", "header", "section"))}
_MARKS_BITS = 16
_MARKS = (1 << _MARKS_BITS) - 1
_TYPES = {
    "product": ('"Product', "schema.org/Product", "product"),
    "article": ('Article"', "Posting", "article"),
    "thread": ('"DiscussionForum', "schema.org/QAPage", "forum"),
}
"""Signs of a page's type: in JSON-LD, in the types of microdata, and in ``og:type``."""


@dataclass(slots=True)
class Place:
    """Lines in elements of the same make, with sums over them."""

    element: int
    marks: int
    blocks: list[Block] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    characters: int = 0
    longest: int = 0
    linked: int = 0
    ends: int = 0
    repeated: int = 0
    early: int = 0
    prices: int = 0
    kept: int = 0
    narrow: int = 0
    wide: int = 0


def content(outline: Outline, story: MainText, forest: Forest, max_characters: int) -> str:
    """The content of a page, one line each; its story if there are no trees, or too little to measure."""
    blocks = outline.lines_with_links()
    if not forest.is_grown or sum(len(block.text) for block in blocks) < _LEAST_CHARACTERS:
        return story.text
    chosen: set[int] = set()
    of_page, places = measured(outline, blocks, story)
    left = forest.left(of_page)
    marked: dict[int, int] = {}
    sure_beside = _SURE_BESIDE if of_page["page story"] > _STORY_PAGE else _SURE
    for place, measures in places:
        so_far = marked.get(place.marks)
        if so_far is None:
            so_far = marked[place.marks] = forest.left(marks(place), left)
        scores = forest.reached(forest.left(measures, so_far))
        sure = _SURE if measures["story"] >= _MOSTLY else sure_beside
        if scores[1] - scores[0] > sure or _has_prices_of_cards(place):
            chosen.update(place.numbers)
    return "\n".join(blocks[number].text for number in sorted(chosen))[:max_characters]


def _has_prices_of_cards(place: Place) -> bool:
    """Whether a place in the container has prices; reference texts often lack them, but readers ask for them."""
    count = len(place.blocks)
    return count >= _REPEATED and place.prices > _MOSTLY * count and place.narrow > _MOSTLY * place.characters


def marks(place: Place) -> dict[str, float]:
    """What the names and the tags of the elements around a place say: measures of few values, shared by many places."""
    own, around, inside = (place.marks >> shift & _MARKS for shift in (0, _MARKS_BITS, 2 * _MARKS_BITS))
    found: dict[str, float] = {"others": own & OTHERS > 0, "others around": around & OTHERS > 0}
    for name, bit in PLACES.items():
        found[name] = own & bit > 0
        found[f"{name} around"] = around & bit > 0
    return found | {name: inside & bit > 0 for name, bit in _INSIDE.items()}


def measured(
    outline: Outline, blocks: list[Block], story: MainText
) -> tuple[dict[str, float], Iterator[tuple[Place, dict[str, float]]]]:
    """The measures of a page, and its places, each with its own measures besides ``marks``."""
    sums = _Sums(outline, blocks)
    heading = next((number for number, block in enumerate(blocks) if block.tag == "h1"), -1)
    seen = Counter(block.text for block in blocks)
    places = _places(outline, blocks, story, sums, heading, seen)
    total, count = sums.text[0] or 1, len(blocks)
    of_page: dict[str, float] = {
        "page narrow": sum(place.narrow for place in places) / total,
        "page places": len(places),
        "page main": sum(sums.text[element] for element, tag in enumerate(outline.tags) if tag == "main") / total,
        "page story": sum(place.kept for place in places) / total,
        "page linked": sums.linked[0] / total,
        "page prose": sums.prose[0] / total,
        "page lines": count,
        "page repeated": sum(place.repeated for place in places) / count,
        "page prices": sum(place.prices for place in places) / count,
        "page times": len(outline.times),
    }
    kind = " ".join(outline.meta.get("og:type", ()))
    items = " ".join((*outline.item_types, *outline.part_types))
    for name, (script, item, meta) in _TYPES.items():
        stated = any(script in text for text in outline.json_ld)
        of_page[f"page {name}"] = stated + (item in items) + (meta in kind.lower())
    return of_page, ((place, _measures(place, outline, sums, heading, total, count)) for place in places)


def _places(
    outline: Outline, blocks: list[Block], story: MainText, sums: _Sums, heading: int, seen: Counter[str]
) -> list[Place]:
    told = {block.start for block in story.blocks}
    makes: dict[int, str] = {-1: ""}
    known: dict[str, str] = {}
    of_element: dict[int, tuple[str, str, bool]] = {}
    places: dict[tuple[str, tuple[str, str, bool]], Place] = {}
    narrow, wide, hides, outer = sums.narrow, sums.wide, outline.regions.hides, outline.outer
    for number, block in enumerate(blocks):
        element, text = block.element, block.text
        length = len(text)
        where = of_element.get(element)
        if where is None:
            around = outer[element]
            for one in (element, around):
                if one not in makes:
                    makes[one] = _make(outline, one, known)
            where = of_element[element] = makes[element], makes[around], hides(element)
        place = places.get((block.tag, where))
        if place is None:
            place = places[block.tag, where] = Place(element, sums.marks(element))
        place.blocks.append(block)
        place.numbers.append(number)
        place.characters += length
        place.linked += block.linked
        if length > place.longest:
            place.longest = length
        if text[-1] in _ENDS:
            place.ends += 1
        if seen[text] >= _REPEATED:
            place.repeated += 1
        if number < heading:
            place.early += 1
        if length < _SHORT and _PRICE.search(text):
            place.prices += 1
        if block.start in told:
            place.kept += length
        if narrow[element]:
            place.narrow += length
        if wide[element]:
            place.wide += length
    return list(places.values())


def _make(outline: Outline, element: int, known: dict[str, str]) -> str:
    """Tag and first class names of an element; numbers in names count states, sizes and items."""
    names = outline.elements[element].attrs.get("class")
    if not names:
        return outline.tags[element]
    make = known.get(names)
    if make is None:
        make = known[names] = " ".join(_NUMBERS.sub("", names[:_MAX_NAMES]).split()[:2])
    return f"{outline.tags[element]} {make}"


def _measures(place: Place, outline: Outline, sums: _Sums, heading: int, total: int, lines: int) -> dict[str, float]:
    """What the trees ask about a place."""
    element, characters, count = place.element, place.characters, len(place.blocks)
    first, last = place.numbers[0], place.numbers[-1]
    regions = outline.regions
    elements = {block.element for block in place.blocks}
    measures: dict[str, float] = {
        "narrow": place.narrow / characters,
        "wide": place.wide / characters,
        "beside": regions.is_beside(element),
        "hidden": regions.hides(element),
        "share": characters / total,
        "story": place.kept / characters,
        "longest": place.longest,
        "mean": characters / count,
        "lines": count,
        "linked": place.linked / characters,
        "kind": _KINDS.get(place.blocks[0].tag, 0),
        "ends": place.ends / count,
        "repeated": place.repeated / count,
        "early": place.early / count,
        "prices": place.prices / count,
        "from heading": first - heading if heading >= 0 else -99,
        "first": first / lines,
        "last": last / lines,
        "spread": (last - first) / lines,
        "depth": sums.depth[element],
        "elements": len(elements),
        "groups": len({outline.outer[one] for one in elements}),
        "distinct": len({block.text for block in place.blocks}) / count,
    }
    for names, one in zip(_AROUND, islice(outline.around(element), _ABOVE), strict=False):
        text = sums.text[one] or 1
        values = text / total, sums.linked[one] / text, sums.prose[one] / text, sums.lines[one]
        measures.update(zip(names, values, strict=True))
    return measures


class _Sums:
    """Sums over the lines inside of each block element, and what is known of the elements around it."""

    def __init__(self, outline: Outline, blocks: list[Block]) -> None:
        self._tags, self._outer = outline.tags, outline.outer
        count = len(self._tags)
        self.text, self.linked, self.prose, self.lines = ([0] * count for _ in range(4))
        self.hints, self.inside, self.depth = ([0] * count for _ in range(3))
        worth, plain = [0.0] * count, [0.0] * count
        regions = outline.regions
        counted: dict[int, tuple[bool, bool]] = {}
        for block in blocks:
            element, length, linked = block.element, len(block.text), block.linked
            self.text[element] += length
            self.linked[element] += linked
            self.lines[element] += 1
            if length >= _LONG and linked * 2 < length:
                self.prose[element] += length
            if element not in counted:
                counted[element] = regions.hides(element), regions.is_beside(element)
            is_hidden, is_beside = counted[element]
            if not is_hidden:
                value = length - (1 - _LINK_WORTH) * linked
                worth[element] += value
                if not is_beside:
                    plain[element] += value
        # The index of an element is larger than those of the elements around it; the first is around all lines.
        for element in range(count - 1, 0, -1):
            around = self._outer[element]
            self.text[around] += self.text[element]
            self.linked[around] += self.linked[element]
            self.prose[around] += self.prose[element]
            self.lines[around] += self.lines[element]
            worth[around] += worth[element]
            plain[around] += plain[element]
        self._hint = hint = regions.hint
        self.hints[0] = hint(0)
        for element in [element for element in range(1, count) if self.lines[element]]:
            around = self._outer[element]
            self.hints[element] = self.hints[around] | hint(element)
            self.inside[element] = self.inside[around] | _INSIDE.get(self._tags[element], 0)
            self.depth[element] = self.depth[around] + 1
        self.narrow, self.wide = self._container(plain, 0.6), self._container(worth, 0.7)

    def marks(self, element: int) -> int:
        """The bits of the names of an element, of those around it, and of the tags it is in."""
        above = self.hints[self._outer[element]]
        return self._hint(element) | above << _MARKS_BITS | self.inside[element] << 2 * _MARKS_BITS

    def _container(self, held: list[float], share: float) -> list[bool]:
        """Whether each element is inside of the smallest container with a share of the text."""
        best, least = 0, share * held[0]
        for element, length in enumerate(held):
            if length >= least and self._tags[element] in CONTAINERS:
                best = element
        inside = [False] * best + [True] + [False] * (len(held) - best - 1)
        for element in range(best + 1, len(held)):
            inside[element] = self._outer[element] >= best and inside[self._outer[element]]
        return inside
