"""Elements that no visitor sees, taken out of the tree before the walk, so that no reader of the page sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.addressed import Addressed
from handlers.html.hidden_text import IN_DOUBT, KEPT, TOO_MUCH, Hidden, judge, place_of
from handlers.html.outline import TEXT
from handlers.html.sheets import Rule, Styles
from handlers.html.styles import INHERITED, Colour, Hiding, background_of, hiding, may_hide, read_style
from schemas.pages import HiddenKind as Kind
from schemas.pages import HiddenOutcome as Outcome

_MAY_HIDE = (
    "[style],[hidden],[aria-hidden=true],[popover],noscript,dialog,details:not([open]),font[color],body[text],"
    "body[bgcolor],[opacity]"
)
_MAX_STYLED, _MAX_ELEMENTS, _MAX_PARTS = 40_000, 2_000, 20_000
"""Elements with a style that are looked at, elements with text that is judged, and parts of them."""
_WHOLE, _SHORT, _FEW = 1_500, 250, 2
"""Characters of an element that is taken out as a whole if a part is written to a machine, or else is no article."""
_MAIN_SHARE, _MAIN_CHARACTERS, _MOST = 0.2, 400, 0.5
"""A hidden element with more, and with this share of the page's text, is its main text until a script shows it.

Of an element with most of the page's text only parts that are written to a machine are taken out.
"""
_SHORT_PAGE, _HIDDEN_SHARE = 6_000, 0.25
"""Characters of visible text, of which a longer page has tabs and accordions."""
_MAX_DOUBTFUL, _MAX_NODES = 3_000, 200
_LOOKS = {"bgcolor": "background-color", "text": "color", "color": "color", "opacity": "opacity"}


def take_out_hidden(tree: LexborHTMLParser, sheets: str, addressed: Addressed) -> list[Hidden]:
    """Removes hidden text from a tree without scripts; returns it with the text that was kept."""
    if tree.root is None:
        return []
    page = _Page(tree.root, sheets, len(tree.raw_html or b""))
    seen: set[int] = set()
    hidden: list[tuple[LexborNode, Kind, Hiding, str]] = []
    for node, kind, how in page.hidden():
        if node.mem_id in seen or (not how.is_sure and len(hidden) >= _MAX_ELEMENTS):
            continue
        if text := (node.text(separator=" ") if how.is_sure else _text_of(node)).strip():
            hidden.append((node, kind, how, text))
            if how.is_sure:
                seen |= {one.mem_id for one in node.traverse()}
    if not hidden:
        return []
    makes = Counter(_make(node) for node, *_ in hidden)
    faded = sum(how.by == ("opacity",) for _, _, how, _ in hidden)
    is_read = any(how.is_sure or len(text) > _MAIN_CHARACTERS for _, _, how, text in hidden)
    characters = len(tree.body.text_lexbor()) if is_read and tree.body is not None else 0
    judged = judge(((text, how) for _, _, how, text in hidden), addressed)
    unseen = sum(len(text) for _, _, how, text in hidden if how.is_sure)
    # A short page that has little hidden text has no tabs.
    is_short = unseen < _HIDDEN_SHARE * (characters - unseen) < _HIDDEN_SHARE * _SHORT_PAGE
    found: list[Hidden] = []
    removed: dict[int, tuple[LexborNode, Hidden]] = {}
    searched: set[int] = set()
    for (node, kind, how, text), said in zip(hidden, judged, strict=True):
        is_page = _is_main(text, characters, _MOST)
        if said:
            most = _WHOLE if said[0] == "quarantined" else _SHORT
            is_whole = not _is_main(text, characters) if said == TOO_MUCH else not is_page and len(text) <= most
            parts = [(node, said)] if is_whole else list(_parts(node, addressed, how, searched, is_page=is_page))
            for part, (outcome, reason) in parts:
                taken = Hidden(kind, place_of(part), part.text(separator=" "), outcome, reason)
                removed.setdefault(part.mem_id, (part, taken))
            if is_whole:
                continue
        if how.is_sure:
            is_alone = is_short or (len(text) <= _SHORT and makes[_make(node)] <= _FEW)
            is_faded = how.by == ("opacity",) and faded > _FEW
            is_out = how.is_gone or (is_alone and not is_faded)
            if is_out and not _is_main(text, characters, _MOST if is_short else _MAIN_SHARE):
                taken = Hidden(kind, place_of(node), text, "left_out", "no visitor sees it")
                removed.setdefault(node.mem_id, (node, taken))
            else:
                found.append(Hidden(kind, place_of(node), text, "kept"))
    return _remove(removed) + found


class _Page:
    """The elements of a page that a style or an attribute hides."""

    def __init__(self, root: LexborNode, sheets: str, size: int) -> None:
        nodes = root.css(_MAY_HIDE)
        self._exceeded = len(nodes) > _MAX_STYLED
        self._nodes = [(node, its) for node in nodes[:_MAX_STYLED] if node.first_child for its in (node.attributes,)]
        self._root = root
        self._known: dict[str, tuple[dict[str, str], Hiding | None, Hiding | None]] = {}
        self._styles = Styles(root, sheets, size) if sheets and not sheets.isspace() else None

    @cached_property
    def _grounds(self) -> list[Colour]:
        """Colours of backgrounds of the page."""
        own = (background_of(read_style(_presented(its))) for _, its in self._nodes)
        return [*filter(None, dict.fromkeys(own)), *(self._styles.sheet.grounds if self._styles else ())][:40]

    def hidden(self) -> Iterator[tuple[LexborNode, Kind, Hiding]]:
        """Elements that may be hidden, with what hides them."""
        by_sheet = self._styles.may_hide() if self._styles else {}
        for node, attributes in self._nodes:
            _, rules, is_match = by_sheet.pop(node.mem_id, (node, [], True))
            inline = _presented(attributes)
            how = self._how(node, inline, rules, is_match=is_match) if inline or rules else None
            if "hidden" in attributes:
                yield node, "hidden_attribute", how or KEPT
            elif attributes.get("aria-hidden") == "true":
                yield node, "aria_hidden", how or IN_DOUBT
            elif how is not None:
                yield node, _kind(how, rules), how
            elif node.tag in ("noscript", "dialog", "details") or "popover" in attributes:
                is_open = node.tag == "dialog" and "open" in attributes
                kind: Kind = "noscript" if node.tag == "noscript" else "hidden_attribute"
                yield node, kind, IN_DOUBT if node.tag == "details" or is_open else KEPT
        for node, rules, is_match in by_sheet.values():
            if node.tag not in ("html", "head", "body") and (how := self._how(node, "", rules, is_match=is_match)):
                yield node, _kind(how, rules), how
        if self._exceeded or (self._styles is not None and self._styles.exceeded):
            # What the rules beyond the budget hide is not known.
            lines = (node for node in self._root.css("body *") if node.first_child and node.first_child.is_text_node)
            yield from ((node, "style_sheet", IN_DOUBT) for node in islice(lines, _MAX_ELEMENTS))

    def _how(self, node: LexborNode, inline: str, rules: list[Rule], *, is_match: bool) -> Hiding | None:
        """How the styles of an element hide its text."""
        own, may, _ = self._read(inline)
        if may is None and not rules:
            return None
        _, _, how = self._read(";".join((*(rule.style for rule in rules), inline)))
        if how is None:
            # Another rule, or what is around, may give what is missing; a style of the element itself shows it.
            is_set = may is None and any(part in own for rule in rules for part in rule.how.by)
            return None if is_set else replace(may or rules[0].how, is_sure=False)
        is_shown = not is_match or self._is_shown(node, own, how)
        return replace(how, is_sure=False) if is_shown else how

    def _read(self, style: str) -> tuple[dict[str, str], Hiding | None, Hiding | None]:
        """The values of a style, how they may hide text, and how they surely do."""
        if style not in self._known:
            said = read_style(style, self._styles.sheet.variables if self._styles else None)
            may = may_hide(said) or (may_hide(said, self._grounds) if "color" in said else None)
            self._known[style] = said, may, hiding(said) if may else None
        return self._known[style]

    def _is_shown(self, node: LexborNode, own: Mapping[str, str], how: Hiding) -> bool:
        """Whether another rule, or an element inside, may show the text of an element."""
        if self._styles and hiding(own) is None and (how.kind == "same_colour" or self._styles.is_shown(node, how.by)):
            return True
        if how.by[:1] and how.by[0] in INHERITED:
            inside = list(islice(node.traverse(), 1, _MAX_NODES))
            is_set = any(how.by[0] in (one.attributes.get("style") or "") for one in inside)
            return is_set or any(self._styles.is_shown(one, how.by) for one in inside if self._styles)
        return False


def _kind(how: Hiding, rules: list[Rule]) -> Kind:
    if how.kind != "style":
        return how.kind
    return "style_sheet" if any(rule.how.by == how.by for rule in rules) else "inline_style"


def _presented(attributes: Mapping[str, str | None]) -> str:
    """The style of an element, with attributes of its look."""
    style = attributes.get("style") or ""
    if _LOOKS.keys().isdisjoint(attributes):
        return style
    return ";".join([*(f"{its}:{attributes[name]}" for name, its in _LOOKS.items() if attributes.get(name)), style])


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


def _text_of(node: LexborNode) -> str:
    """The beginning of an element's text, of a bounded number of nodes: elements in doubt can hold the whole page."""
    texts, length = [], 0
    for part in islice(node.traverse(include_text=True, skip_empty=True), _MAX_NODES):
        if part.tag_id == TEXT:
            text = (part.text_content or "")[:_MAX_DOUBTFUL]
            texts.append(text)
            length += len(text)
            if length >= _MAX_DOUBTFUL:
                break
    return " ".join(texts)


def _parts(
    node: LexborNode, addressed: Addressed, how: Hiding, searched: set[int], *, is_page: bool
) -> Iterator[tuple[LexborNode, tuple[Outcome, str]]]:
    """The smallest parts of a long hidden element that are written to a machine, once for each element in doubt."""
    if not how.is_sure and node.mem_id in searched:
        return
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
    for (part, text), said in zip(parts, judge(((text, how) for _, text in parts), addressed), strict=True):
        if said and (said[0] == "quarantined" or said == TOO_MUCH or (len(text) <= _SHORT and not is_page)):
            yield part, said
    yield from ((part, TOO_MUCH) for part in stack if how.is_sure)


def _is_main(text: str, characters: int, share: float = _MAIN_SHARE) -> bool:
    """Whether a hidden text is so large a part of a page's characters that a script shows it as the main text."""
    return len(text) > max(_MAIN_CHARACTERS, share * characters)


def _make(node: LexborNode) -> str:
    """Tag and class names: hidden elements of one make are parts of a template, which a script shows."""
    return f"{node.tag} {node.attributes.get('class') or ''}"
