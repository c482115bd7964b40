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
ENDS_LINE, NO_TEXT, SCRIPT, META, TITLE, TIME = range(6)
_EFFECTS = {
    ENDS_LINE: "br hr",
    NO_TEXT: "style svg noscript iframe object canvas audio video math textarea datalist map select button template "
    "nav footer aside menu dialog label",
    SCRIPT: "script",
    META: "meta",
    TITLE: "title",
    TIME: "time",
}


def _numbers(tags: str) -> dict[int, str]:
    tree = LexborHTMLParser("<p>")
    return {tree.create_node(tag).tag_id: tag for tag in tags.split()}


NAME_OF = _numbers(_BLOCKS)
"""Names of the block elements by tag number; other elements stand within a line."""
EFFECT_OF = {number: effect for effect, tags in _EFFECTS.items() for number in _numbers(tags)}
"""What a walk does at an element that is no block, by tag number; at others it does nothing."""
A, P = (next(iter(_numbers(tag))) for tag in ("a", "p"))
"""Tag numbers of a link and of a paragraph."""
