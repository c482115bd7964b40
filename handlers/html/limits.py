"""Pages that are parsed and read; any other page is refused with the reason, the same wherever it is read.

The counts cost next to nothing. The process that reads a page bounds its CPU time and memory: a page can take the
parser long, or be large in memory, within these limits.
"""

from __future__ import annotations

from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.encoding import parse_bytes
from handlers.html.reading import PageReadingSection


def parse_within(utf8: bytes, limits: PageReadingSection) -> LexborHTMLParser | str:
    """The parse of a page in UTF-8, or why the page is refused."""
    tree = parse_bytes(utf8)
    return _why_refused(tree.root, limits) or tree


def _why_refused(root: LexborNode | None, limits: PageReadingSection) -> str | None:
    """Looks at one element in some only: from an element to the next, the depth grows by one at most."""
    if root is None:
        return None
    step = limits.max_depth // 4
    for number, node in enumerate(islice(root.traverse(), 0, None, step)):
        if number * step > limits.max_elements:
            return f"it has more than {limits.max_elements} elements"
        depth = 0
        above = node.parent
        while above is not None:
            depth += 1
            above = above.parent
        if depth > limits.max_depth:
            return f"more than {limits.max_depth} elements are nested"
    return None
