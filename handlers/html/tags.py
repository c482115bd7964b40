"""What tags are to a reader of pages: which begin a block, which hold no text of the page, which end a line.

Tables by the parser's tag numbers: comparing numbers spares making a string for each node of each page.
"""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

TEXT = 2
"""Tag number of a text node."""
_BLOCKS = (
    "html body div section article main td th tr table tbody thead tfoot ul ol li dl dt dd p h1 h2 h3 h4 h5 h6 "
    "blockquote pre header address figure figcaption form fieldset details summary center caption"
)
STARTS_LINE, LINK, ROW, NO_TEXT, NO_SCRIPT, SCRIPT, META, TITLE, TIME = range(9)
_EFFECTS = {
    STARTS_LINE: _BLOCKS + " br hr",
    NO_TEXT: "style svg iframe object canvas audio video math textarea datalist map select button template "
    "nav footer aside menu dialog label",
    NO_SCRIPT: "noscript",
    SCRIPT: "script",
    META: "meta",
    TITLE: "title",
    TIME: "time",
    LINK: "a",
    ROW: "tr",
}


def _numbers(tags: str) -> dict[int, str]:
    tree = LexborHTMLParser("<p>")
    return {tree.create_node(tag).tag_id: tag for tag in tags.split()}


NAME_OF = _numbers(_BLOCKS)
"""Names of the block elements by tag number; other elements stand within a line."""
LEAVES = frozenset(_numbers("p li h1 h2 h3 h4 h5 h6 dt dd pre th caption figcaption summary"))
"""Block elements that mostly hold nothing but a line."""
HEADINGS = frozenset(_numbers("h1 h2 h3 h4 h5 h6"))
EFFECT_OF = {number: effect for effect, tags in _EFFECTS.items() for number in _numbers(tags)}
"""What a walk does at an element, by tag number; at most it does nothing."""
A = next(iter(_numbers("a")))
"""Tag number of a link."""
