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
from handlers.html.sheets import Styles, read_sheet
from handlers.html.styles import INHERITED, WHITE, Colour, Hiding, background_of, hiding, in_colour_of, read_style
from schemas.pages import HiddenKind as Kind
from schemas.pages import HiddenOutcome as Outcome

_SHEET: Kind = "style_sheet"
_WHOLE_PAGE = frozenset(("html", "head", "body"))
_MAY_HIDE = (
    "[style],[hidden],[aria-hidden=true],[popover],noscript,dialog,details:not([open]),link[rel~=stylesheet],"
    "font[color],body[text]"
)
_MAX_STYLED = 120_000
"""Elements with a style, or that a selector matches, that are looked at."""
_MAX_ELEMENTS = 2_000
"""Elements with text whose text is judged; of more only what is surely hidden is looked for, and left out."""
_WHOLE = 1_500
"""Characters of a hidden element that is taken out as a whole if a part of it addresses a model."""
_MAX_PARTS = 20_000
_MAIN_SHARE = 0.2
_MAIN_CHARACTERS = 400
"""A hidden element with more, and with this share of the page's text, is its main text until a script shows it."""
_MOST = 0.5
"""Of an element with so much of the page's text, only parts that address a model are taken out, and none in doubt."""
_SHORT = 250
"""Characters of hidden text that is no tab, accordion or article, which a script shows."""
_FEW = 2
_COLOURS = frozenset(("color", "background"))
_LOOKS = frozenset(("bgcolor", "text", "color", "background"))
_NOTHING: frozenset[str] = frozenset()
_MOST_GROUNDS = 20
_SHORT_PAGE, _HIDDEN_SHARE = 6_000, 0.25
"""Characters of visible text, of which a longer page has tabs and accordions."""
_MAX_DOUBTFUL = 3_000
_MAX_NODES = 200


def take_out_hidden(tree: LexborHTMLParser, sheets: str, addressed: Addressed) -> list[Hidden]:
    """Removes hidden text from a tree without scripts; returns it with the text that was kept."""
    root = tree.root
    if root is None:
        return []
    found: list[Hidden] = []
    removed: dict[int, tuple[LexborNode, Hidden]] = {}
    seen: set[int] = set()
    page = _Page(root, sheets)
    hiding_nodes: list[tuple[LexborNode, Kind, Hiding, str]] = []
    for element, kind, its in page.hidden():
        if element.mem_id in seen:
            continue
        for node, how in page.parts(element, its):
            if not how.is_sure and len(hiding_nodes) >= _MAX_ELEMENTS:
                continue
            if text := (node.text(separator=" ") if how.is_sure else _text_of(node)).strip():
                hiding_nodes.append((node, kind, how, text))
                if how.is_sure:
                    seen |= _inside(node)
    makes = Counter(_make(node) for node, *_ in hiding_nodes)
    faded = sum(how.by == ("opacity",) for _, _, how, _ in hiding_nodes)
    is_read = any(how.is_sure or len(text) > _MAIN_CHARACTERS for _, _, how, text in hiding_nodes)
    characters = len(tree.body.text_lexbor()) if is_read and tree.body is not None else 0
    told = judge([(text, how) for _, _, how, text in hiding_nodes[:_MAX_ELEMENTS]], addressed)
    told += [TOO_MUCH] * (len(hiding_nodes) - len(told))
    searched: set[int] = set()
    unseen = sum(len(text) for _, _, how, text in hiding_nodes if how.is_sure)
    # A short page that has little hidden text has no tabs.
    is_short = unseen < _HIDDEN_SHARE * (characters - unseen) < _HIDDEN_SHARE * _SHORT_PAGE
    for (node, kind, how, text), said in zip(hiding_nodes, told, strict=True):
        is_page = _is_main(text, characters, _MOST)
        if said:
            if said == TOO_MUCH:
                whole = not _is_main(text, characters)
            else:
                whole = not is_page and len(text) <= (_WHOLE if said[0] == "quarantined" else _SHORT)
            parts = [(node, said)] if whole else list(_parts(node, addressed, how, searched, is_page=is_page))
            for part, (outcome, reason) in parts:
                taken = Hidden(kind, place_of(part), part.text(separator=" "), outcome, reason)
                removed.setdefault(part.mem_id, (part, taken))
            if whole:
                continue
        if not how.is_sure:
            continue
        is_faded = how.by == ("opacity",) and faded > _FEW
        is_alone = not is_faded and (is_short or (len(text) <= _SHORT and makes[_make(node)] <= _FEW))
        if (how.is_gone or is_alone) and not _is_main(text, characters, _MOST if is_short else _MAIN_SHARE):
            taken = Hidden(kind, place_of(node), text, "left_out", "no visitor sees it")
            removed.setdefault(node.mem_id, (node, taken))
        else:
            found.append(Hidden(kind, place_of(node), text, "kept"))
    return _remove(removed) + found


class _Page:
    """The elements of a page that a style or an attribute hides."""

    def __init__(self, root: LexborNode, sheets: str) -> None:
        nodes = {node.mem_id: node for node in root.css(_MAY_HIDE)[:_MAX_STYLED]}
        self._nodes = [
            (node, its, _presented(its)) for node in nodes.values() if node.first_child for its in (node.attributes,)
        ]
        self._root = root
        self._styles = Styles(root, read_sheet(sheets)) if sheets else None
        self._is_known = not any(node.tag == "link" for node in nodes.values())
        self._backgrounds: dict[int, tuple[Colour | None, bool]] = {}

    @cached_property
    def _grounds(self) -> list[Colour]:
        own = (background_of(read_style(style)[0]) for _, _, style in self._nodes if "background" in style)
        grounds = self._styles.sheet.grounds if self._styles is not None else []
        return [*dict.fromkeys(filter(None, own)), *grounds][:_MOST_GROUNDS]

    def hidden(self) -> Iterator[tuple[LexborNode, Kind, Hiding]]:
        """Elements that may be hidden, with what hides them."""
        by_sheet = self._styles.may_hide() if self._styles is not None else {}
        for node, attributes, inline in self._nodes:
            _, by, is_match = by_sheet.pop(node.mem_id, (node, _NOTHING, True))
            how = self._how(node, inline, by, is_match=is_match) if inline or by else None
            if "hidden" in attributes:
                yield node, "hidden_attribute", how or KEPT
            elif attributes.get("aria-hidden") == "true":
                yield node, "aria_hidden", how or IN_DOUBT
            elif how is not None:
                is_sheets = by and not set(by).isdisjoint(how.by)
                yield node, (_SHEET if is_sheets else "inline_style") if how.kind == "style" else how.kind, how
            elif node.tag == "noscript":
                yield node, "noscript", KEPT
            elif (node.tag == "dialog" and "open" not in attributes) or "popover" in attributes:
                yield node, "hidden_attribute", KEPT
            elif node.tag == "details":
                yield node, "hidden_attribute", IN_DOUBT
        for node, by, is_match in by_sheet.values():
            # Another sheet gives the boxes their colours.
            if not self._is_known and by <= _COLOURS:
                continue
            if node.tag not in _WHOLE_PAGE and (how := self._how(node, "", by, is_match=is_match)):
                yield node, _SHEET, how
        if self._styles is not None and self._styles.exceeded:
            # What the rules beyond the budget hide is not known.
            yield from ((node, _SHEET, IN_DOUBT) for node in self._root.css("[class],[id]")[:_MAX_ELEMENTS])

    def _how(self, node: LexborNode, inline: str, by: frozenset[str], *, is_match: bool) -> Hiding | None:
        """How the styles of an element hide its text."""
        own, may = read_style(inline)
        if may is None and "color" in own:
            may = in_colour_of(own, self._grounds)
        if may is None and not by:
            return None
        said = own
        if self._styles is not None:
            applied = self._styles.said(node, by.union(may.by if may else ()), inline)
            if applied is None:
                return IN_DOUBT
            said = applied
        how = hiding(said)
        if (how is None and "color" in said and in_colour_of(said, self._grounds)) or (
            how is not None and how.kind == "same_colour"
        ):
            how = self._against(node, said)
        return how if how is None or is_match else replace(how, is_sure=False)

    def _against(self, node: LexborNode, said: dict[str, str]) -> Hiding | None:
        """How an element's colour hides its text before the background of the elements around it."""
        behind, is_known = self._behind(node.parent) if self._is_known else (None, False)
        found = hiding(said, behind or WHITE)
        return found if found is None or is_known else replace(found, is_sure=False)

    def _behind(self, node: LexborNode | None) -> tuple[Colour | None, bool]:
        """The colour of an element or of the nearest one around it, and whether no picture may be before it."""
        path = []
        while node is not None and node.mem_id not in self._backgrounds:
            path.append(node)
            node = node.parent
        found = self._backgrounds[node.mem_id] if node is not None else (None, True)
        for one in reversed(path):
            inline = _presented(one.attributes)
            around: dict[str, str] | None = read_style(inline)[0]
            if self._styles is not None and self._styles.sets(one, "background"):
                around = self._styles.said(one, ("background",), inline)
            if around is None or any(word in str(around) for word in ("url(", "gradient", "image")):
                found = None, False
            elif own := background_of(around):
                found = own, True
            self._backgrounds[one.mem_id] = found
        return found

    def parts(self, node: LexborNode, how: Hiding) -> list[tuple[LexborNode, Hiding]]:
        """The hidden element, or what is hidden in it besides elements that are shown again."""
        if not how.by or how.by[0] not in INHERITED:
            return [(node, how)]
        inside = node.css("*" if self._styles is not None else "[style]")
        if len(inside) > _MAX_ELEMENTS:
            return [(node, replace(how, is_sure=False))]
        shown = self._shown_inside(node, inside, how)
        if not shown:
            return [(node, how)]
        if len(node.text()) > _WHOLE:
            # A script shows it, as it shows parts of it.
            return [(node, replace(how, is_sure=False))]
        path = {node.mem_id}
        for one in shown:
            above: LexborNode | None = one
            while above is not None and above.mem_id not in path:
                path.add(above.mem_id)
                above = above.parent
        last = {one.mem_id for one in shown}
        stack, found = [node], []
        while stack:
            for child in stack.pop().iter(include_text=True):
                if child.mem_id not in path:
                    found.append((child, how))
                elif child.mem_id not in last:
                    stack.append(child)
        return found

    def _shown_inside(self, node: LexborNode, inside: list[LexborNode], how: Hiding) -> list[LexborNode]:
        """Elements with text inside of a hidden one that set the property that hides it to another value."""
        part = how.by[0]
        found = []
        for one in inside:
            inline = one.attributes.get("style") or ""
            styles = self._styles
            if one.mem_id == node.mem_id or not (part in inline or (styles is not None and styles.sets(one, part))):
                continue
            said = read_style(inline)[0] if styles is None else styles.said(one, (part,), inline)
            if said is None or (any(part in name for name in said) and not _still(said, how) and one.text().strip()):
                found.append(one)
        return found


def _still(said: dict[str, str], how: Hiding) -> bool:
    own = hiding(said)
    return own is not None and own.kind == how.kind


def _presented(attributes: Mapping[str, str | None]) -> str:
    """The style of an element, with attributes of its look."""
    style = attributes.get("style") or ""
    if _LOOKS.isdisjoint(attributes):
        return style
    for name, its in (
        ("bgcolor", "background-color"),
        ("text", "color"),
        ("color", "color"),
        ("background", "background-image"),
    ):
        if value := attributes.get(name):
            style = f"{its}:{value};{style}"
    return style


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


def _inside(node: LexborNode) -> set[int]:
    """The identities of an element and of the elements inside of it."""
    return {one.mem_id for one in node.traverse()}


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
    for (part, text), said in zip(parts, judge([(text, how) for _, text in parts], addressed), strict=True):
        if said is not None and (said[0] == "quarantined" or said == TOO_MUCH or (len(text) <= _SHORT and not is_page)):
            yield part, said
    yield from ((part, TOO_MUCH) for part in stack if how.is_sure)


def _is_main(text: str, characters: int, share: float = _MAIN_SHARE) -> bool:
    """Whether a hidden text is so large a part of a page's characters that a script shows it as the main text."""
    return len(text) > max(_MAIN_CHARACTERS, share * characters)


def _make(node: LexborNode) -> str:
    """Tag and class names: hidden elements of one make are parts of a template, which a script shows."""
    return f"{node.tag} {node.attributes.get('class') or ''}"
