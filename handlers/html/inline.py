"""Raised and lowered text and formulas as plain text, in the tree: all readers join the texts of a line alike.

Otherwise 10<sup>6</sup> would be 106, a price of $11<sup>99</sup> would be 1199, and the mark of a note another digit.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

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
