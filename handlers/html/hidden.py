"""Text of a page that no visitor sees: what addresses a language model is taken out, the rest is left out or marked.

``take_out_hidden`` works on the tree before the walk, so that no reader of the page sees what it removes.
``take_out_unseen`` works on what the walk found: metadata, and texts with characters that have no width.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from handlers.html.addressed import Addressed
from handlers.html.styles import (
    WHITE,
    Colour,
    Hiding,
    background,
    has_boxes,
    hiding,
    hiding_rules,
    page_background,
    showing_classes,
)
from schemas.pages import HiddenKind as Kind
from schemas.pages import HiddenOutcome as Outcome

_TEXT = 2
_SHEET: Kind = "style_sheet"
_WHOLE_PAGE = frozenset(("html", "head", "body"))
_MAY_HIDE = "[style],[hidden],[aria-hidden=true],[popover],noscript,dialog,link[rel~=stylesheet]"
_VISIBLE = "[style*='visibility:visible'],[style*='visibility: visible']"
_MAX_STYLED = 120_000
"""Elements with a style, or that a selector matches, that are looked at."""
_MAX_ELEMENTS = 2_000
"""Elements with text whose text is judged; of more only what is surely hidden is looked for, and left out."""
_TOO_MUCH: tuple[Outcome, str] = "left_out", "too much hidden text"
_BATCH, _MAX_JUDGED = 180_000, 1_000_000
"""Characters of hidden text that are judged at once, fewer than the weights read of a text, and in all."""
_MAX_LINE = 20_000
_MAX_ABOVE = 40
_WHOLE = 1_500
"""Characters of a hidden element that is taken out as a whole if a part of it addresses a model."""
_MAX_PARTS = 20_000
_PIECE = 300
"""Characters of a hidden text that are judged together."""
_MAIN_SHARE = 0.2
_MAIN_CHARACTERS = 400
"""A hidden element with more, and with this share of the page's text, is its main text until a script shows it."""
_MOST = 0.5
"""Of an element with so much of the page's text, only parts that address a model are taken out, and none in doubt."""
_SHORT = 250
"""Characters of hidden text that is no tab, accordion or article, which a script shows."""
_FEW = 2
_SHORT_SHEETS = 20_000
"""Characters of style sheets; longer ones hide menus and tabs, of which only what may address a model is taken out."""
_MAX_DOUBTFUL = 3_000
_MAX_NODES = 200
_FIRST_WORDS = 4
_LEAST_UNSEEN = 8
"""Characters without width that are a message or break up words, and not a mistake of an editor."""
_BROKEN = 4
"""A text with one such character in so many hides its words from filters."""
_SOUTH_EAST_ASIAN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
UNSEEN = re.compile(
    rf"(?<!{_SOUTH_EAST_ASIAN})\u200b(?!{_SOUTH_EAST_ASIAN})"
    "|[\u180e\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
    "|[\ufe00-\ufe0f]{2,}|(?<=[A-Za-z])[\u200c\u200d\xad]+(?=[A-Za-z])"
)
"""Characters without width: separators, directions, tags, and joiners between Latin letters.

Thai, Lao, Khmer and Burmese have a separator between words.
"""
_MAY_BE_UNSEEN = re.compile(
    "[\xad\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
"""One of the characters of ``UNSEEN``: faster, since it is a single set."""
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_REVERSED = re.compile("[\u202e\u2067]([^\u202c\u2069\n]{4,2000})")
_NEVER_READ = ("tiny_font", "same_colour")
"""Other hidden text is shown by scripts, or is for screen readers."""
_MORE_OFTEN = 3.5
"""Log-odds: orders have these kinds some thirty times as often as other hidden text that names what orders name."""
_GONE = Hiding("tiny_font", is_gone=True)
_KEPT = Hiding("style", is_gone=False)
_IN_DOUBT = Hiding("style", is_gone=False, is_sure=False)
_LEAST_TEXT, _LEAST_BLANKS = 8, 2
"""Characters of metadata, and blanks in it unless it has Chinese or the like; a text with fewer gives no orders."""


class Texts(Protocol):
    """What a walk found: texts with their nodes, headings and metadata."""

    texts: list[str]
    nodes: list[LexborNode]
    headings: list[tuple[int, str]]
    comments: list[str]
    meta: dict[str, list[str]]
    title: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """Text that no visitor sees.

    Attributes:
        kind: What hides it.
        place: Where it is: an element with its id or class names, or the name of a field of metadata.
        text: The text.
        outcome: Whether it was quarantined, left out, or kept.
        reason: Why it was quarantined or left out; "" for text that was kept.
    """

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
    return UNSEEN.sub("", text) if not text.isascii() and _MAY_BE_UNSEEN.search(text) else text


def take_out_hidden(tree: LexborHTMLParser, sheets: str, addressed: Addressed) -> list[Hidden]:
    """Removes hidden text from a tree without scripts; returns it with the text that was kept."""
    root = tree.root
    if root is None:
        return []
    found: list[Hidden] = []
    removed: dict[int, tuple[LexborNode, Hidden]] = {}
    seen: set[int] = set()
    nodes = root.css(_MAY_HIDE)[:_MAX_STYLED]
    has_links = any(node.tag == "link" for node in nodes)
    behind = page_background(sheets) if sheets else None
    if behind is None and "background" not in sheets and not has_links:
        # No other sheet can give the page a background, so it is white.
        behind = WHITE
    is_known = not has_links and not has_boxes(sheets)
    hiding_nodes: list[tuple[LexborNode, Kind, Hiding, str]] = []
    by_sheet = _by_sheet(root, sheets) if sheets else {}
    of_sheet = ((node, _SHEET, how) for node, how in by_sheet.values())
    may_enlarge = "font" in sheets or has_links
    for node, kind, how in chain(_hidden_elements(nodes, behind, is_known=is_known), of_sheet):
        if node.mem_id in seen:
            continue
        if how.is_sure and _is_shown_inside(node, how, may_enlarge=may_enlarge):
            how = replace(how, is_sure=False)
        if not how.is_sure and len(hiding_nodes) >= _MAX_ELEMENTS:
            continue
        if text := (node.text(separator=" ") if how.is_sure else _text_of(node)).strip():
            hiding_nodes.append((node, kind, how, text))
            if how.is_sure:
                seen |= _inside(node)
    makes = Counter(_make(node) for node, *_ in hiding_nodes)
    is_long = any(len(text) > _MAIN_CHARACTERS for *_, text in hiding_nodes)
    characters = len(tree.body.text_lexbor()) if is_long and tree.body is not None else 0
    told = _judged([(text, how) for _, _, how, text in hiding_nodes[:_MAX_ELEMENTS]], addressed)
    told += [_TOO_MUCH] * (len(hiding_nodes) - len(told))
    searched: set[int] = set()
    for (node, kind, how, text), said in zip(hiding_nodes, told, strict=True):
        if said:
            is_page = _is_main(text, characters, _MOST)
            if said == _TOO_MUCH:
                whole = not _is_main(text, characters)
            else:
                whole = not is_page and len(text) <= (_WHOLE if said[0] == "quarantined" else _SHORT)
            parts = [(node, said)] if whole else list(_parts(node, addressed, how, searched, is_page=is_page))
            for part, (outcome, reason) in parts:
                removed.setdefault(
                    part.mem_id, (part, Hidden(kind, _place(part), part.text(separator=" "), outcome, reason))
                )
            if whole:
                continue
        if not how.is_sure or (kind == _SHEET and len(sheets) > _SHORT_SHEETS):
            continue
        is_alone = not how.is_faded and len(text) <= _SHORT and makes[_make(node)] <= _FEW
        if (how.is_gone or is_alone) and not _is_main(text, characters):
            removed.setdefault(node.mem_id, (node, Hidden(kind, _place(node), text, "left_out", "no visitor sees it")))
        else:
            found.append(Hidden(kind, _place(node), text, "kept"))
    return _remove(removed) + found


def _remove(removed: dict[int, tuple[LexborNode, Hidden]]) -> list[Hidden]:
    """Removes nodes from their tree; one inside of another counts only if it is quarantined, and the other is not."""
    known: dict[int, frozenset[Outcome]] = {}
    found: list[Hidden] = []
    outer: list[LexborNode] = []
    for node, hidden in removed.values():
        path: list[int] = []
        above = node.parent
        while above is not None and above.mem_id not in known:
            path.append(above.mem_id)
            above = above.parent
        around = known[above.mem_id] if above is not None else frozenset()
        for identity in reversed(path):
            around |= {removed[identity][1].outcome} if identity in removed else frozenset()
            known[identity] = around
        if not around:
            outer.append(node)
        if not around or (hidden.outcome == "quarantined" and "quarantined" not in around):
            found.append(hidden)
    for node in outer:
        node.decompose()
    return found


def find_in_hidden(text: str, addressed: Addressed, how: Hiding = _KEPT) -> tuple[Outcome, str] | None:
    """What becomes of a hidden text that may address a model, and why.

    A text in doubt is left out only if it is surely hidden.
    """
    return _judged([(text, how)], addressed)[0]


def _judged(texts: list[tuple[str, Hiding]], addressed: Addressed) -> list[tuple[Outcome, str] | None]:
    """The same for many texts, each with what hides it; all at once is faster."""
    limits = addressed.section
    judged: list[tuple[Outcome, str] | None] = [None] * len(texts)
    lines: list[tuple[int, str]] = []
    total = 0
    for owner, (text, how) in enumerate(texts):
        for line in _short_pieces(text):
            if total > _MAX_JUDGED:
                judged[owner] = _TOO_MUCH if how.is_sure else None
                break
            lines.append((owner, line))
            total += len(line)
    for batch in _batches(lines):
        for said in addressed.find_all("\n".join(line for _, line in batch), limits.doubtful, is_hidden=True):
            owner = batch[said.line][0]
            how = texts[owner][1]
            more = _MORE_OFTEN if how.is_sure and how.kind in _NEVER_READ else 0.0
            if said.score + more >= limits.quarantined:
                judged[owner] = "quarantined", f"addresses a language model: {said.reason}"
            elif how.is_sure and judged[owner] is None:
                judged[owner] = "left_out", f"may address a language model: {said.reason}"
    return judged


def _batches(lines: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Lines with the numbers of their texts, as many together as are judged at once."""
    batch: list[tuple[int, str]] = []
    length = 0
    for one in lines:
        length += len(one[1]) + 1
        if length > _BATCH:
            yield batch
            batch, length = [], len(one[1]) + 1
        batch.append(one)
    yield batch


def _short_pieces(text: str) -> Iterator[str]:
    """A text in pieces of one line, which end where a line of it ends, and begin with the last line of that before."""
    if len(text) <= _PIECE:
        yield " ".join(text.split())
        return
    piece: list[str] = []
    length = 0
    lines: Iterable[str] = text.split("\n")
    if len(text) > _MAX_LINE:
        lines = chain.from_iterable(map(_cut, lines))
    for line in lines:
        if plain := line.strip():
            piece.append(plain)
            length += len(plain)
            if length > _PIECE:
                yield " ".join(" ".join(piece).split())
                piece = piece[-1:] if len(plain) < _PIECE else []
                length = 0
    if piece:
        yield " ".join(" ".join(piece).split())


def _cut(line: str) -> Iterator[str]:
    """A long line in parts that overlap, so that no part is longer than what is judged at once."""
    return (line[begin : begin + _MAX_LINE] for begin in range(0, len(line), _MAX_LINE - _PIECE))


def _hidden_elements(
    nodes: list[LexborNode], behind: Colour | None, *, is_known: bool
) -> Iterator[tuple[LexborNode, Kind, Hiding]]:
    """Elements that their style or an attribute hides, or may hide."""
    last = 0
    for node in nodes:
        # A node that two selectors match comes twice.
        if last == (last := node.mem_id) or node.first_child is None:
            continue
        attributes = node.attributes
        style = attributes.get("style")
        how = hiding(style, behind) if style else None
        if style and how is not None and how.kind == "same_colour" and not _is_alone(style):
            how = _against(node, style, how, behind, is_known=is_known)
        if "hidden" in attributes:
            yield node, "hidden_attribute", how or _KEPT
        elif attributes.get("aria-hidden") == "true":
            yield node, "aria_hidden", how or _IN_DOUBT
        elif how is not None:
            yield node, "inline_style" if how.kind == "style" else how.kind, how
        elif node.tag == "noscript":
            yield node, "noscript", _KEPT
        elif (node.tag == "dialog" and "open" not in attributes) or "popover" in attributes:
            yield node, "hidden_attribute", _KEPT


def _is_alone(style: str) -> bool:
    """Whether a style hides text whatever is behind its element."""
    how = hiding(style)
    return how is not None and how.is_sure


def _against(node: LexborNode, style: str, how: Hiding, page: Colour | None, *, is_known: bool) -> Hiding | None:
    """How an element's colour hides its text before the background of the elements around it."""
    above = node.parent
    for _ in range(_MAX_ABOVE):
        if above is None:
            break
        attributes = above.attributes
        around = (attributes.get("style") or "").lower()
        if colour := attributes.get("bgcolor"):
            around = f"background:{colour};{around}"
        if (behind := background(around)) is not None:
            return hiding(style, behind)
        if "background" in around or "background" in attributes:
            # An image or a gradient, on which text of any colour may be seen.
            return replace(how, is_sure=False)
        above = above.parent
    found = hiding(style, page) if page is not None else how
    # Classes can give the elements around it a background.
    return found if is_known or found is None else replace(found, is_sure=False)


def _is_shown_inside(node: LexborNode, how: Hiding, *, may_enlarge: bool) -> bool:
    """Whether an element inside is visible again, or has a font of its own, as between inline blocks without blanks."""
    if how.kind == "style":
        return how.is_gone and node.css_first(_VISIBLE) is not None
    if how.kind != "tiny_font":
        return False
    inside = node.css("[style*=font],[class]" if may_enlarge else "[style*=font]")
    own = (hiding(one.attributes.get("style") or "") for one in inside if one.mem_id != node.mem_id)
    return any(how is None or how.kind != "tiny_font" for how in own)


def _inside(node: LexborNode) -> set[int]:
    """The identities of an element and of the elements inside of it."""
    return {one.mem_id for one in node.traverse()}


def _text_of(node: LexborNode) -> str:
    """The beginning of an element's text, of a bounded number of nodes: elements in doubt can hold the whole page."""
    texts, length = [], 0
    for part in islice(node.traverse(include_text=True, skip_empty=True), _MAX_NODES):
        if part.tag_id == _TEXT:
            text = (part.text_content or "")[:_MAX_DOUBTFUL]
            texts.append(text)
            length += len(text)
            if length >= _MAX_DOUBTFUL:
                break
    return " ".join(texts)


def _parts(
    node: LexborNode, addressed: Addressed, how: Hiding, searched: set[int], *, is_page: bool
) -> Iterator[tuple[LexborNode, tuple[Outcome, str]]]:
    """The smallest parts of a long hidden element that may address a model; of most of a page, that do.

    An element in doubt that is inside of a searched one has no other parts than it.
    """
    if not how.is_sure and node.mem_id in searched:
        return
    if is_page:
        # It is shown by a script, and its font or colour with it.
        how = replace(how, kind="style")
    stack, parts = [node], list[tuple[LexborNode, str]]()
    for _ in range(_MAX_PARTS):
        if not stack:
            break
        part = stack.pop()
        searched.add(part.mem_id)
        text = part.text(separator=" ")
        inner = [] if len(text) <= _SHORT else list(part.iter(include_text=True))
        if inner:
            stack += reversed(inner)
        elif text.strip():
            parts.append((part, text))
    for (part, text), said in zip(parts, _judged([(text, how) for _, text in parts], addressed), strict=True):
        if said is not None and (
            said[0] == "quarantined" or said == _TOO_MUCH or (len(text) <= _SHORT and not is_page)
        ):
            yield part, said
    yield from ((part, _TOO_MUCH) for part in stack if how.is_sure)


def _is_main(text: str, characters: int, share: float = _MAIN_SHARE) -> bool:
    """Whether a hidden text is so large a part of a page's characters that a script shows it as the main text."""
    return len(text) > max(_MAIN_CHARACTERS, share * characters)


def _make(node: LexborNode) -> str:
    """Tag and class names: hidden elements of one make are parts of a template, which a script shows."""
    return f"{node.tag} {node.attributes.get('class') or ''}"


def _place(node: LexborNode) -> str:
    """Tag, id and first class names of an element, or of that around a text."""
    element = node.parent if node.tag_id == _TEXT and node.parent is not None else node
    attributes = element.attributes
    names = "".join(f".{name}" for name in (attributes.get("class") or "").split()[:2])
    identity = attributes.get("id")
    return f"{element.tag}{f'#{identity}' if identity else ''}{names}"[:100]


def _by_sheet(root: LexborNode, sheets: str) -> dict[int, tuple[LexborNode, Hiding]]:
    """The elements that style sheets hide."""
    rules = hiding_rules(sheets)
    found: dict[int, tuple[LexborNode, Hiding]] = {}
    for how in dict.fromkeys(rules.values()):
        selectors = [selector for selector, other in rules.items() if other == how]
        nodes = _selected(root, selectors)[:_MAX_STYLED]
        showing = showing_classes(sheets, "display") | showing_classes(sheets, how.shown_by) if nodes else frozenset()
        for node in nodes:
            if node.tag not in _WHOLE_PAGE and (node.mem_id not in found or how.is_sure):
                is_shown = showing and not showing.isdisjoint((node.attributes.get("class") or "").split())
                found[node.mem_id] = node, replace(how, is_sure=False) if is_shown else how
    return found


def _selected(root: LexborNode, selectors: list[str]) -> list[LexborNode]:
    """The elements that any of the selectors matches. As in a browser, one that is invalid matches none."""
    with suppress(SelectolaxError):
        return root.css(",".join(selectors))
    found: list[LexborNode] = []
    for selector in selectors:
        with suppress(SelectolaxError):
            found += root.css(selector)
    return found


def take_out_unseen(outline: Texts, addressed: Addressed) -> list[Hidden]:
    """Empties texts and metadata that address a model by characters without width, and removes such characters."""
    found: list[Hidden] = []
    texts = outline.texts
    for place, text in enumerate(texts):
        if text.isascii() or not _MAY_BE_UNSEEN.search(text) or not (unseen := len(UNSEEN.findall(text))):
            continue
        is_broken = unseen >= _LEAST_UNSEEN and unseen * _BROKEN > len(text)
        said = next(filter(None, _judged(_decoded(text, is_broken=is_broken), addressed)), None) if unseen > 1 else None
        if said is not None:
            found.append(Hidden("invisible_characters", _place(outline.nodes[place]), text, *said))
        elif unseen >= _LEAST_UNSEEN:
            found.append(Hidden("invisible_characters", _place(outline.nodes[place]), text, "left_out", "has no width"))
        texts[place] = (UNSEEN.sub("", text) or " ") if said is None and not is_broken else " "
    if found:
        gone = [" ".join(one.text.split()) for one in found if one.reason != "has no width"]
        outline.headings = [(level, text) for level, text in outline.headings if text not in gone]
    values = dict.fromkeys(value for values in outline.meta.values() for value in values if _may_order(value))
    comments = [(text, _IN_DOUBT) for text in outline.comments if _may_order(text)]
    judged = _judged([*((value, _KEPT) for value in values), *comments, (outline.title, _IN_DOUBT)], addressed)
    *of_others, of_title = judged
    told = dict(zip(values, of_others, strict=False))
    of_comments = zip(comments, of_others[len(values) :], strict=True)
    found += [Hidden("comment", "comment", text, *said) for (text, _), said in of_comments if said]
    if any(told.values()):
        for name, stated in outline.meta.items():
            found += [
                Hidden("attribute", f"meta {name}"[:100], value, *said) for value in stated if (said := told.get(value))
            ]
        kept = {name: [one for one in stated if not told.get(one)] for name, stated in outline.meta.items()}
        outline.meta = {name: stated for name, stated in kept.items() if stated}
    if of_title:
        found.append(Hidden("attribute", "title", outline.title, *of_title))
        outline.title = ""
    return found


def _may_order(text: str) -> bool:
    """Whether metadata has words enough for an order."""
    return len(text) >= _LEAST_TEXT and (not text.isascii() or text.count(" ") + text.count("-") >= _LEAST_BLANKS)


def _decoded(text: str, *, is_broken: bool) -> list[tuple[str, Hiding]]:
    """What a text with characters without width may say to a model: without them, by tags, and reversed."""
    tags = "".join(chr(ord(sign) - 0xE0000) for run in _TAGS.findall(text) for sign in run)
    turned = " ".join(run[::-1] for run in _REVERSED.findall(text))
    return [(UNSEEN.sub("", text), _GONE if is_broken else _IN_DOUBT), (tags, _GONE), (turned, _GONE)]
