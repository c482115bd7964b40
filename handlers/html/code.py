"""Code as displayed, in the tree: each ``pre`` becomes one text that keeps its lines, without line numbers.

Highlighters put words, lines and numbers in elements of their own, and lines end in breaks, blocks or line feeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.outline import NAME_OF, TEXT, empty

LANGUAGE = "data-language"
"""The attribute of ``pre`` in which its language is kept."""
_NAMED = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush)[-:]\s?([\w+#.-]{1,30})(?:[\s;]|$)")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_GUTTER = re.compile(r"gutter|line-?no|line-?num|blob-num|lnt", re.IGNORECASE)
_MAX_GUTTER, _LEAST_NUMBERED = 100_000, 3
_LABELS = frozenset(("span", "div", "button", "small"))
_NO_LANGUAGE = frozenset(("default", "none", "notranslate", "highlight", "source"))
_MAX_BLOCKS, _MAX_AROUND = 2_000, 8
_CONTROLS = "button,select,textarea,clipboard-copy"


def write_code(tree: LexborHTMLParser) -> None:
    """Replaces what is inside of each ``pre`` by its text, and removes columns of line numbers."""
    if tree.root is None:
        return
    _write_code_of_cells(tree, tree.root)
    # An inner one is a part of the text of the outer one.
    blocks = [node for node in tree.root.css("pre")[:_MAX_BLOCKS] if not _is_inside_pre(node)]
    gutters: dict[int, LexborNode] = {}
    for node in blocks:
        if node.first_child is None:
            continue
        if (numbers := _cell_before_code(node)) is not None and _is_gutter_cell(numbers):
            gutters[numbers.mem_id] = numbers
        else:
            _write(node)
    for gutter in gutters.values():
        gutter.decompose()


def _write_code_of_cells(tree: LexborHTMLParser, root: LexborNode) -> None:
    """Puts a ``pre`` into cells of code beside a cell of line numbers, and removes that cell."""
    rows: set[int] = set()
    found: list[tuple[LexborNode, LexborNode]] = []
    for cell in root.css("tr td:has(code)")[:_MAX_BLOCKS]:
        row = cell.parent
        # Only the first cell with code is asked about: a row has one gutter.
        if row is None or row.mem_id in rows:
            continue
        rows.add(row.mem_id)
        gutter = next((other for other in row.iter() if other.tag == "td"), None)
        if gutter is not None and gutter.mem_id != cell.mem_id and _is_gutter_cell(gutter):
            found.append((gutter, cell))
    # The inner ones first: a cell that is emptied takes those inside with it.
    for gutter, cell in reversed(found):
        if cell.css_first("pre") is None and not _is_inside_pre(cell):
            gutter.decompose()
            code = tree.create_node("pre")
            if text := _text(cell):
                code.insert_child(text)
            empty(cell)
            cell.insert_child(code)


def _write(node: LexborNode) -> None:
    """Replaces what is inside of a ``pre`` by its text, and keeps its language as an attribute."""
    language = _language(node)
    for control in reversed(node.css(_CONTROLS)):
        control.decompose()
    for column in reversed(node.css("td")):
        if _is_gutter(column.text()) and column.next is not None:
            column.decompose()
    text = _text(node)
    empty(node)
    if text:
        node.insert_child(text)
    node.attrs[LANGUAGE] = language
    label = next((other for other in _before(node) if other.is_element_node), None)
    if label is not None and label.tag in _LABELS and language and label.text(strip=True).lower() == language:
        label.decompose()


def _before(node: LexborNode) -> Iterator[LexborNode]:
    """The nodes before a node, the nearest first."""
    beside = node.prev
    for _ in range(_MAX_AROUND):
        if beside is None:
            break
        yield beside
        beside = beside.prev


def language_of(node: LexborNode) -> str:
    """The language of ``pre`` that ``write_code`` found; "" without one."""
    language = node.attributes.get(LANGUAGE) or ""
    return language if _LANGUAGE.fullmatch(language) else ""


def _is_inside_pre(node: LexborNode) -> bool:
    above = node.parent
    while above is not None:
        if above.tag == "pre":
            break
        above = above.parent
    return above is not None


def _cell_before_code(node: LexborNode) -> LexborNode | None:
    """The first cell of a row, if it is around an element and another cell of the row has code."""
    above = node.parent
    for _ in range(_MAX_AROUND):
        if above is None or above.tag == "td":
            break
        above = above.parent
    if above is None or above.tag != "td" or above.parent is None:
        return None
    cells = [cell for cell in above.parent.iter() if cell.tag == "td"]
    is_first = cells[0].mem_id == above.mem_id
    return above if is_first and any(cell.css_first("pre,code") is not None for cell in cells[1:]) else None


def _is_gutter_cell(cell: LexborNode) -> bool:
    """Whether a cell has line numbers: several that count up from the beginning, or what calls itself a gutter."""
    text = cell.text()
    if len(text) > _MAX_GUTTER or not _is_gutter(text):
        return False
    names = " ".join(part.attributes.get("class") or "" for part in (cell, *cell.css("pre,div,span")[:_MAX_AROUND]))
    words = text.split()
    return (len(words) > 1 and int(words[0]) <= 1) or _GUTTER.search(names) is not None


def _is_gutter(text: str) -> bool:
    """Whether a text is line numbers: digits that count up."""
    words = text.split()
    if not words or not all(word.isdecimal() for word in words):
        return False
    first = int(words[0][:9])
    return all(int(word[:9]) == first + number for number, word in enumerate(words))


def _text(node: LexborNode) -> str:
    """The text of ``pre`` with its line breaks, without numbers at the beginning of each line."""
    lines: list[list[str]] = [[]]
    starts_block = False
    for part in node.traverse(include_text=True, skip_empty=False):
        tag = part.tag_id
        if tag == TEXT:
            first, *others = (part.text_content or "").split("\n")
            if starts_block and (first or others) and any(lines[-1]):
                lines.append([])
            starts_block = False
            lines[-1].append(first)
            lines += [[line] for line in others]
        elif part.tag == "br":
            lines.append([])
            starts_block = False
        elif tag in NAME_OF and NAME_OF[tag] not in ("td", "th", "pre"):
            starts_block = True
    ends = [number for number, pieces in enumerate(lines) if any(pieces)]
    numbers = [lines[number][next(place for place, piece in enumerate(lines[number]) if piece)] for number in ends]
    if (
        len(numbers) >= _LEAST_NUMBERED
        and _is_gutter(" ".join(numbers))
        and any(len(lines[number]) > 1 for number in ends)
    ):
        for number in ends:
            lines[number].remove(next(piece for piece in lines[number] if piece))
    written = ("".join(pieces).replace("\xa0", " ") for pieces in lines)
    text = "\n".join(line if line.strip() else "" for line in written)
    return re.sub(r"\A(?:[ \t]*\n)+", "", text).rstrip()


def _language(node: LexborNode) -> str:
    """The language that ``pre``, its ``code`` or an element around it states; "" without one."""
    code = node.css_first("code")
    around: list[LexborNode] = [found for found in (code, node) if found is not None]
    above = node.parent
    for _ in range(_MAX_AROUND):
        if above is None or above.tag not in ("div", "figure", "td", "tr", "tbody", "table", "section"):
            break
        around.append(above)
        above = above.parent
    for element in around:
        attributes = element.attributes
        stated = attributes.get(LANGUAGE) or attributes.get("data-lang") or ""
        named = _NAMED.search(attributes.get("class") or "")
        found = (stated or (named[1] if named else "")).strip().lower()
        if found and found not in _NO_LANGUAGE and _LANGUAGE.fullmatch(found):
            return found
    return ""
