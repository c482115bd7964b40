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

from handlers.html.hints import OTHERS
from handlers.html.main_text import CONTAINERS, MainText
from handlers.html.outline import HEADING_NAMES, Block, Outline
from handlers.trees.forest import Forest

_LEAST_CHARACTERS = 200
"""Of a page: with fewer there is too little to measure, and the story is the content."""
_LONG = 80
_LINK_WORTH = 0.7
"""What a character inside of a link counts in the choice of a container."""
_REPEATED = 3
_SURE = -0.32
"""Log-odds from which on a place is content. A missed line costs more than a superfluous one."""
_DIGITS = re.compile(r"\S{0,100}\d\S{0,100}")
_ENDS = (".", "!", "?", "。", "！", "？")
_PRICE = re.compile(r"[$€£¥₹]\s?\d|\d\s?[$€£]")
_KINDS = dict.fromkeys(HEADING_NAMES, 1) | {"p": 2, "li": 3, "td": 4, "th": 4, "dt": 5, "dd": 5}
_ABOVE = 4
"""Elements around a place that are measured, the innermost first."""


@dataclass(slots=True)
class Place:
    """Lines in elements of the same make, with sums over them."""

    element: int
    blocks: list[Block] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    characters: int = 0
    longest: int = 0
    ends: int = 0
    repeated: int = 0
    early: int = 0
    kept: int = 0


class Elements:
    """Sums over the lines inside of each block element, from the innermost outwards."""

    def __init__(self, outline: Outline, blocks: list[Block]) -> None:
        self.outer, self.tags = outline.outer, outline.tags
        count = len(self.tags)
        self.text, self.linked, self.prose, self.lines = ([0] * count for _ in range(4))
        worth, plain = [0.0] * count, [0.0] * count
        hides, is_beside = outline.regions.hides, outline.regions.is_beside
        for block in blocks:
            element, length = block.element, len(block.text)
            self.text[element] += length
            self.linked[element] += block.linked
            self.lines[element] += 1
            if length >= _LONG and block.linked * 2 < length:
                self.prose[element] += length
            if not hides(element):
                value = length - (1 - _LINK_WORTH) * block.linked
                worth[element] += value
                if not is_beside(element):
                    plain[element] += value
        # The index of an element is larger than those of the elements around it.
        for element in range(count - 1, 0, -1):
            if self.lines[element] and (around := self.outer[element]) >= 0:
                self.text[around] += self.text[element]
                self.linked[around] += self.linked[element]
                self.prose[around] += self.prose[element]
                self.lines[around] += self.lines[element]
                worth[around] += worth[element]
                plain[around] += plain[element]
        self.narrow, self.wide = self._inside(plain, 0.6), self._inside(worth, 0.7)

    def _inside(self, held: list[float], share: float) -> list[bool]:
        """Whether each element is inside of the smallest container with a share of the text."""
        best = 0
        for element, length in enumerate(held):
            if length >= share * held[0] and self.tags[element] in CONTAINERS:
                best = element
        inside = [False] * len(held)
        for element, around in enumerate(self.outer):
            inside[element] = element == best or (around >= 0 and inside[around])
        return inside


def content(outline: Outline, story: MainText, forest: Forest, max_characters: int) -> str:
    """The content of a page, one line each; its story if there are no trees, or too little to measure."""
    blocks = outline.lines_with_links()
    if not forest.is_grown or sum(len(block.text) for block in blocks) < _LEAST_CHARACTERS:
        return story.text
    chosen: set[int] = set()
    for place, measures in measured(outline, blocks, story):
        scores = forest.scores(measures)
        if scores[1] - scores[0] > _SURE:
            chosen.update(place.numbers)
    kept = [block for number, block in enumerate(blocks) if number in chosen]
    return "\n".join(block.text for block in kept)[:max_characters]


def measured(outline: Outline, blocks: list[Block], story: MainText) -> Iterator[tuple[Place, dict[str, float]]]:
    """The places of a page, each with its measures."""
    sums = Elements(outline, blocks)
    told = {block.start for block in story.blocks}
    seen = Counter(block.text for block in blocks)
    heading = next((number for number, block in enumerate(blocks) if block.tag == "h1"), -1)
    makes: dict[int, str] = {-1: ""}
    places: dict[tuple[str, str, str, bool], Place] = {}
    narrow = wide = 0
    for number, block in enumerate(blocks):
        element, length = block.element, len(block.text)
        for one in (element, outline.outer[element]):
            if one not in makes:
                makes[one] = _make(outline, one)
        key = (block.tag, makes[element], makes[outline.outer[element]], outline.regions.hides(element))
        place = places.get(key)
        if place is None:
            place = places[key] = Place(element)
        place.blocks.append(block)
        place.numbers.append(number)
        place.characters += length
        place.longest = max(place.longest, length)
        place.ends += block.text.endswith(_ENDS)
        place.repeated += seen[block.text] >= _REPEATED
        place.early += number < heading
        place.kept += length * (block.start in told)
        narrow += length * sums.narrow[element]
        wide += length * sums.wide[element]
    total, lines = sums.text[0] or 1, len(blocks)
    page = {
        "page narrow": narrow / total,
        "page places": len(places),
        "page main": sum(sums.text[element] for element, tag in enumerate(sums.tags) if tag == "main") / total,
        "page story": sum(len(block.text) for block in story.blocks) / total,
        "page linked": sums.linked[0] / total,
        "page prose": sums.prose[0] / total,
        "page lines": lines,
        "page repeated": sum(seen[block.text] >= _REPEATED for block in blocks) / lines,
        "page prices": sum(_PRICE.search(block.text) is not None for block in blocks) / lines,
    }
    for place in places.values():
        element, count, first = place.element, len(place.blocks), place.numbers[0]
        around = tuple(outline.around(element))[:_ABOVE]
        measures = {
            "narrow": sum(len(b.text) for b in place.blocks if sums.narrow[b.element]) / place.characters,
            "wide": sum(len(b.text) for b in place.blocks if sums.wide[b.element]) / place.characters,
            "beside": float(outline.regions.is_beside(element)),
            "hidden": float(outline.regions.hides(element)),
            "others": float(outline.regions.hint(element) & OTHERS > 0),
            "others around": float(any(outline.regions.hint(one) & OTHERS for one in around[1:])),
            "share": place.characters / total,
            "story": place.kept / place.characters,
            "longest": place.longest,
            "mean": place.characters / count,
            "lines": count,
            "linked": sum(block.linked for block in place.blocks) / place.characters,
            "kind": _KINDS.get(place.blocks[0].tag, 0),
            "ends": place.ends / count,
            "repeated": place.repeated / count,
            "early": place.early / count,
            "from heading": first - heading if heading >= 0 else -99,
            "first": first / lines,
            "last": place.numbers[-1] / lines,
            "spread": (place.numbers[-1] - first) / lines,
        }
        for name, one in zip(("", "1", "2", "3"), around, strict=False):
            text = sums.text[one] or 1
            measures[f"text{name}"] = text / total
            measures[f"links{name}"] = sums.linked[one] / text
            measures[f"prose{name}"] = sums.prose[one] / text
            measures[f"count{name}"] = sums.lines[one]
        yield place, measures | page


def _make(outline: Outline, element: int) -> str:
    """Tag and class names of an element; names with digits are states, sizes and numbers of items."""
    names = outline.elements[element].attrs.get("class") or ""
    return f"{outline.tags[element]} {' '.join(_DIGITS.sub('', names[:200]).split()[:2])}"
