"""The lines of a page's content as typed blocks: headings, items, quotes, code, rows of tables, terms.

A row of a table is one line of the content, and code keeps its lines. Each block is a span of the content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from selectolax.lexbor import LexborNode

from handlers.html.displayed import language_of
from handlers.html.nodes import HEADING_NAMES, ancestors
from handlers.html.outline import Block, Outline
from handlers.html.reading import PageReadingSection
from schemas.pages import MAX_BLOCKS, MAX_CELLS, BlockKind, ContentBlock

BETWEEN_CELLS = " | "
_LONG_CELL = 300
"""Characters of a cell; where longer ones have most of the text, a table only lays out the page."""
_MAX_SPAN, _DIGITS = 100, 7
_LISTS = frozenset(("ul", "ol"))
_ITEMS = _LISTS | {"li"}
Around = tuple[int, int, bool, int]
"""Lists and quotations around an element, whether a definition is around it, and the nearest list."""


@dataclass(slots=True)
class Table:
    """A table: the lines of each cell, by the row and the cell they are in, and the cells of each row."""

    rows: dict[int, dict[int, list[Block]]] = field(default_factory=dict)
    widths: list[int] = field(default_factory=list)
    has_header: bool = False

    @property
    def is_data(self) -> bool:
        """Whether it has rows of several short cells, as tables that only lay out a page do not."""
        cells = [lines for row in self.rows.values() for lines in row.values()]
        lengths = [sum(len(line.text) for line in lines) for lines in cells]
        several = sum(width > 1 for width in self.widths)
        long = sum(length for length in lengths if length > _LONG_CELL)
        has_sections = any(line.tag in HEADING_NAMES or "\n" in line.text for lines in cells for line in lines)
        is_told = self.has_header or long * 2 <= sum(lengths)
        return several > 1 and several * 2 >= len(self.rows) and is_told and not has_sections

    @property
    def lines(self) -> Iterator[Block]:
        """The lines of all cells."""
        return (line for row in self.rows.values() for lines in row.values() for line in lines)


def tables_of(outline: Outline, blocks: Sequence[Block]) -> dict[int, Table]:
    """The tables of data that hold some lines, by their elements."""
    if len(outline.rows) < 2:
        return {}
    tables: dict[int, Table] = {}
    outer_tables: set[int] = set()
    known: dict[int, tuple[int, int, int]] = {}
    for block in blocks:
        place = known.get(block.element)
        if place is None:
            place = known[block.element] = _cell_of(outline, block.element)
            if place[0] >= 0:
                around = outline.around(outline.outer[place[0]])
                outer_tables.update(element for element in around if outline.tags[element] == "table")
        table, row, cell = place
        if table >= 0 and row >= 0 and cell >= 0:
            found = tables.setdefault(table, Table())
            if row not in found.rows:
                found.rows[row] = {}
                found.widths.append(sum(1 for inner in outline.elements[row].iter() if inner.tag in ("td", "th")))
            found.has_header = found.has_header or (len(found.rows) == 1 and outline.tags[cell] == "th")
            found.rows[row].setdefault(cell, []).append(block)
    return {element: table for element, table in tables.items() if element not in outer_tables and table.is_data}


def has_data_table(outline: Outline, tables: Mapping[int, Table], reading: PageReadingSection) -> bool:
    """Whether one of some tables has a header or a caption, and enough rows of enough cells."""
    return any(
        sum(width >= reading.min_table_columns for width in table.widths) >= reading.min_table_rows
        and (
            any(outline.tags[cell] == "th" for cells in table.rows.values() for cell in cells)
            or outline.elements[element].css_first("caption") is not None
        )
        for element, table in tables.items()
    )


def _cell_of(outline: Outline, element: int) -> tuple[int, int, int]:
    """The table, the row and the cell around an element; -1 for each that is not there."""
    row = cell = -1
    for around in outline.around(element):
        match outline.tags[around]:
            case "td" | "th" if cell < 0:
                cell = around
            case "tr" if row < 0:
                row = around
            case "table":
                return around, row, cell
    return -1, -1, -1


def type_blocks(
    outline: Outline, blocks: Sequence[Block], tables: Mapping[int, Table], max_characters: int
) -> tuple[str, tuple[ContentBlock, ...], list[tuple[int, int]]]:
    """The text of some lines and tables, the blocks that they are, and the span of each line as far as the text goes.

    There are no blocks beyond ``MAX_BLOCKS``.
    """
    pieces: list[str] = []
    found: list[ContentBlock] = []
    spans: list[tuple[int, int]] = []
    at = 0
    for text, fields, count in _typed(outline, blocks, tables):
        end = at + len(text)
        if at >= max_characters:
            break
        if end > max_characters:
            text, end = text[: max_characters - at], max_characters
        pieces.append(text)
        spans += [(at, end)] * count
        if fields is not None and len(found) < MAX_BLOCKS:
            fields["start"], fields["end"] = at, end
            if "cells" in fields:
                cells = ((begin + at, stop + at) for begin, stop in fields["cells"])
                fields["cells"] = tuple((begin, stop) for begin, stop in cells if stop <= end)
            found.append(fields)
        at = end + 1
    return "\n".join(pieces), tuple(found), spans


def _typed(
    outline: Outline, blocks: Sequence[Block], tables: Mapping[int, Table]
) -> Iterator[tuple[str, ContentBlock | None, int]]:
    """The lines of the content with their kinds, and how many lines of the page each has; cells are spans of it."""
    row_of = {
        line.start: (element, row)
        for element, table in tables.items()
        for row in table.rows
        for cell in table.rows[row].values()
        for line in cell
    }
    counts: dict[int, int] = {}
    items: set[int] = set()
    known: dict[int, Around] = {}
    numbers = {element: number for number, element in enumerate(tables, 1)}
    spanning: dict[int, dict[int, int]] = {}
    passed: dict[int, int] = {}
    for place, group in groupby(blocks, key=lambda block: row_of.get(block.start)):
        if place is None:
            for block in group:
                yield block.text, _block(outline, block, counts, items, known), 1
            continue
        element, row = place
        _pass_rows(spanning.setdefault(element, {}), outline.elements[row], passed.get(element, 0))
        passed[element] = outline.elements[row].mem_id
        texts = {
            cell: " ".join(" ".join(line.text.split()) for line in lines)
            for cell, lines in tables[element].rows[row].items()
        }
        line, fields = _row(outline, row, texts, numbers[element], spanning[element])
        lists, quotes, *_ = _around(outline, element)
        if lists:
            fields["depth"] = lists
        if quotes:
            fields["quotes"] = quotes
        yield line, fields, sum(1 for _ in group)


def _row(
    outline: Outline, row: int, texts: dict[int, str], table: int, spanning: dict[int, int]
) -> tuple[str, ContentBlock]:
    """A row as a line and its cells in order, with empty ones where a cell spans several columns or rows.

    ``spanning`` has the rows below that a cell in each column still spans.
    """
    line, spans, is_header = "", list[tuple[int, int]](), True
    for node in outline.elements[row].iter():
        if node.tag not in ("td", "th"):
            continue
        _skip(spanning, spans, len(line))
        text = texts.get(outline.entered.get(node.mem_id, -2) >> 1, "")
        is_header = is_header and (node.tag == "th" or not text)
        if line and text:
            line += BETWEEN_CELLS
        width, height = (max(1, min(_number(node.attributes.get(name)), _MAX_SPAN)) for name in ("colspan", "rowspan"))
        if len(spans) < MAX_CELLS:
            width = min(width, MAX_CELLS - len(spans))
            if height > 1:
                spanning |= dict.fromkeys(range(len(spans), len(spans) + width), height - 1)
            spans.append((len(line), len(line) + len(text)))
            spans += [(len(line) + len(text), len(line) + len(text))] * (width - 1)
        elif text:
            spans[-1] = spans[-1][0], len(line) + len(text)
        line += text
    _skip(spanning, spans, len(line))
    found = ContentBlock(kind="row", start=0, end=0, cells=tuple(spans[:MAX_CELLS]), table=table)
    if is_header:
        found["header"] = True
    return line, found


def _pass_rows(spanning: dict[int, int], row: LexborNode, last: int) -> None:
    """Counts the rows without text between a row and the last one, which cells may span too."""
    before = row.prev if last and any(spanning.values()) else None
    for _ in range(_MAX_SPAN):
        if before is None or before.mem_id == last:
            break
        if before.tag == "tr":
            spanning |= {column: left - 1 for column, left in spanning.items() if left > 0}
        before = before.prev


def _skip(spanning: dict[int, int], spans: list[tuple[int, int]], at: int) -> None:
    """Adds an empty cell for each column that a cell of a row above spans."""
    while len(spans) < MAX_CELLS and spanning.get(len(spans), 0) > 0:
        spanning[len(spans)] -= 1
        spans.append((at, at))


def _number(stated: str | None, other: int = 1) -> int:
    """A number as stated, or the other one."""
    stated = (stated or "").strip()
    return int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < _DIGITS else other


def _around(outline: Outline, element: int) -> Around:
    """The lists and the quotations around an element, whether a definition is, and the nearest list; -1 for none."""
    lists = quotes = 0
    is_defined, list_element = False, -1
    for around in outline.around(element):
        tag = outline.tags[around]
        quotes += tag == "blockquote"
        is_defined = is_defined or (tag == "dd" and not lists)
        if tag in _LISTS:
            lists += 1
            list_element = around if list_element < 0 else list_element
    return lists, quotes, is_defined, list_element


def _item_of(outline: Outline, block: Block) -> LexborNode | None:
    """The item of a list around a line."""
    found = next((node for node in ancestors(outline.nodes[block.start]) if node.tag in _ITEMS), None)
    return found if found is not None and found.tag == "li" else None


def _numbered(items: LexborNode, item: LexborNode, last: int | None) -> int:
    """The number of an item of an ordered list after one with the number ``last``."""
    attributes = items.attributes
    step = -1 if "reversed" in attributes else 1
    first = sum(1 for other in items.iter() if other.tag == "li") if step < 0 else 1
    following = _number(attributes.get("start"), first) if last is None else last + step
    return max(0, _number(item.attributes.get("value"), following))


def _block(
    outline: Outline, block: Block, counts: dict[int, int], items: set[int], known: dict[int, Around]
) -> ContentBlock | None:
    """The kind of a line by the elements around it; nothing for a paragraph."""
    kind, number = _KIND_OF.get(block.tag, "paragraph"), None
    around = known.get(block.element)
    if around is None:
        around = known[block.element] = _around(outline, block.element)
    lists, quotes, is_defined, list_element = around
    if block.tag == "blockquote":
        quotes = max(quotes, 1)
    if kind in ("paragraph", "item"):
        item = _item_of(outline, block) if lists else None
        if item is not None and item.mem_id not in items:
            items.add(item.mem_id)
            kind = "item"
            if outline.tags[list_element] == "ol":
                number = _numbered(outline.elements[list_element], item, counts.get(list_element))
                counts[list_element] = number
        else:
            kind = "definition" if is_defined else "paragraph"
    if kind == "paragraph" and quotes:
        kind = "quote"
    if kind == "paragraph" and not lists:
        return None
    found = ContentBlock(kind=kind, start=0, end=0)
    if kind == "heading":
        found["level"] = int(block.tag[1])
    if kind == "code" and (language := language_of(outline.elements[block.element])):
        found["language"] = language
    if lists:
        found["depth"] = lists
    if number is not None:
        found["number"] = number
    if quotes:
        found["quotes"] = quotes
    return found


_KIND_OF: dict[str, BlockKind] = {
    **dict.fromkeys(HEADING_NAMES, "heading"),
    "li": "item",
    "pre": "code",
    "dt": "term",
    "dd": "definition",
    "caption": "caption",
    "figcaption": "caption",
}
