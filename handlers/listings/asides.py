"""Which links of a page stand below a heading such as "Most read"? Its links go in; those of such parts come out.

A box of popular articles repeats itself like a listing does, often with longer texts, and is often marked as nothing
but a ``div``. Its heading tells, unless it is the page's own title, or nearly all of the page stands below it.
"""

from __future__ import annotations

from collections.abc import Iterable

from selectolax.lexbor import LexborHTMLParser, LexborNode

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MAX_ASIDES = 30
_MAX_CLIMB = 3
_MAX_DEPTH = 60
_MAX_HEADING = 60
_REST_WORDS = 1
_REST_CHARACTERS = 14
_HAN = "\u2e80"


def links_in_asides(tree: LexborHTMLParser, phrases: tuple[str, ...]) -> frozenset[int]:
    """Ids of the elements of those links that stand below a heading that names an aside.

    Args:
        tree: The page.
        phrases: How such headings begin, lower-case; a word may follow ("popular", "popular articles").
    """
    nodes = tree.css("h1, h2, h3, h4, h5, h6, a[href]")
    title = _title(nodes)
    found: set[int] = set()
    box: LexborNode | None = None
    level, asides, among_linked = "", 0, False
    for node in nodes:
        if node.tag not in _HEADINGS:
            if box is not None and _is_within(node, box):
                found.add(node.mem_id)
            continue
        linked = node.css_first("a[href]") is not None
        ends = node.tag < level or (node.tag == level and not (linked and among_linked))
        if box is not None and (ends or not _is_within(node, box)):
            box = None
        if asides < _MAX_ASIDES and node.mem_id != title and _names_aside(node, phrases, linked):
            box, level, asides = _box(node, linked), node.tag, asides + 1
            among_linked = not linked
    return frozenset(found)


def _title(nodes: Iterable[LexborNode]) -> int | None:
    """The page's own title: its first heading of the first level, else its first heading."""
    first: int | None = None
    for node in nodes:
        if node.tag == "h1":
            return node.mem_id
        if first is None and node.tag in _HEADINGS:
            first = node.mem_id
    return first


def _names_aside(heading: LexborNode, phrases: tuple[str, ...], linked: bool) -> bool:
    """Whether a heading begins with one of the phrases and ends soon after; an item's linked title must be equal."""
    text = " ".join(heading.text(separator=" ").split()).lower().rstrip(" :.…»›>→")
    if not text or len(text) > _MAX_HEADING:
        return False
    for phrase in phrases:
        rest = text.removeprefix(phrase)
        if text == phrase:
            return True
        if rest == text or linked or len(rest) > _REST_CHARACTERS or len(rest.split()) > _REST_WORDS:
            continue
        if not rest[0].isalnum() or phrase[-1] >= _HAN:
            return True
    return False


def _box(heading: LexborNode, linked: bool) -> LexborNode | None:
    """The nearest element around a heading that holds more links than it; a linked heading may be an item's."""
    own = len(heading.css("a[href]"))
    box = heading
    for _ in range(1 if linked else _MAX_CLIMB):
        if box.parent is None or box.tag == "body":
            break
        box = box.parent
        if len(box.css("a[href]")) > own:
            return box
    return None


def _is_within(node: LexborNode, box: LexborNode) -> bool:
    current: LexborNode | None = node
    for _ in range(_MAX_DEPTH):
        if current is None:
            return False
        if current.mem_id == box.mem_id:
            return True
        current = current.parent
    return False
