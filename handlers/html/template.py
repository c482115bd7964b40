"""The content of a page, by the places of the site's template that its lines are in.

A template puts lines of one kind in elements of one make: the posts of a thread, the titles and the prices of cards,
the counters beside a user's name. Trees decide about each such place as a whole, by measures of its lines, of the
elements around it and of the page. So cards and posts are kept or left out together, and some 30 decisions make a page.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from math import exp

from handlers.html.blocks import tables_of, type_blocks
from handlers.html.hints import BOILERPLATE, CONSENT, OTHERS, PLACES, plain
from handlers.html.outline import HEADING_NAMES, Block, Outline
from handlers.text.scripts import has_cjk
from handlers.trees.forest import Forest
from schemas.pages import ContentBlock

CONTAINERS = frozenset(
    ("html", "body", "div", "section", "article", "main", "td", "center", "form", "fieldset", "figure", "table")
)
_SHORT_PAGE, _PLAIN = 500, 0.9
"""Characters of a page, and share of running text in a page: all of its text outside of links is content."""
_RUNNING, _RUNNING_CJK = 40, 20
"""Characters of a line from which on it is running text."""
_COPIED = 40
"""Characters of a line from which on the content has it once. Shorter ones are names, labels and prices of cards."""
_CAPTION = "figcaption"
_DATA = "table,pre,blockquote"
_CAPTION_DEPTH = 3
"""Elements around a line among which a caption is looked for."""
_SUBHEADINGS = HEADING_NAMES - {"h1"}
_LINKED = 0.8
"""Share of a paragraph that is in links, from which on it is a place of its own."""
_CONTROLS = frozenset(("button", "label"))
_TOLD = HEADING_NAMES | {"p"}
"""Tags of lines that are a part of a plain page's text though they are links."""
_AGAIN = frozenset(("td", "th", "pre"))
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
_DOUBT_BELOW, _STORY, _STORY_LINES = 2.0, 600, 4
"""The same beside a story of so many characters and lines: below links to other pages, and headings of comments."""
_UNLIKELY = 0.2
"""A place with a smaller chance is never content: there are pages without any."""
_ENDS = ".!?。！？"
_COLONS = ":："
_PRICE = re.compile(r"[$€£¥₹] ?\d|\d ?[$€£]")
_KINDS = dict.fromkeys(HEADING_NAMES, 1) | {
    "p": 2,
    "li": 3,
    "td": 4,
    "th": 4,
    "dt": 5,
    "dd": 5,
    "button": 6,
    "label": 7,
}
_ABOVE = 4
"""Elements around a place that are measured, the innermost first."""
_INSIDE = {
    name: 1 << bit
    for bit, name in enumerate(("main", "article", "header", "section", "nav", "aside", "footer", "dialog"))
}
_MARKS_BITS = 16
_MARKS = (1 << _MARKS_BITS) - 1
_TYPES = {
    "product": ('"Product', "schema.org/Product", "product"),
    "article": ('Article"', "Posting", "article"),
    "thread": ('"DiscussionForum', "schema.org/QAPage", "forum"),
}
"""Signs of a page's type: in JSON-LD, in the types of microdata, and in ``og:type``."""


OF_PAGE = (
    *(
        "page narrow",
        "page places",
        "page main",
        "page body",
        "page body share",
        "page body lines",
        "page linked",
        "page prose",
        "page lines",
    ),
    *("page repeated", "page prices", "page times", *(f"page {name}" for name in _TYPES)),
)
OF_PLACE = (
    *("narrow", "wide", "beside", "hidden", "share", "longest", "mean", "lines", "linked", "kind", "ends"),
    *("repeated", "early", "prices", "from heading", "first", "last", "spread", "depth"),
    *("below others", "below link", "later", "depth of kin", "kin", "kin text", "beyond", "title"),
    *("in body", "beside body", "before body", "after body", "body text"),
    *(f"{what} {level}" for level in range(_ABOVE) for what in ("text", "links", "prose")),
)
_MARKED = {"others": OTHERS, "consent": CONSENT, "boilerplate": BOILERPLATE} | PLACES
OF_MARKS = (*(f"{name}{where}" for name in _MARKED for where in ("", " around")), *_INSIDE)
"""The measures, in the order in which they are found; those of marks have few values, shared by many places."""
_BODY, _BODY_LINES = map(OF_PAGE.index, ("page body", "page body lines"))
_NARROW, _LINES, _PRICES = map(OF_PLACE.index, ("narrow", "lines", "prices"))
_IN_BODY, _BELOW_LINK, _BELOW_OTHERS = map(OF_PLACE.index, ("in body", "below link", "below others"))


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


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page.

    Attributes:
        blocks: Its lines.
        typed: What they are.
        text: The lines as text; a row of a table is one line.
        first: Index of the text with which its first running line begins.
        end: Index behind its last text.
    """

    blocks: tuple[Block, ...]
    typed: tuple[ContentBlock, ...]
    text: str
    first: int
    end: int


def find_content(outline: Outline, forest: Forest, max_characters: int) -> Content:
    """The lines of a page that are its content, each once."""
    blocks = candidates(outline)
    in_tables = _lines_of_tables(outline, blocks)
    chosen = _whole_tables(blocks, in_tables, _chosen(outline, blocks, in_tables, forest))
    kept = _without_bare(outline, blocks, in_tables, chosen)
    text, typed = type_blocks(outline, kept, max_characters)
    end = kept[-1].end if kept else len(outline.texts)
    first = next((block.start for block in kept if is_running(block)), kept[0].start if kept else 0)
    return Content(tuple(kept), typed, text, first, end)


def candidates(outline: Outline) -> list[Block]:
    """The lines of which some are the content: all but those in navigation and the like that holds little."""
    blocks = outline.lines_with_links()
    if not blocks:
        return []
    heading = next((block.element for block in blocks if block.tag == "h1"), -1)
    lines = [(block.element, len(block.text), is_running(block)) for block in blocks]
    aside = outline.regions.set_aside(lines, heading)
    following = [*(is_running(block) and block.tag != "pre" for block in blocks[1:]), False]
    # A label or button is a heading if text follows it, as in accordions.
    blocks = [
        block
        for block, is_aside, is_followed in zip(blocks, aside, following, strict=True)
        if not is_aside and (is_followed or block.tag not in _CONTROLS)
    ]
    outline.regions.believe([(block.element, len(block.text)) for block in blocks if is_running(block)])
    return blocks


def is_running(block: Block) -> bool:
    """Whether a line is running text, and no heading or link."""
    text = block.text
    if block.linked * 2 >= len(text) or block.tag in HEADING_NAMES:
        return False
    return len(text) >= _RUNNING or (len(text) >= _RUNNING_CJK and has_cjk(text))


def _chosen(outline: Outline, blocks: list[Block], in_tables: dict[int, int], forest: Forest) -> list[int]:
    """The numbers of the lines in the places that trees choose."""
    total = sum([len(block.text) for block in blocks])
    if not total:
        return []
    running = sum([len(block.text) for block in blocks if is_running(block)])
    is_one = sum([block.tag == "h1" for block in blocks]) <= 1
    if total < _SHORT_PAGE or (running > _PLAIN * total and is_one):
        return _all_but_links(outline, blocks, in_tables)
    of_page, places = measured(outline, blocks)
    left = forest.left(forest.questions(OF_PAGE), of_page)
    of_place = forest.questions(OF_PLACE)
    has_story = of_page[_BODY] > _STORY and of_page[_BODY_LINES] >= _STORY_LINES
    found: list[tuple[float, Place]] = []
    chosen: set[int] = set()
    for place, said, measures in places:
        (odds,) = forest.reached(forest.left(of_place, measures, left & forest.known(said, marks, OF_MARKS)))
        doubt = _DOUBT + _DOUBT_BELOW * (has_story and measures[_IN_BODY] < _MOSTLY) * (
            (measures[_BELOW_LINK] > _MOSTLY) + (measures[_BELOW_OTHERS] > _MOSTLY)
        )
        found.append((1 / (1 + exp(doubt - odds)), place))
        if _has_prices_of_cards(measures):
            chosen.update(place.numbers)
    chosen.update(number for place in _likely(found) for number in place.numbers)
    return sorted(chosen)


def _lines_of_tables(outline: Outline, blocks: list[Block]) -> dict[int, int]:
    """The tables of data that hold lines, by the numbers of the lines."""
    numbers = {block.start: number for number, block in enumerate(blocks)}
    return {
        numbers[line.start]: element
        for element, table in tables_of(outline, blocks).items()
        for cells in table.rows.values()
        for lines in cells.values()
        for line in lines
    }


def _whole_tables(blocks: list[Block], in_tables: dict[int, int], chosen: list[int]) -> list[int]:
    """The chosen lines, with each table of data as a whole or not at all."""
    if not in_tables:
        return chosen
    kept, held, whole = set(chosen), Counter[int](), Counter[int]()
    for number, element in in_tables.items():
        length = len(blocks[number].text)
        whole[element] += length
        held[element] += length * (number in kept)
    for number, element in in_tables.items():
        (kept.add if held[element] * 2 >= whole[element] else kept.discard)(number)
    return sorted(kept)


def _all_but_links(outline: Outline, blocks: list[Block], in_tables: dict[int, int]) -> list[int]:
    """The numbers of the lines of a short or plain page that are not links, without boilerplate."""
    is_beside = outline.regions.is_beside
    return [
        number
        for number, block in enumerate(blocks)
        if (block.linked * 2 <= len(block.text) or block.tag in _TOLD or number in in_tables)
        and not is_beside(block.element)
    ]


def _without_bare(outline: Outline, blocks: list[Block], in_tables: dict[int, int], chosen: list[int]) -> list[Block]:
    """The chosen lines without captions and copies, and without headings and "Read more:" whose text is left out."""
    captions = {element for element, tag in enumerate(outline.tags) if tag == _CAPTION}
    pictures: dict[int, bool] = {}
    shown = [number for number in chosen if not _is_of_picture(outline, blocks[number], captions, pictures)]
    found = []
    for place, (number, after) in enumerate(pairwise([*shown, len(blocks)])):
        block = blocks[number]
        following = blocks[after].tag if after < len(blocks) else "h1"
        is_bare = after > number + 1 and following in HEADING_NAMES and following <= block.tag
        leads_on = block.text[-1] in _COLONS and len(block.text) < _SHORT and after > number + 1
        if number in in_tables or not (leads_on or (is_bare and place and block.tag in _SUBHEADINGS)):
            found.append(block)
    return once(found, {blocks[number].start for number in in_tables})


def _is_of_picture(outline: Outline, block: Block, captions: set[int], known: dict[int, bool]) -> bool:
    """Whether a line is the caption of a picture; those of tables, code and quotations are text."""
    figure = block.element if block.tag == _CAPTION else -1
    if figure < 0 and captions:
        around = (element for element in islice(outline.around(block.element), _CAPTION_DEPTH) if element in captions)
        figure = next((outline.outer[element] for element in around), -1)
    if figure >= 0 and figure not in known:
        known[figure] = outline.elements[figure].css_first(_DATA) is None
    return known.get(figure, False)


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


def once(blocks: Sequence[Block], kept: Set[int] = frozenset()) -> list[Block]:
    """The lines without copies of long ones: quoted posts, previews, texts for another size of the screen.

    Code, cells and the lines that begin at the texts ``kept`` may come again.
    """
    seen: set[str] = set()
    found = []
    for block in blocks:
        if len(block.text) >= _COPIED and block.tag not in _AGAIN and block.start not in kept:
            if block.text in seen:
                continue
            seen.add(block.text)
        found.append(block)
    return found


def _is_prose(block: Block) -> bool:
    return len(block.text) >= _LONG and block.linked * 2 < len(block.text)


def marks(said: int) -> list[float]:
    """What the names and the tags of the elements around a place say (``_Sums.said``), as ``OF_MARKS``."""
    own, around, inside = (said >> shift & _MARKS for shift in (0, _MARKS_BITS, 2 * _MARKS_BITS))
    bits = [(own & bit, around & bit) for bit in _MARKED.values()]
    return [*(bit > 0 for pair in bits for bit in pair), *(inside & bit > 0 for bit in _INSIDE.values())]


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
            sum([sums.below_others[number] for number in numbers]) / count,
            sum([sums.below_link[number] for number in numbers]) / count,
            sum([sums.later[number] for number in numbers]) / count,
            *sums.kin(element),
            (first - sums.narrow[1]) / lines,
            sum([1 for text in texts if text in sums.titles]) / count,
            (bisect_left(numbers, sums.body[1]) - bisect_left(numbers, sums.body[0])) / count,
            outer[element] == outer[sums.body_element] if element >= 0 and sums.body_element >= 0 else False,
            max(0, sums.body[0] - last) / lines,
            max(0, first - sums.body[1]) / lines,
            characters / (sums.body_prose + 1),
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


def _below(outline: Outline, blocks: list[Block]) -> tuple[list[bool], list[bool]]:
    """For each line, whether it is below a heading such as "Comments", and below a heading that is a link."""
    below_others, below_link = [], []
    others, title = outline.hints.others_headings, outline.title.casefold()
    opened, is_linked = "", False
    for block in blocks:
        if block.tag in HEADING_NAMES:
            is_linked = (
                block.linked * 2 > len(block.text)
                and block.text.casefold() not in title
                and "#" not in (outline.href(block.start) or "#")
            )
            if opened and block.tag <= opened:
                opened = ""
            if not opened and len(block.text) <= 60 and plain(block.text) in others:
                opened = block.tag
        below_others.append(bool(opened))
        below_link.append(is_linked)
    return below_others, below_link


class _Sums:
    """Sums over the lines inside of each block element, and what is known of the elements around it.

    The lines of an element follow each other, so that sums over the first lines of the page tell those of any element.
    """

    def __init__(self, outline: Outline, blocks: list[Block]) -> None:
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
        self.titles = {outline.title, *outline.meta.get("og:title", ())}
        self._stems: dict[int, str] = {}
        self._names_of, self._stem = outline.regions.names_of, outline.hints.stem
        self._makes = {element: self._make(element) for element in first if element >= 0}
        self._kin = Counter(self._makes.values())
        self._kin_known: dict[int, tuple[float, float, float]] = {}
        self.below_others, self.below_link = _below(outline, blocks)
        self.later = self._later(blocks)
        self.narrow, self.wide = self._container(blocks, plain, 0.6), self._container(blocks, worth, 0.7)
        direct: dict[int, list[int]] = {}
        for number, element in enumerate(elements):
            if prose[number] and not self.hidden[number] and blocks[number].tag != "li" and not self.below_link[number]:
                direct.setdefault(element, []).append(number)
        told = max(direct.values(), key=lambda numbers: sum([lengths[number] for number in numbers]), default=[])
        self.body_element = elements[told[0]] if told else -1
        self.body = (told[0], told[-1] + 1) if told else (0, 0)
        self.body_prose = sum([lengths[number] for number in told])
        self.body_lines = len(told)
        self._above: dict[int, tuple[int, int, int]] = {-1: (0, 0, -1)}

    def _make(self, element: int) -> tuple[int, str, str]:
        return self._outer[element], self._tags[element], self._stem(self._names_of(element))

    def kin(self, element: int) -> tuple[float, float, float]:
        """The level around with the most siblings of one make, how many these are, and the text of one of them."""
        found = self._kin_known.get(element)
        if found is None:
            best, at, inner = 0, element, element
            depth = level = 0
            while inner >= 0 and level < 6:
                if (number := self._kin[self._makes[inner]]) > best:
                    best, at, depth = number, inner, level
                inner = self._outer[inner]
                level += 1
            text = self.inside(self.text, at) / (self.text[-1] or 1)
            found = self._kin_known[element] = depth, best, text
        return found

    def _later(self, blocks: list[Block]) -> list[bool]:
        """For each line, whether it is in an article behind one with running text."""
        if "article" not in self._tags:
            return [False] * len(blocks)
        found: list[bool] = []
        known = {-1: -1}
        articles: list[int] = []
        for block in blocks:
            element, passed = block.element, []
            while (article := known.get(element)) is None:
                passed.append(element)
                if self._tags[element] == "article":
                    article = element
                    break
                element = self._outer[element]
            known.update(dict.fromkeys(passed, article))
            if article >= 0 and (not articles or articles[-1] != article):
                articles.append(article)
            found.append(article >= 0 and article != articles[0] and self.inside(self.prose, articles[0]) > 200)
        return found

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
