"""Text as displayed, in the tree, so that all readers read alike: raised and lowered text, formulas, code.

Otherwise 10<sup>6</sup> would be 106, a price of $11<sup>99</sup> would be 1199, and the mark of a note another digit.
Each ``pre`` becomes one text that keeps its lines, without line numbers: highlighters put words, lines and numbers in
elements of their own, and lines end in breaks, blocks or line feeds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from itertools import chain, islice, takewhile

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.nodes import DEEPEST, NAME_OF, TEXT, ancestors, empty

_MARKUP = re.compile(rb"</(?:su[bp]|math)>", re.IGNORECASE)
_MOST = 5_000
_MOST_NODES = 12
_LONGEST, _LONGEST_FORMULA = 8, 500
_DEEPEST = 60
_CONTEXT = 12
_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_OPENING = ("[", "(")
_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d$")
_AMOUNT = re.compile(r"(?:(\S|[A-Z]{3})\s?)?\d[\d.,' ]{0,8}$")
_CODE = re.compile(r"\s?([A-Z]{3}\b|\S)")
_TEX_WORD = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{3,}")
_TEX_STYLE = re.compile(r"^\{\\(?:display|text)style\s?(.*)\}$")
_INLINE = frozenset(("a", "b", "i", "em", "strong", "span", "font", "small", "big", "u", "sup", "sub", "bdi", "data"))
_SLASHES = ("/", "⁄", "∕")
LANGUAGE = "data-language"
"""The attribute of ``pre`` in which its language is kept."""
_NAMED = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush)[-:]\s?([\w+#.-]{1,30})(?:[\s;]|$)")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_GUTTER = re.compile(r"gutter|line-?no|line-?num|blob-num|lnt", re.IGNORECASE)
_MAX_GUTTER, _LEAST_NUMBERED = 100_000, 3
_LABELS = frozenset(("span", "div", "button", "small"))
_NO_LANGUAGE = frozenset(("default", "none", "notranslate", "highlight", "source"))
_MAX_BLOCKS, _MAX_AROUND = 2_000, 8
_NUMBER = "data-line-number"
_CODES = frozenset(("code", "samp", "listing", "xmp"))
_LOOSE = f"code,samp,listing,xmp,[{_NUMBER}],[style*=white-space]"
CODE = f"pre,{_LOOSE}"
"""Selects what may be code."""
_PREFORMATTED = re.compile(r"white-space:\s?pre\s?(?:;|$)")
_SEVERAL_LINES = re.compile(r"\n[ \t]|\n[^\n]*+\n")
"""Lines that are indented, or three of them: two may be one line that is broken in the source."""
_PRE = frozenset(("pre",))
_NEVER_INSIDE = _PRE | frozenset(("a", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary", "button", "label"))
"""Elements that make a line of their own, or lead somewhere: code in them names something."""
_BLOCKS_OF_TEXT = "a,p,h1,h2,h3,h4,h5,h6,ul,ol,table,img"
_WRAPPERS = frozenset(("div", "span", "figure", "section", "p"))
_HOLDERS = frozenset(("div", "figure", "td", "tr", "tbody", "table", "section"))
_CONTROLS = "button,select,textarea,clipboard-copy"


def write_inline(tree: LexborHTMLParser, utf8: bytes) -> None:
    """Replaces ``sup``, ``sub`` and ``math`` by their texts; ``utf8`` is the page, most of which have none of them."""
    root = tree.root
    if root is None or not _MARKUP.search(utf8):
        return
    # The inner ones first: an element that is replaced takes those inside with it.
    for node in reversed(root.css("math")[:_MOST]):
        _write_formula(node)
    for node in reversed(root.css("sup,sub")[:_MOST]):
        if (text := _short(node)) is not None:
            node.replace_with(_raised(node, text) if node.tag == "sup" else _lowered(node, text))
    root.merge_text_nodes()


def _short(node: LexborNode) -> str | None:
    """The text of a small element; None for a larger one, which stays as it is."""
    parts = list(islice(node.traverse(include_text=True), _MOST_NODES))
    text = " ".join("".join(part.text_content or "" for part in parts if part.is_text_node).split())
    return text if len(parts) < _MOST_NODES and len(text) <= _LONGEST else None


def _raised(node: LexborNode, text: str) -> str:
    """A power, the cents of a price, the mark of a note, or letters such as those of ordinal numbers."""
    if text[:1] in _OPENING or _is_note(node):
        return text if text[:1] in _OPENING else ""
    before = _before(node)
    follows = ((node.next.text_content or "") if node.next is not None and node.next.is_text_node else "")[:_CONTEXT]
    is_behind_number = before[-1:].isdecimal()
    if follows.startswith(_SLASHES) and text.isdecimal():
        return f" {text}" if is_behind_number else text
    if not is_behind_number:
        return text.translate(_RAISED) if before.strip() else text
    if text.isalpha() or not any(map(str.isalnum, text)):
        return text
    if len(text) == 2 and text.isdecimal() and _is_price(before, follows):
        return f".{text}"
    return "" if _YEAR.search(before) else _power(text)


def _lowered(node: LexborNode, text: str) -> str:
    return f"_{text}" if text.isdecimal() and _before(node)[-1:].isdecimal() else text


def _power(text: str) -> str:
    return f"^{text}" if text.lstrip("-+−–").replace(".", "").isalnum() else f"^({text})"


def _is_price(before: str, follows: str) -> bool:
    """Whether a currency's sign or code is before or behind a number."""
    signs = (_AMOUNT.search(before), _CODE.match(follows))
    names = [found[1] for found in signs if found is not None and found[1]]
    return any(unicodedata.category(name[0]) == "Sc" or len(name) > 1 for name in names)


def _is_note(node: LexborNode) -> bool:
    """Whether a raised text links to a place of the page."""
    link = node.parent if node.parent is not None and node.parent.tag == "a" else node.css_first("a")
    return link is not None and "#" in (link.attributes.get("href") or "")


def _before(node: LexborNode) -> str:
    """The last characters before an element in its line."""
    text, place = "", node
    for _ in range(_MOST_NODES):
        previous = place.prev
        if previous is None:
            if place.parent is None or place.parent.tag not in _INLINE:
                break
            place = place.parent
            continue
        place = previous
        if not place.is_text_node and place.tag not in _INLINE:
            break
        text = (place.text_content or "" if place.is_text_node else place.text())[-_CONTEXT:] + text
        if len(text) >= _CONTEXT:
            break
    return text[-_CONTEXT:]


def _write_formula(node: LexborNode) -> None:
    """Puts a formula in the place of the copy of it for the eye, if there is one, else in its own."""
    text = _formula(node)
    around = (node.parent if node.next is None and node.prev is None else None) or node
    for copy in (around.next, around.prev):
        if copy is None or not copy.is_element_node or copy.attributes.get("aria-hidden") != "true":
            continue
        if copy.css_first("math") is None:
            copy.replace_with(text)
            text = ""
            break
    node.replace_with(text)


def _formula(node: LexborNode) -> str:
    """A formula in TeX if the page states it and shows its words, else from its MathML."""
    shown = " ".join(_mathml(node).split())
    notes = (note.text() for note in node.css("annotation[encoding*=tex]")[:1])
    for stated in (node.attributes.get("alttext") or "", *notes):
        text = " ".join(stated.split())
        # Text that no visitor sees could be anything.
        if 0 < len(text) <= _LONGEST_FORMULA and all(word in shown for word in _TEX_WORD.findall(text)):
            return _TEX_STYLE.sub(r"\1", text)
    return shown[:_LONGEST_FORMULA]


def _mathml(node: LexborNode, depth: int = 0) -> str:
    tag = (node.tag or "").lower()
    if tag.startswith("annotation"):
        return ""
    texts = [_mathml(child, depth + 1) for child in node.iter()] if depth < _DEEPEST else []
    if not texts:
        text = " ".join(node.text().split())
        return f" {text} " if tag == "mtext" or (len(text) > 1 and text.isalpha()) else text
    match tag, [text.strip() for text in texts]:
        case "msup", [base, power] if base.isalpha() and power.isdecimal():
            return base + power.translate(_RAISED)
        case "msup" | "mover" | "msub" | "munder", [base, script]:
            return base + (_power(script) if tag in ("msup", "mover") else f"_{_grouped(script)}")
        case "msubsup" | "munderover", [base, below, power]:
            return f"{base}_{_grouped(below)}{_power(power)}"
        case "mfrac", [above, below]:
            return f"({_grouped(above)}/{_grouped(below)})"
        case "mroot", [base, degree]:
            return f"{_grouped(base)}^(1/{degree})"
        case "msqrt", _:
            return f"√{_grouped(''.join(texts))}"
        case "mtr" | "mtable", parts:
            return (", " if tag == "mtr" else "; ").join(parts)
    return "".join(texts)


def _grouped(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def write_code(tree: LexborHTMLParser) -> None:
    """Replaces what is inside of each ``pre`` by its text, and removes columns of line numbers.

    Code of several lines that is in no ``pre`` gets one.
    """
    if tree.root is None:
        return
    _take_out_numbers(tree, tree.root)
    _write_loose_code(tree, tree.root)
    # An inner one is a part of the text of the outer one.
    for node in [node for node in tree.root.css("pre")[:_MAX_BLOCKS] if not _is_inside(node, _PRE)]:
        if node.first_child is not None:
            _write(node)


def _take_out_numbers(tree: LexborHTMLParser, root: LexborNode) -> None:
    """Removes the first cell of rows, if it has line numbers and another cell has code, which gets a ``pre``."""
    # A row around other rows is layout. Without such, no text is read twice.
    for row in root.css("tr:not(:has(tr)):has(pre,code)")[:_MAX_BLOCKS]:
        cells = [cell for cell in row.iter() if cell.tag == "td"]
        code = next((cell for cell in cells[1:] if cell.css_first("pre,code") is not None), None)
        if code is None or not _is_gutter_cell(cells[0]):
            continue
        cells[0].decompose()
        if code.css_first("pre") is None and not _is_inside(code, _PRE):
            whole = tree.create_node("pre")
            if text := _text(code):
                whole.insert_child(text)
            empty(code)
            code.insert_child(whole)


def _write_loose_code(tree: LexborHTMLParser, root: LexborNode) -> None:
    """Puts a ``pre`` in the place of code of several lines, and of tables that number lines by attributes."""
    found: dict[int, LexborNode] = {}
    known: dict[int, bool] = {}
    tables: dict[int, bool] = {}
    seen: set[int] = set()
    for node in root.css(_LOOSE)[:_MAX_BLOCKS]:
        whole = _numbered_table(node, tables) if _NUMBER in node.attributes else _whole_code(node, known)
        if whole is None or whole.mem_id in seen:
            continue
        seen.add(whole.mem_id)
        # The lines of several codes end with breaks or blocks; a line feed between two is a blank.
        breaks = whole.mem_id == node.mem_id or any(part.mem_id != whole.mem_id for part in whole.css("br,div,p")[:2])
        if (breaks or whole.tag == "table" or len(whole.css("code,samp")) == 1) and not _is_inside(
            whole, _NEVER_INSIDE, found.keys()
        ):
            found[whole.mem_id] = whole
    for node in found.values():
        is_table = node.tag == "table"
        cells = ([cell for cell in row.iter() if cell.tag == "td"] for row in node.css("tr")) if is_table else ()
        text = "\n".join(_text(row[-1]) for row in cells if row) if is_table else _text(node)
        has_breaks = node.css_first("br") is not None
        if is_table or _SEVERAL_LINES.search(text) or (has_breaks and "\n" in text):
            code = tree.create_node("pre")
            code.insert_child(text)
            code.attrs[LANGUAGE] = _language(node)
            node.replace_with(code)


def _is_inside(node: LexborNode, tags: Set[str], elements: Set[int] = frozenset()) -> bool:
    """Whether an element of some tags, or one of some elements, is around an element."""
    return any(above.tag in tags or above.mem_id in elements for above in ancestors(node, DEEPEST))


def _numbered_table(number: LexborNode, known: dict[int, bool]) -> LexborNode | None:
    """The table around the number of a line, if each of its rows is such a number and a line."""
    above = next((above for above in ancestors(number, _MAX_AROUND) if above.tag == "table"), None)
    if above is None:
        return None
    if above.mem_id not in known:
        rows = [[cell.tag for cell in row.iter() if cell.tag in ("td", "th")] for row in above.css("tr")]
        numbers = f"tr > [{_NUMBER}]:first-child:empty", f"tr > :first-child > [{_NUMBER}]"
        known[above.mem_id] = (
            above.css_first("td table") is None
            and len(rows) >= _LEAST_NUMBERED
            and all(row == ["td", "td"] for row in rows)
            and sum(len(above.css(number)) for number in numbers) >= len(rows)
        )
    return above if known[above.mem_id] else None


def _whole_code(node: LexborNode, known: dict[int, bool]) -> LexborNode | None:
    """The outermost element that holds only some code; None for code in a line of text or in a cell."""
    style = node.attributes.get("style") or ""
    is_code = node.tag in _CODES
    is_styled = node.tag in _WRAPPERS and "mono" in style and _PREFORMATTED.search(style) is not None
    if not is_code and not (is_styled and node.css_first(_BLOCKS_OF_TEXT) is None):
        return None
    whole, above = node, node.parent
    while above is not None and above.tag in _WRAPPERS and _has_only_code(above, known):
        whole, above = above, above.parent
    is_in_line = whole.tag_id not in NAME_OF and any(
        beside is not None and beside.tag_id not in NAME_OF and beside.tag != "br" and beside.text().strip()
        for beside in (whole.prev, whole.next)
    )
    is_cell = above is not None and above.tag in ("td", "th")
    return None if is_in_line or is_cell else whole


def _has_only_code(node: LexborNode, known: dict[int, bool], depth: int = 0) -> bool:
    """Whether an element holds code, blanks and line breaks only."""
    if node.mem_id not in known:
        known[node.mem_id] = depth < _MAX_AROUND and all(
            not (part.text_content or "").strip()
            if part.is_text_node
            else part.tag in _CODES
            or part.tag == "br"
            or part.is_comment_node
            or (part.tag in _WRAPPERS and _has_only_code(part, known, depth + 1))
            for part in node.iter(include_text=True)
        )
    return known[node.mem_id]


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
    _remove_buttons(node)
    label = node.prev
    while label is not None and not label.is_element_node:
        label = label.prev
    if label is not None and label.tag in _LABELS and language and label.text(strip=True).lower() == language:
        label.decompose()


def _remove_buttons(node: LexborNode) -> None:
    """Removes the buttons beside code, such as "Copy", in elements that hold nothing else."""
    for above in takewhile(lambda above: above.tag in _WRAPPERS, ancestors(node, _MAX_AROUND)):
        others = [part for part in above.iter(include_text=True) if part.mem_id != node.mem_id]
        buttons = [part for part in others if part.tag == "button"]
        if len(others) > _MAX_AROUND or any(
            part.tag != "button" and (part.text() or part.text_content or "").strip() for part in others
        ):
            break
        for button in buttons:
            button.decompose()
        node = above


def language_of(node: LexborNode) -> str:
    """The language of ``pre`` that ``write_code`` found; "" without one."""
    language = node.attributes.get(LANGUAGE) or ""
    return language if _LANGUAGE.fullmatch(language) else ""


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
    holders = takewhile(lambda above: above.tag in _HOLDERS, ancestors(node, _MAX_AROUND))
    for element in chain(filter(None, (code, node)), holders):
        attributes = element.attributes
        stated = attributes.get(LANGUAGE) or attributes.get("data-lang") or ""
        named = _NAMED.search(attributes.get("class") or "")
        found = (stated or (named[1] if named else "")).strip().lower()
        if found and found not in _NO_LANGUAGE and _LANGUAGE.fullmatch(found):
            return found
    return ""
