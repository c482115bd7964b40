"""Nodes of a parsed page: numbers of tags, the elements around a node, and the texts inside of an element."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

TEXT = 2
"""Tag number of a text node."""
BLOCKS = (
    "html body div section article main td th tr table tbody thead tfoot ul ol li dl dt dd p h1 h2 h3 h4 h5 h6 "
    "blockquote pre header address figure figcaption form fieldset details summary center caption button label "
    "nav menu dialog aside footer"
)
"""Tags of elements that begin a line."""


def numbers(tags: str) -> dict[int, str]:
    """The tags of a list by their numbers."""
    tree = LexborHTMLParser("<p>")
    return {tree.create_node(tag).tag_id: tag for tag in tags.split()}


NAME_OF = numbers(BLOCKS)
"""Names of the block elements by tag number; all other elements are inline."""
LEAVES = frozenset(numbers("p li h1 h2 h3 h4 h5 h6 dt dd caption figcaption summary"))
"""Block elements that mostly hold a single line."""
HEADING_NAMES = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
HEADINGS = frozenset(number for number, name in NAME_OF.items() if name in HEADING_NAMES)
A, PRE = (next(iter(numbers(tag))) for tag in ("a", "pre"))
"""Tag numbers of a link and of preformatted text."""
DEEPEST = 100_000
"""More elements than are inside of each other on any page that is read."""
MARK_CHARACTERS = 300
"""Characters of a mark or a heading that are read."""
_MAX_SHORT_NODES = 40


def ancestors(node: LexborNode, most: int = 30) -> Iterator[LexborNode]:
    """The nearest elements around a node, the innermost first."""
    above = node.parent
    while above is not None and most > 0:
        yield above
        above = above.parent
        most -= 1


def texts_in(node: LexborNode, most: int) -> Iterator[str]:
    """The texts among the first nodes of an element, which can hold the whole page."""
    for part in islice(node.traverse(include_text=True, skip_empty=True), most):
        if part.tag_id == TEXT:
            yield part.text_content or ""


def short_text(node: LexborNode) -> str:
    """The beginning of an element's text."""
    child = node.first_child
    if child is None:
        return ""
    if child.next is None and child.tag_id == TEXT:
        return " ".join((child.text_content or "")[:MARK_CHARACTERS].split())
    texts = []
    length = 0
    for text in texts_in(node, _MAX_SHORT_NODES):
        texts.append(text[:MARK_CHARACTERS])
        length += len(text)
        if length >= MARK_CHARACTERS:
            break
    return " ".join(" ".join(texts).split())[:MARK_CHARACTERS]


def empty(node: LexborNode) -> None:
    """Removes the children of an element; elements below them can still be read."""
    while (child := node.first_child) is not None:
        child.decompose(recursive=False)
