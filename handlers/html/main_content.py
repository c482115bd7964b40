"""Which lines of a page are its content: the places of its template that trees choose.

A template puts lines of one kind in elements of one make: the posts of a thread, the titles and the prices of cards,
the counters beside a user's name. Trees decide about each such place as a whole (``handlers.html.template``). So cards
and posts are kept or left out together, and some 30 decisions make a page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise
from math import exp

from handlers.html.blocks import Table, tables_of, type_blocks
from handlers.html.nodes import HEADING_NAMES
from handlers.html.outline import Block, Outline
from handlers.html.template import OF_MARKS, OF_PAGE, OF_PLACE, Place, marks, measured
from handlers.trees.forest import Forest
from schemas.pages import ContentBlock

_SHORT_PAGE, _PLAIN = 500, 0.9
"""Characters of a page, and share of running text in a page: all of its text outside of links is content."""
_COPIED = 40
"""Characters of a line from which on the content has it once. Shorter ones are names, labels and prices of cards."""
_CAPTION = "figcaption"
_DATA = "table,pre,blockquote"
_CAPTION_DEPTH = 3
"""Elements around a line among which a caption is looked for."""
_SUBHEADINGS = HEADING_NAMES - {"h1"}
_CONTROLS = frozenset(("button", "label"))
_TOLD = HEADING_NAMES | {"p"}
"""Tags of lines that are a part of a plain page's text though they are links."""
_AGAIN = frozenset(("td", "th", "pre"))
_DOUBT = 0.3
"""Taken from the log-odds: labels are of whole places, and a superfluous one costs more than the trees know."""
_DOUBT_BELOW, _STORY, _STORY_LINES = 2.0, 600, 4
"""The same beside a story of so many characters and lines: below links to other pages, and headings of comments."""
_LEAST_STORY = 400
"""Running text of a story that is content even where trees take the cards above it."""
_UNLIKELY = 0.2
"""A place with a smaller chance is never content: there are pages without any."""
_COLONS = ":："
_SHORT, _REPEATED, _MOSTLY = 60, 3, 0.5
_BODY, _BODY_LINES = map(OF_PAGE.index, ("page body", "page body lines"))
_NARROW, _LINES, _PRICES = map(OF_PLACE.index, ("narrow", "lines", "prices"))
_IN_BODY, _IN_CARDS = map(OF_PLACE.index, ("in body", "in cards"))
_BELOW_LINK, _BELOW_OTHERS = map(OF_PLACE.index, ("below link", "below others"))


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page.

    Attributes:
        blocks: Its lines.
        typed: What they are.
        spans: Where each line is in the text; none for those behind its end.
        text: The lines as text; a row of a table is one line.
        first: Index of the text with which its first running line begins.
        end: Index behind its last text.
        tables: Its tables of data, by their elements.
    """

    blocks: tuple[Block, ...]
    typed: tuple[ContentBlock, ...]
    spans: list[tuple[int, int]]
    text: str
    first: int
    end: int
    tables: Mapping[int, Table]


def find_content(outline: Outline, forest: Forest, max_characters: int) -> Content:
    """The lines of a page that are its content, each once."""
    blocks = candidates(outline)
    tables = tables_of(outline, blocks)
    numbers = {block.start: number for number, block in enumerate(blocks)} if tables else {}
    in_tables = {numbers[line.start]: element for element, table in tables.items() for line in table.lines}
    chosen = _whole_tables(blocks, in_tables, _chosen(outline, blocks, in_tables, forest))
    kept = _without_bare(outline, blocks, in_tables, chosen)
    starts = {block.start for block in kept}
    tables = {element: table for element, table in tables.items() if any(line.start in starts for line in table.lines)}
    text, typed, spans = type_blocks(outline, kept, tables, max_characters)
    end = kept[-1].end if kept else len(outline.texts)
    first = next((block.start for block in kept if block.running), kept[0].start if kept else 0)
    return Content(tuple(kept), typed, spans, text, first, end, tables)


def candidates(outline: Outline) -> list[Block]:
    """The lines of which some are the content: all but those in navigation and the like that holds little."""
    blocks = outline.lines_with_links()
    if not blocks:
        outline.regions.believe([])
        return []
    heading = next((block.element for block in blocks if block.tag == "h1"), -1)
    lines = [(block.element, len(block.text), block.running) for block in blocks]
    aside = outline.regions.set_aside(lines, heading)
    following = [*(block.running and block.tag != "pre" for block in blocks[1:]), False]
    # A label or button is a heading if text follows it, as in accordions.
    blocks = [
        block
        for block, is_aside, is_followed in zip(blocks, aside, following, strict=True)
        if not is_aside and (is_followed or block.tag not in _CONTROLS)
    ]
    outline.regions.believe([(block.element, len(block.text)) for block in blocks if block.running])
    return blocks


def _chosen(outline: Outline, blocks: list[Block], in_tables: dict[int, int], forest: Forest) -> list[int]:
    """The numbers of the lines in the places that trees choose."""
    total = sum([len(block.text) for block in blocks])
    if not total:
        return []
    running = sum([len(block.text) for block in blocks if block.running])
    is_one = sum([block.tag == "h1" for block in blocks]) <= 1
    if total < _SHORT_PAGE or (running > _PLAIN * total and is_one):
        return _all_but_links(outline, blocks, in_tables)
    of_page, places = measured(outline, blocks)
    left = forest.left(forest.questions(OF_PAGE), of_page)
    of_place = forest.questions(OF_PLACE)
    has_story = of_page[_BODY] > _STORY and of_page[_BODY_LINES] >= _STORY_LINES
    found: list[tuple[float, Place]] = []
    chosen: set[int] = set()
    body: list[int] = []
    for place, said, measures in places:
        (odds,) = forest.reached(forest.left(of_place, measures, left & forest.known(said, marks, OF_MARKS)))
        doubt = _DOUBT + _DOUBT_BELOW * (has_story and measures[_IN_BODY] < _MOSTLY) * (
            (measures[_BELOW_LINK] > _MOSTLY) + (measures[_BELOW_OTHERS] > _MOSTLY)
        )
        found.append((1 / (1 + exp(doubt - odds)), place))
        if _has_prices_of_cards(measures):
            chosen.update(place.numbers)
        if measures[_IN_BODY] > _MOSTLY and measures[_IN_CARDS] < _MOSTLY:
            body += place.numbers
    chosen.update(number for place in _likely(found) for number in place.numbers)
    if of_page[_BODY] >= _LEAST_STORY and of_page[_BODY_LINES] >= _STORY_LINES and chosen.isdisjoint(body):
        chosen.update(body)
    return sorted(chosen) or _all_but_links(outline, blocks, in_tables)


def _whole_tables(blocks: list[Block], in_tables: dict[int, int], chosen: list[int]) -> list[int]:
    """The chosen lines, with each table of data as a whole or not at all; one between chosen lines is content."""
    kept, found = frozenset(chosen), set(chosen)
    lines_of = defaultdict[int, list[int]](list)
    for number, element in in_tables.items():
        lines_of[element].append(number)
    for numbers in lines_of.values():
        held, length = (sum(len(blocks[number].text) for number in some) for some in (kept & {*numbers}, numbers))
        is_between = min(numbers) - 1 in kept and max(numbers) + 1 in kept
        (found.update if 2 * held >= length or is_between else found.difference_update)(numbers)
    return sorted(found)


def _all_but_links(outline: Outline, blocks: list[Block], in_tables: dict[int, int]) -> list[int]:
    """The numbers of the lines of a short or plain page that are not links, without boilerplate."""
    beside = outline.regions.beside
    return [
        number
        for number, block in enumerate(blocks)
        if (block.linked * 2 <= len(block.text) or block.tag in _TOLD or number in in_tables)
        and not beside[block.element]
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
