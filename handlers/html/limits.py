"""Pages that are parsed and read; any other page is refused with the reason, the same wherever it is read.

The counts cost next to nothing. The process that reads a page bounds its CPU time and memory: a page can take the
parser long, or be large in memory, within these limits.
"""

from __future__ import annotations

from itertools import islice

from selectolax.lexbor import LexborHTMLParser

from handlers.html.encoding import parse_bytes
from handlers.html.reading import PageReadingSection

_TAG_BYTES = 3


def parse_within(utf8: bytes, limits: PageReadingSection) -> LexborHTMLParser | str:
    """The parse of a page in UTF-8, or why the page is refused."""
    if len(utf8) > limits.max_tags * _TAG_BYTES and utf8.count(b"<") > limits.max_tags:
        return f"it has more than {limits.max_tags} tags"
    tree = parse_bytes(utf8)
    return f"more than {limits.max_depth} elements are nested" if _is_deep(tree, limits.max_depth) else tree


def _is_deep(tree: LexborHTMLParser, most: int) -> bool:
    """Whether clearly more elements are nested.

    The depth grows by one at most from an element to the next, so it is looked at once in a quarter of ``most``.
    """
    if tree.root is None:
        return False
    for node in islice(tree.root.traverse(), None, None, most // 4):
        above = node.parent
        depth = 0
        while above is not None:
            depth += 1
            above = above.parent
        if depth > most:
            return True
    return False
