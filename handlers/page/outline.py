"""What is collected of a page in one walk: blocks of text, containers, headings, links, tables, metadata and marks.

``handlers.page.walk`` fills an ``Outline``; the readers of dates, bylines, text and citations work on it alone. What is
boilerplate is decided here, when all of the page is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MARK_CHARACTERS = 300
"""Of a mark's or heading's text; a byline, a date or a title is shorter."""
_RUNNING_TEXT = 60


@dataclass(slots=True)
class Block:
    """A run of text between block boundaries.

    Attributes:
        text: With whitespace collapsed.
        tag: Name of the block element that began before it.
        linked: Characters of it that are inside links.
        region: Index of the nearest element that is or calls itself navigation, footer, comments and the like; -1 for
            none.
        boilerplate: Whether it is in fact such; known when the walk is over.
    """

    text: str
    tag: str
    linked: int
    region: int
    boilerplate: bool = False


@dataclass(slots=True)
class Region:
    """An element that is boilerplate by its tag (``sure``), or by what it calls itself, which is often too much."""

    parent: int
    sure: bool
    characters: int = 0
    hidden: bool = False


@dataclass(slots=True)
class Container:
    """An element that holds blocks: ``first`` to ``end`` are the indices of the blocks it spans."""

    tag: str
    is_body: bool
    first: int
    end: int


@dataclass(slots=True)
class Mark:
    """A place that says by its markup what it is.

    Attributes:
        name: ``itemprop:…``, ``rel:author``, ``time``, ``hint:byline`` or ``hint:date``.
        value: The attribute that states it, "" where there is none.
        text: The element's own text; None where the element is a block, whose text is in ``block`` and after.
        region: As of a block.
        block: Index of the block it stands in or begins.
    """

    name: str
    value: str
    text: str | None
    region: int
    block: int
    boilerplate: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: cells of each row, whether it has header cells, whether it holds tables."""

    cells: tuple[int, ...]
    has_header: bool
    is_nested: bool


@dataclass(slots=True)
class Outline:
    """What one walk found. ``meta`` holds contents by lower-case name; ``headings_count`` counts h2 and h3 (R-194)."""

    blocks: list[Block] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    headings_count: int = 0
    hrefs: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    meta: dict[str, list[str]] = field(default_factory=dict)
    item_types: list[str] = field(default_factory=list)
    json_ld: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    title: str = ""
    language: str = ""

    def text_of(self, mark: Mark) -> str:
        """The text of a mark's element, or of the block that it begins."""
        if mark.text is not None:
            return mark.text
        return self.blocks[mark.block].text[:MARK_CHARACTERS] if mark.block < len(self.blocks) else ""


def hide_boilerplate(outline: Outline, regions: list[Region]) -> None:
    """Decides which regions of a page are boilerplate, and says so in its blocks and marks.

    Frames and forum posts call themselves widgets and comments too: a region that holds half of the running text is
    none, and where hiding leaves next to nothing, only tags count.
    """
    total = 0
    for block in outline.blocks:
        if len(block.text) < _RUNNING_TEXT or block.linked * 2 > len(block.text):
            continue
        total += len(block.text)
        if block.region >= 0:
            regions[block.region].characters += len(block.text)
    for region in reversed(regions):
        if region.parent >= 0:
            regions[region.parent].characters += region.characters
    for believe in (True, False):
        hidden = 0
        for region in regions:
            above = region.parent >= 0 and regions[region.parent].hidden
            region.hidden = above or region.sure or (believe and region.characters * 2 < total)
            hidden += region.characters if region.hidden and not above else 0
        if hidden * 4 < total * 3:
            break
    placed: list[Block | Mark] = [*outline.blocks, *outline.marks]
    for item in placed:
        item.boilerplate = item.region >= 0 and regions[item.region].hidden
