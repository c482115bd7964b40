"""Pages that are parsed and read; any other page is refused with the reason, the same wherever it is read.

What the parser may take long for is refused before the parse. The process that reads a page bounds its memory.
"""

from __future__ import annotations

from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.complexity import too_complex
from handlers.html.encoding import parse_bytes
from handlers.html.reading import PageReadingSection


def parse_within(utf8: bytes, limits: PageReadingSection) -> LexborHTMLParser | str:
    """The parse of a page in UTF-8, or why the page is refused."""
    if why := too_complex(utf8):
        return why
    tree = parse_bytes(utf8)
    return _why_refused(tree.root, limits) or tree


def _why_refused(root: LexborNode | None, limits: PageReadingSection) -> str | None:
    """Why a page is refused; only some of its elements are looked at.

    The depth grows by one at most from an element to the next, so a page can exceed a limit by a part of ``max_depth``.
    """
    step = limits.max_depth // 4
    elements = root.traverse() if root is not None else ()
    for number, node in enumerate(islice(elements, 0, None, step)):
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
