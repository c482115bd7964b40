"""Whether a page shows data in a table: an outline's rows go in, yes or no comes out.

Rows of several cells under a header make a data table; tables that hold tables are layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from handlers.html.outline import Outline
from handlers.html.reading import PageReadingSection

_MAX_ROWS = 2000
_MAX_CLIMB = 60
_SECTIONS = frozenset(("thead", "tbody", "tfoot"))


@dataclass(slots=True)
class _Table:
    wide_rows: int = 0
    has_header: bool = False


def has_data_table(outline: Outline, reading: PageReadingSection) -> bool:
    """Whether one of the tables outside of boilerplate has a header and enough rows of enough cells.

    Args:
        outline: The page.
        reading: How many rows and cells are enough.
    """
    tables: dict[int, _Table] = {}
    layout: set[int] = set()
    for row in outline.rows[:_MAX_ROWS]:
        table = _table_of(row)
        if table is None or outline.is_boilerplate(outline.place(table) >> 1):
            continue
        if table.mem_id not in tables:
            tables[table.mem_id] = _Table(has_header=_has_caption(table))
            layout.update(_tables_around(table))
        seen = tables[table.mem_id]
        cells = [cell.tag for cell in row.iter() if cell.tag in ("td", "th")]
        seen.wide_rows += len(cells) >= reading.min_table_columns
        seen.has_header |= "th" in cells
    return any(
        table.has_header and table.wide_rows >= reading.min_table_rows
        for identity, table in tables.items()
        if identity not in layout
    )


def _table_of(row: LexborNode) -> LexborNode | None:
    parent = row.parent
    if parent is not None and parent.tag in _SECTIONS:
        parent = parent.parent
    return parent if parent is not None and parent.tag == "table" else None


def _has_caption(table: LexborNode) -> bool:
    first = next(table.iter(), None)
    return first is not None and first.tag == "caption"


def _tables_around(table: LexborNode) -> list[int]:
    found = []
    node = table.parent
    for _ in range(_MAX_CLIMB):
        if node is None:
            break
        if node.tag == "table":
            found.append(node.mem_id)
        node = node.parent
    return found
