"""Text that no visitor sees, taken out: before the walk in the usual ways, afterwards if written to a machine.

What is written to a machine is quarantined.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.addressed import Addressed
from handlers.html.sheets import SHORT, Sheet, names_of, short_sheet
from handlers.html.styles import (
    INHERITED,
    WHITE,
    Colour,
    Hiding,
    are_near,
    background_of,
    colour_in,
    doubt,
    hiding_of,
    read_style,
)
from schemas.pages import HiddenKind as Kind
from schemas.pages import HiddenOutcome as Outcome

if TYPE_CHECKING:
    from handlers.html.outline import Outline

_MAY_HIDE = "[style],[hidden],[popover],noscript,dialog"
_MAX_STYLED, _MAX_STYLE, _MOST_GROUNDS, _MAX_INSIDE = 40_000, 2_000, 40, 200
"""Elements that are looked at, characters of their style, backgrounds, and elements inside."""
_SHORT, _FEW = 250, 2
"""Characters of a hidden element that is no article, and elements of one make that are no template."""
_MAIN_SHARE, _MAIN_CHARACTERS, _MOST = 0.2, 400, 0.5
"""A hidden element with this share of the page's text, or of a short page, and with more characters is main text."""
_SHORT_PAGE, _HIDDEN_SHARE = 6_000, 0.25
"""Characters of visible text, of which a longer page has tabs and accordions."""
_LOOKS = {"bgcolor": "background-color", "text": "color", "color": "color", "opacity": "opacity"}
_LEAST_UNSEEN, _BROKEN = 8, 4
"""Characters without width that are a message, and one in how many breaks up words: fewer are an editor's mistake."""
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_REVERSED = re.compile("[\u202e\u2067]([^\u202c\u2069\n]{4,2000})")
_KEPT = Hiding("style", "hidden", is_gone=False)
TOO_MUCH: tuple[Outcome, str] = "left_out", "too much hidden text"
_FIRST_WORDS, _QUOTED, DOUBTFUL = 4, 100, 2.0
"""Words of a text by which it is found again, characters that are quoted, and by how much a doubtful score is lower."""
_LEAST_TEXT = 16
"""Characters of metadata that may give an order."""
_SOUTH_EAST_ASIAN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
UNSEEN = re.compile(
    rf"(?<!{_SOUTH_EAST_ASIAN})\u200b(?!{_SOUTH_EAST_ASIAN})"
    "|[\u180e\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
    "|[\ufe00-\ufe0f]{2,}|(?<=[A-Za-z])[\u200c\u200d\xad]+(?=[A-Za-z])"
)
"""Characters without width. Thai, Lao, Khmer and Burmese have one between words."""
MAY_BE_UNSEEN = re.compile(
    "[\xad\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
"""One of the characters of ``UNSEEN``: faster, since it is a single set."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Text that no visitor sees: what hides it, its element or field, what became of it, and why."""

    kind: Kind
    place: str
    text: str
    outcome: Outcome
    reason: str = ""

    def is_in(self, text: str) -> bool:
        """Whether the content of a page has the text's beginning."""
        words = visible(" ".join(self.text.split(maxsplit=_FIRST_WORDS)[:_FIRST_WORDS]))
        return bool(words) and words in text


def visible(text: str) -> str:
    """A text without characters that have no width.

    >>> visible("rain\u200b again")
    'rain again'
    """
    return UNSEEN.sub("", text) if not text.isascii() and MAY_BE_UNSEEN.search(text) else text


def judge(
    texts: Iterable[str], addressed: Addressed, *, least: float | None = None, margin: float = 0.0
) -> list[tuple[Outcome, str] | None]:
    """What becomes of hidden texts, and why; None for one that is not written to a machine.

    Args:
        texts: What is judged.
        addressed: What scores them.
        least: The score of a text that is quarantined; None for that of hidden text.
        margin: By how much lower the score of a text is that is only left out.
    """
    judged: list[tuple[Outcome, str] | None] = []
    least = addressed.section.quarantined if least is None else least
    for found in addressed.passages(texts, least - margin):
        if found is None:
            judged.append(TOO_MUCH)
        elif passage := found[0][:_QUOTED]:
            is_sure = found[1] >= least
            reason = f"{'is' if is_sure else 'may be'} written to a machine: {passage}"
            judged.append(("quarantined" if is_sure else "left_out", reason))
        else:
            judged.append(None)
    return judged


def place_of(node: LexborNode) -> str:
    """Tag, id and first class names of an element, or of that around a text."""
    element = node.parent if node.is_text_node and node.parent is not None else node
    attributes = element.attributes
    names = "".join(f".{name}" for name in (attributes.get("class") or "").split()[:2])
    identity = attributes.get("id")
    return f"{element.tag}{f'#{identity}' if identity else ''}{names}"[:100]


def judge_stated(kind: Kind, stated: Iterable[tuple[str, str]], addressed: Addressed) -> list[Hidden]:
    """Those of some texts with their fields that are written to a machine, each once.

    Few pages have a text of metadata that reads like an order, so that a lower score is enough than for a hidden one.
    """
    texts = {text: name for text, name in stated if len(text) >= _LEAST_TEXT and (" " in text or not text.isascii())}
    judged = judge(texts, addressed, least=addressed.section.stated, margin=DOUBTFUL * (kind != "comment"))
    return [
        Hidden(kind, name[:100], text, *said) for (text, name), said in zip(texts.items(), judged, strict=True) if said
    ]


class Styles:
    """What the styles and attributes of a page hide."""

    def __init__(self, root: LexborNode, sheets: str, size: int) -> None:
        self._root, self._sheets, self._size = root, sheets, size
        self._short = short_sheet(sheets) if len(sheets) <= SHORT and sheets.strip() else None
        self._known: dict[int, Kind | None] = {}
        self._looks: dict[int, tuple[str, frozenset[str]]] = {}

    def hidden(self) -> Iterator[tuple[LexborNode, Kind, Hiding]]:
        """Elements that are surely hidden, with what hides them."""
        for node in self._root.css(_MAY_HIDE)[:_MAX_STYLED]:
            attributes = node.attributes
            style = attributes.get("style")
            how = (hiding_of(style) or self._like_paper(style)) if style else None
            how = None if how and self._is_shown_inside(node, how) else how
            if "hidden" in attributes:
                yield node, "hidden_attribute", how or _KEPT
            elif how is not None:
                yield node, "inline_style" if how.kind == "style" else how.kind, how
            elif node.tag == "noscript":
                yield node, "noscript", _KEPT
            elif "popover" in attributes or (node.tag == "dialog" and "open" not in attributes):
                yield node, "hidden_attribute", _KEPT
        for node, how in self._short.hidden(self._root, self._size, self._names) if self._short else ():
            is_shown = (
                how.by in read_style(self._look(node)[0])
                or node.tag in ("html", "head", "body")
                or self._is_shown_inside(node, how)
            )
            if not is_shown:
                yield node, "style_sheet" if how.kind == "style" else how.kind, how

    def _like_paper(self, style: str) -> Hiding | None:
        """White text of a page whose backgrounds are all white: it has no sheets, and no element sets another."""
        if self._has_sheets or background_of(said := read_style(style)) is not None:
            return None
        colour = colour_in(said.get("color", ""))
        is_white = (
            isinstance(colour, tuple)
            and are_near(colour, (WHITE,))
            and all(are_near(ground, (WHITE,)) for ground in self._grounds)
        )
        return Hiding("same_colour", "color", is_gone=False) if is_white else None

    @cached_property
    def _has_sheets(self) -> bool:
        other = "link[rel~=stylesheet],[background],[style*=url],[style*=gradient]"
        return bool(self._sheets.strip()) or self._root.css_first(other) is not None

    def _is_shown_inside(self, node: LexborNode, how: Hiding) -> bool:
        """Whether an element inside of a hidden one may be visible again."""
        if how.by not in INHERITED:
            return False
        for one in islice(node.traverse(), 1, _MAX_INSIDE):
            style, names = self._look(one)
            if how.by in style or (self._short and self._short.is_shown(one, how, self._names)):
                return True
            # Blocks in a line are apart unless the font around them has no size.
            if how.kind == "tiny_font" and names and not self._short:
                return True
        return False

    def _look(self, node: LexborNode) -> tuple[str, frozenset[str]]:
        """The style of an element, and its ids and classes; read once, since they can be long."""
        if node.mem_id not in self._looks:
            self._looks[node.mem_id] = (node.attributes.get("style") or "")[:_MAX_STYLE], names_of(node)
        return self._looks[node.mem_id]

    def _names(self, node: LexborNode) -> frozenset[str]:
        return self._look(node)[1]

    @cached_property
    def _sheet(self) -> Sheet:
        return self._short or Sheet(self._sheets)

    @cached_property
    def _grounds(self) -> list[Colour]:
        """Colours of backgrounds."""
        nodes = self._root.css("[style*=background],[bgcolor]")[:_MAX_STYLED]
        own = (background_of(read_style(_presented(node.attributes))) for node in nodes)
        return [*self._sheet.grounds, *filter(None, dict.fromkeys(own))][:_MOST_GROUNDS]

    def doubt(self, node: LexborNode | None) -> Kind | None:
        """What may hide the text of an element: it, or one around it. Rules beyond the limits may hide any."""
        path = []
        while node is not None and node.mem_id not in self._known:
            path.append(node)
            node = node.parent
        found = self._known[node.mem_id] if node is not None else "style_sheet" if self._sheet.is_cut else None
        for one in reversed(path):
            found = self._known[one.mem_id] = found or self._doubt(one)
        return found

    def _doubt(self, node: LexborNode) -> Kind | None:
        attributes = node.attributes
        if "hidden" in attributes or "popover" in attributes or node.tag == "dialog":
            return "hidden_attribute"
        if node.tag == "details":
            return None if "open" in attributes else "hidden_attribute"
        if attributes.get("aria-hidden") == "true":
            return "aria_hidden"
        if node.tag == "noscript":
            return "noscript"
        style = _presented(attributes)
        if style and (kind := doubt(read_style(style, self._sheet.variables), self._grounds)):
            return "inline_style" if kind == "style" else kind
        kind = self._sheet.doubt(node)
        return "style_sheet" if kind == "style" else kind


def take_out_hidden(tree: LexborHTMLParser, styles: Styles, addressed: Addressed) -> list[Hidden]:
    """Removes what is surely hidden from a tree without scripts; returns it with the text that was kept.

    What is kept is judged after the walk, as all text that may be hidden.
    """
    seen: set[int] = set()
    outermost: dict[int, tuple[LexborNode, Kind, Hiding, str]] = {}
    for node, kind, how in styles.hidden():
        if node.mem_id not in seen and node.first_child and (text := node.text(separator=" ").strip()):
            inside = {one.mem_id for one in node.traverse()}
            for one in outermost.keys() & inside:
                del outermost[one]
            outermost[node.mem_id] = node, kind, how, text
            seen |= inside
    hidden = list(outermost.values())
    makes = Counter(_make(node) for node, *_ in hidden)
    faded = sum(how.by == "opacity" for _, _, how, _ in hidden)
    characters = len(tree.body.text_lexbor()) if hidden and tree.body is not None else 0
    unseen = sum(len(text) for *_, text in hidden)
    # A short page that has little hidden text has no tabs.
    is_short = unseen < _HIDDEN_SHARE * (characters - unseen) < _HIDDEN_SHARE * _SHORT_PAGE
    out, found = list[tuple[LexborNode, Kind, str]](), list[Hidden]()
    for node, kind, how, text in hidden:
        is_alone = is_short or (len(text) <= _SHORT and makes[_make(node)] <= _FEW)
        is_out = how.is_gone or (is_alone and not (how.by == "opacity" and faded > _FEW))
        # A script may show what is a large part of the page.
        if is_out and len(text) <= max(_MAIN_CHARACTERS, (_MOST if is_short else _MAIN_SHARE) * characters):
            out.append((node, kind, text))
        else:
            found.append(Hidden(kind, place_of(node), text, "kept"))
    judged = judge((text for *_, text in out), addressed, margin=DOUBTFUL)
    gone = [
        Hidden(kind, place_of(node), text, *(said or ("left_out", "no visitor sees it")))
        for (node, kind, text), said in zip(out, judged, strict=True)
    ]
    for node, *_ in out:
        node.decompose()
    return gone + found


def take_out_doubtful(outline: Outline, styles: Styles, addressed: Addressed) -> list[Hidden]:
    """Takes texts out of an outline that are written to a machine, where styles may hide them."""
    blocks = outline.lines_with_links()
    whole = "\n".join([block.text for block in blocks])
    suspects, last = addressed.suspects(whole)
    if not suspects and last > len(whole):
        return []
    outline.is_suspected = True
    found: list[Hidden] = []
    ends = list(accumulate(len(block.text) + 1 for block in blocks))
    unread = bisect_right(ends, last)
    for at in dict.fromkeys((*(bisect_right(ends, one.start) for one in suspects), *range(unread, len(blocks)))):
        start, end = blocks[at].start, blocks[at].end
        places = {place: kind for place in range(start, end) if (kind := styles.doubt(outline.nodes[place].parent))}
        text = " ".join(outline.texts[place] for place in places)
        is_whole = len(places) == end - start
        said = TOO_MUCH if at >= unread else judge([blocks[at].text if is_whole else text], addressed)[0]
        if places and said:
            place, kind = next(iter(places.items()))
            found.append(Hidden(kind, place_of(outline.nodes[place]), " ".join(text.split()), *said))
            outline.blank(places)
    return found


def take_out_unseen(outline: Outline, addressed: Addressed) -> list[Hidden]:
    """Empties texts and metadata that are written to a machine, and removes characters without width."""
    found: list[Hidden] = []
    for place, text in enumerate(outline.texts):
        if text.isascii() or not MAY_BE_UNSEEN.search(text) or not (unseen := len(UNSEEN.findall(text))):
            continue
        is_broken = unseen >= _LEAST_UNSEEN and unseen * _BROKEN > len(text)
        decoded = _decoded(text) if unseen > 1 else []
        said = next(filter(None, judge(decoded, addressed)), None)
        if became := said or (("left_out", "has no width") if unseen >= _LEAST_UNSEEN else None):
            found.append(Hidden("invisible_characters", place_of(outline.nodes[place]), text, *became))
        outline.texts[place] = (UNSEEN.sub("", text) or " ") if said is None and not is_broken else " "
    stated = [(text, name) for name, texts in outline.meta.items() for text in texts]
    gone = judge_stated("attribute", [*stated, (outline.title, "title")], addressed)
    texts = {one.text for one in gone}
    outline.title = "" if outline.title in texts else outline.title
    if texts:
        kept = {name: [value for value in values if value not in texts] for name, values in outline.meta.items()}
        outline.meta = {name: values for name, values in kept.items() if values}
    return [*found, *gone, *judge_stated("comment", [(text, "comment") for text in outline.comments], addressed)]


def _decoded(text: str) -> list[str]:
    """What a text with characters without width may say to a machine: without them, by tags, and reversed."""
    tags = "".join(chr(ord(sign) - 0xE0000) for run in _TAGS.findall(text) for sign in run)
    return [UNSEEN.sub("", text), tags, " ".join(run[::-1] for run in _REVERSED.findall(text))]


def _presented(attributes: Mapping[str, str | None]) -> str:
    """The style of an element, with attributes of its look."""
    style = attributes.get("style") or ""
    if _LOOKS.keys().isdisjoint(attributes):
        return style
    return ";".join(
        [*(f"{declared}:{attributes[name]}" for name, declared in _LOOKS.items() if attributes.get(name)), style]
    )


def _make(node: LexborNode) -> str:
    """Tag and class names: hidden elements of one make are parts of a template, which a script shows."""
    return f"{node.tag} {node.attributes.get('class') or ''}"
