"""The content of a page, by the places of the site's template that its lines are in.

A template puts lines of one kind in elements of one make: the posts of a thread, the titles and the prices of cards,
the counters beside a user's name. Trees decide about each such place as a whole, by measures of its lines, of the
elements around it and of the page. So cards and posts are kept or left out together, and some 30 decisions make a page.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from math import exp

from handlers.html.hints import OTHERS, PLACES
from handlers.html.main_text import CONTAINERS, MainText
from handlers.html.outline import HEADING_NAMES, Block, Outline
from handlers.trees.forest import Forest

_LEAST_CHARACTERS = 200
_STORY, _PROSE = 0.8, 0.6
"""Shares of a page's text: where the story and long lines have so much, trees gain nothing."""
_COPIED = 40
"""Characters of a line from which on the content has it once. Shorter ones are names, labels and prices of cards."""
_CAPTION = "figcaption"
_CAPTION_DEPTH = 3
"""Elements around a line among which a caption is looked for."""
_SUBHEADINGS = HEADING_NAMES - {"h1"}
_LINKED = 0.8
"""Share of a paragraph that is in links, from which on it is a place of its own."""
_CELLS = frozenset(("td", "th"))
_LONG = 80
_SHORT = 60
_LEAST_SHARE = 0.006
"""Of a page's characters: half of the places have fewer. Trees gain nothing from asking about them."""
_LINK_COST = 3
"""Tenths of a character in the choice of a container, by which one inside of a link counts less."""
_REPEATED = 3
_MOSTLY = 0.5
_DOUBT = 0.3
"""Taken from the log-odds: labels are of whole places, and a superfluous one costs more than the trees know."""
_DOUBT_BESIDE, _STORY_PAGE = 1.3, 0.55
"""The same for places outside the story, where the story is more than this share of the page: boxes and teasers."""
_UNLIKELY = 0.2
"""A place with a smaller chance is never content: there are pages without any."""
_ENDS = ".!?。！？"
_PRICE = re.compile(r"[$€£¥₹] ?\d|\d ?[$€£]")
_KINDS = dict.fromkeys(HEADING_NAMES, 1) | {"p": 2, "li": 3, "td": 4, "th": 4, "dt": 5, "dd": 5}
_ABOVE = 4
"""Elements around a place that are measured, the innermost first."""
_INSIDE = {name: 1 << bit for bit, name in enumerate(("main", "article", "header", "section"))}
_MARKS_BITS = 16
_MARKS = (1 << _MARKS_BITS) - 1
_TYPES = {
    "product": ('"Product', "schema.org/Product", "product"),
    "article": ('Article"', "Posting", "article"),
    "thread": ('"DiscussionForum', "schema.org/QAPage", "forum"),
}
"""Signs of a page's type: in JSON-LD, in the types of microdata, and in ``og:type``."""


OF_PAGE = (
    *("page narrow", "page places", "page main", "page story", "page linked", "page prose", "page lines"),
    *("page repeated", "page prices", "page times", *(f"page {name}" for name in _TYPES)),
)
OF_PLACE = (
    *("narrow", "wide", "beside", "hidden", "share", "story", "longest", "mean", "lines", "linked", "kind", "ends"),
    *("repeated", "early", "prices", "from heading", "first", "last", "spread", "depth"),
    *(f"{what} {level}" for level in range(_ABOVE) for what in ("text", "links", "prose")),
)
OF_MARKS = ("others", "others around", *(f"{name}{where}" for name in PLACES for where in ("", " around")), *_INSIDE)
"""The measures, in the order in which they are found; those of marks have few values, shared by many places."""
_NARROW, _LINES, _PRICES, _TOLD = map(OF_PLACE.index, ("narrow", "lines", "prices", "story"))


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


def content(outline: Outline, story: MainText, forest: Forest, max_characters: int) -> str:
    """The content of a page, one line each; its story if there are no trees, or if they are not needed."""
    blocks = outline.lines_with_links()
    if not forest.is_grown:
        return story.text
    if is_story(blocks, story):
        told = {block.start for block in story.blocks}
        numbers = [number for number, block in enumerate(blocks) if block.start in told]
        return _text(outline, blocks, numbers, max_characters)
    of_page, places = measured(outline, blocks, story)
    left = forest.left(forest.questions(OF_PAGE), of_page)
    of_place = forest.questions(OF_PLACE)
    found: list[tuple[float, Place]] = []
    chosen: list[int] = []
    doubt = _DOUBT_BESIDE if of_page[OF_PAGE.index("page story")] > _STORY_PAGE else _DOUBT
    for place, said, measures in places:
        (odds,) = forest.reached(forest.left(of_place, measures, left & forest.known(said, marks, OF_MARKS)))
        found.append((1 / (1 + exp((_DOUBT if measures[_TOLD] >= _MOSTLY else doubt) - odds)), place))
        if _has_prices_of_cards(measures):
            chosen += place.numbers
    chosen += [number for place in _likely(found) for number in place.numbers]
    return _text(outline, blocks, sorted(set(chosen)), max_characters)


def _text(outline: Outline, blocks: list[Block], chosen: list[int], max_characters: int) -> str:
    """The text of the chosen lines, without captions and copies, and without headings whose text is left out."""
    captions = {element for element, tag in enumerate(outline.tags) if tag == _CAPTION}
    shown = [
        number
        for number in chosen
        if (block := blocks[number]).tag != _CAPTION
        and (not captions or captions.isdisjoint(islice(outline.around(block.element), _CAPTION_DEPTH)))
    ]
    found = []
    for place, (number, after) in enumerate(pairwise([*shown, len(blocks)])):
        block = blocks[number]
        following = blocks[after].tag if after < len(blocks) else "h1"
        is_bare = after > number + 1 and following in HEADING_NAMES and following <= block.tag
        if not (is_bare and place and block.tag in _SUBHEADINGS):
            found.append(block)
    return "\n".join([line.text for line in once(found)])[:max_characters]


def _likely(found: list[tuple[float, Place]]) -> list[Place]:
    """The places that together have the highest expected F1, by how likely each is content.

    Where the trees are sure of some places, only such are taken; where they doubt all of a page, the best of these.
    """
    found.sort(key=lambda pair: pair[0], reverse=True)
    wanted = sum(share * place.characters for share, place in found)
    kept = length = highest = 0.0
    best = 0
    for count, (share, place) in enumerate(found, 1):
        kept += share * place.characters
        length += place.characters
        if share >= _UNLIKELY and kept > highest * (length + wanted):
            highest, best = kept / (length + wanted), count
    return [place for _, place in found[:best]]


def _has_prices_of_cards(measures: list[float]) -> bool:
    """Whether a place in the container has prices; reference texts often lack them, but readers ask for them."""
    return measures[_LINES] >= _REPEATED and measures[_PRICES] > _MOSTLY and measures[_NARROW] > _MOSTLY


def once(blocks: Sequence[Block]) -> list[Block]:
    """The lines without copies of long ones: quoted posts, previews, texts for another size of the screen."""
    seen: set[str] = set()
    found = []
    for block in blocks:
        if len(block.text) >= _COPIED and block.tag not in _CELLS:
            if block.text in seen:
                continue
            seen.add(block.text)
        found.append(block)
    return found


def is_story(blocks: list[Block], story: MainText) -> bool:
    """Whether the content of a page is its story: if there is too little to measure, or prose and little else."""
    total = sum([len(block.text) for block in blocks])
    if total < _LEAST_CHARACTERS:
        return True
    return sum([len(block.text) for block in story.blocks]) >= _STORY * total and (
        sum([len(block.text) for block in blocks if _is_prose(block)]) >= _PROSE * total
    )


def _is_prose(block: Block) -> bool:
    return len(block.text) >= _LONG and block.linked * 2 < len(block.text)


def marks(said: int) -> list[float]:
    """What the names and the tags of the elements around a place say (``_Sums.said``), as ``OF_MARKS``."""
    own, around, inside = (said >> shift & _MARKS for shift in (0, _MARKS_BITS, 2 * _MARKS_BITS))
    bits = [(own & bit, around & bit) for bit in (OTHERS, *PLACES.values())]
    return [*(bit > 0 for pair in bits for bit in pair), *(inside & bit > 0 for bit in _INSIDE.values())]


def measured(
    outline: Outline, blocks: list[Block], story: MainText
) -> tuple[list[float], Iterator[tuple[Place, int, list[float]]]]:
    """The measures of a page as ``OF_PAGE``, and its places, each with its marks and its measures as ``OF_PLACE``.

    A place with few of the characters is left out, unless it has headings.
    """
    sums = _Sums(outline, blocks, story)
    total, count = sums.text[-1], len(blocks)
    places = _places(outline, blocks, sums)
    mains = [element for element, tag in enumerate(outline.tags) if tag == "main"]
    kind = " ".join(outline.meta.get("og:type", ())).lower()
    items = " ".join((*outline.item_types, *outline.part_types))
    of_page: list[float] = [
        (sums.text[sums.narrow[1]] - sums.text[sums.narrow[0]]) / total,
        len(places),
        sum([sums.inside(sums.text, element) for element in mains]) / total,
        sum([len(block.text) for block in story.blocks]) / total,
        sums.linked[-1] / total,
        sums.prose[-1] / total,
        count,
        sum([times for times in sums.seen.values() if times >= _REPEATED]) / count,
        sum(sums.prices) / count,
        len(outline.times),
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
    # Class names without their numbers, which count states, sizes and items.
    stems: dict[int, str] = {-1: ""}
    makes: dict[tuple[str, str, str, str, bool], dict[str, Place]] = {}
    of_element: dict[int, dict[str, Place]] = {}
    tags, outer, names_of, stem = outline.tags, outline.outer, outline.regions.names_of, outline.hints.stem
    for number, (block, is_hidden) in enumerate(zip(blocks, sums.hidden, strict=True)):
        element, tag = block.element, block.tag
        if tag == "p" and block.linked >= _LINKED * len(block.text):
            # Between the paragraphs of a story, such a one leads to another page.
            tag = "a"
        by_tag = of_element.get(element)
        if by_tag is None:
            around = outer[element]
            for one in (element, around):
                if one not in stems:
                    stems[one] = stem(names_of(one))
            make = tags[element], stems[element], tags[around], stems[around], is_hidden
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
    regions, outer, seen = outline.regions, outline.outer, sums.seen
    total, lines, heading = sums.text[-1], len(blocks), sums.heading
    known: dict[int, tuple[float, float, float]] = {-1: (0, 0, 0)}
    for place in places:
        element, numbers, characters = place.element, place.numbers, place.characters
        count, first, last = len(numbers), numbers[0], numbers[-1]
        inside = [blocks[number] for number in numbers]
        texts = [block.text for block in inside]
        lengths = [len(text) for text in texts]
        narrow, wide = (
            sum(lengths[bisect_left(numbers, begin) : bisect_left(numbers, end)])
            for begin, end in (sums.narrow, sums.wide)
        )
        measures = [
            narrow / characters,
            wide / characters,
            regions.is_beside(element),
            regions.hides(element),
            characters / total,
            sum([len(block.text) for block in inside if block.start in sums.told]) / characters,
            max(lengths),
            characters / count,
            count,
            sum([block.linked for block in inside]) / characters,
            _KINDS.get(place.tag, 0),
            sum([text[-1] in _ENDS for text in texts]) / count,
            sum([seen[text] >= _REPEATED for text in texts]) / count,
            bisect_left(numbers, heading) / count,
            sum([sums.prices[number] for number in numbers]) / count,
            first - heading if heading >= 0 else -99,
            first / lines,
            last / lines,
            (last - first) / lines,
            sums.above(element)[2],
        ]
        around = element
        for _ in range(_ABOVE):
            values = known.get(around)
            if values is None:
                begin, end = sums.first[around], sums.after[around]
                text = sums.text[end] - sums.text[begin]
                links, prose = sums.linked[end] - sums.linked[begin], sums.prose[end] - sums.prose[begin]
                values = known[around] = text / total, links / text, prose / text
            measures += values
            if around >= 0:
                around = outer[around]
        yield place, sums.said(element), measures


class _Sums:
    """Sums over the lines inside of each block element, and what is known of the elements around it.

    The lines of an element follow each other, so that sums over the first lines of the page tell those of any element.
    """

    def __init__(self, outline: Outline, blocks: list[Block], story: MainText) -> None:
        self._tags, self._outer, self._hint = outline.tags, outline.outer, outline.regions.hint
        texts, links = [block.text for block in blocks], [block.linked for block in blocks]
        elements = [block.element for block in blocks]
        lengths = [len(text) for text in texts]
        prose = [
            length if length >= _LONG and linked * 2 < length else 0
            for length, linked in zip(lengths, links, strict=True)
        ]
        self.text, self.linked, self.prose = ([0, *accumulate(values)] for values in (lengths, links, prose))
        self.seen = Counter(texts)
        # Most lines are in ASCII and have no dollars; a search takes several times as long.
        self.prices = [
            length < _SHORT and ("$" in text or not text.isascii()) and _PRICE.search(text) is not None
            for text, length in zip(texts, lengths, strict=True)
        ]
        self.told = {block.start for block in story.blocks}
        self.heading = next((number for number, block in enumerate(blocks) if block.tag == "h1"), -1)
        outer = outline.outer
        self.first, self.after = first, after = {-1: 0}, {-1: len(blocks)}
        for number, element in enumerate(elements):
            while element not in first:
                first[element] = number
                element = outer[element]
        for number, element in zip(range(len(blocks), 0, -1), reversed(elements), strict=True):
            while element not in after:
                after[element] = number
                element = outer[element]
        self.hidden, beside = outline.regions.hidden_and_beside(elements)
        worth = [
            0 if is_hidden else 10 * length - _LINK_COST * linked
            for is_hidden, length, linked in zip(self.hidden, lengths, links, strict=True)
        ]
        plain = [0 if is_beside else value for is_beside, value in zip(beside, worth, strict=True)]
        self.narrow, self.wide = self._container(blocks, plain, 0.6), self._container(blocks, worth, 0.7)
        self._above: dict[int, tuple[int, int, int]] = {-1: (0, 0, -1)}

    def inside(self, sums: list[int], element: int) -> int:
        """The sum over the lines inside of an element."""
        return sums[self.after[element]] - sums[self.first[element]] if element in self.first else 0

    def said(self, element: int) -> int:
        """The bits of the names of an element, of those around it, and of the tags it is in."""
        hints = self.above(self._outer[element])[0]
        return self._hint(element) | hints << _MARKS_BITS | self.above(element)[1] << 2 * _MARKS_BITS

    def above(self, element: int) -> tuple[int, int, int]:
        """The bits of the names and of the tags of an element and those around it, and how many these are."""
        known = self._above
        passed = []
        while (found := known.get(element)) is None:
            passed.append(element)
            element = self._outer[element]
        for inner in reversed(passed):
            hints, tags, depth = found
            tags |= _INSIDE.get(self._tags[inner], 0)
            found = known[inner] = hints | self._hint(inner), tags, depth + 1
        return found

    def _container(self, blocks: list[Block], held: list[int], share: float) -> tuple[int, int]:
        """The first line of the smallest container with a share of the text, which is more than half, and its end."""
        sums = [0, *accumulate(held)]
        least, middle = share * sums[-1], bisect_right(sums, sums[-1] / 2) - 1
        element = blocks[middle].element if sums[-1] else 0
        while element > 0 and (self._tags[element] not in CONTAINERS or self.inside(sums, element) < least):
            element = self._outer[element]
        return self.first[max(element, 0)], self.after[max(element, 0)]
