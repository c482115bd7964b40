"""Elements that no visitor sees, taken out of the tree before the walk, so that no reader of the page sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from math import comb

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from handlers.html.addressed import Addressed
from handlers.html.hidden_text import IN_DOUBT, KEPT, TOO_MUCH, Hidden, judge, place_of
from handlers.html.outline import TEXT
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

_SHEET: Kind = "style_sheet"
_WHOLE_PAGE = frozenset(("html", "head", "body"))
_MAY_HIDE = "[style],[hidden],[aria-hidden=true],[popover],noscript,dialog,link[rel~=stylesheet]"
_VISIBLE = "[style*='visibility:visible'],[style*='visibility: visible']"
_MAX_STYLED = 120_000
"""Elements with a style, or that a selector matches, that are looked at."""
_MAX_ELEMENTS = 2_000
"""Elements with text whose text is judged; of more only what is surely hidden is looked for, and left out."""
_MAX_ABOVE = 40
_MAX_UNCOUNTED = 40
"""Selectors of two parts that take little: each is tried once at each element above."""
_MAX_STEPS = 50_000_000
"""Looks at the elements around others that selectors may take; each of ``.a .b .c`` is looked for in all above."""
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
_SHORT_SHEETS = 20_000
"""Characters of style sheets; longer ones hide menus and tabs, of which only what may address a model is taken out."""
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
    told = judge([(text, how) for _, _, how, text in hiding_nodes[:_MAX_ELEMENTS]], addressed)
    told += [TOO_MUCH] * (len(hiding_nodes) - len(told))
    searched: set[int] = set()
    for (node, kind, how, text), said in zip(hiding_nodes, told, strict=True):
        if said:
            is_page = _is_main(text, characters, _MOST)
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
        if not how.is_sure or (kind == _SHEET and len(sheets) > _SHORT_SHEETS):
            continue
        is_alone = not how.is_faded and len(text) <= _SHORT and makes[_make(node)] <= _FEW
        if (how.is_gone or is_alone) and not _is_main(text, characters):
            taken = Hidden(kind, place_of(node), text, "left_out", "no visitor sees it")
            removed.setdefault(node.mem_id, (node, taken))
        else:
            found.append(Hidden(kind, place_of(node), text, "kept"))
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


def _hidden_elements(
    nodes: list[LexborNode], behind: Colour | None, *, is_known: bool
) -> Iterator[tuple[LexborNode, Kind, Hiding]]:
    """Elements that their style or an attribute hides, or may hide."""
    last = 0
    for node in nodes:
        before, last = last, node.mem_id  # a node that two selectors match comes twice
        if before == last or node.first_child is None:
            continue
        attributes = node.attributes
        style = attributes.get("style")
        how = hiding(style, behind) if style else None
        if style and how is not None and how.kind == "same_colour" and not _is_alone(style):
            how = _against(node, style, how, behind, is_known=is_known)
        if "hidden" in attributes:
            yield node, "hidden_attribute", how or KEPT
        elif attributes.get("aria-hidden") == "true":
            yield node, "aria_hidden", how or IN_DOUBT
        elif how is not None:
            yield node, "inline_style" if how.kind == "style" else how.kind, how
        elif node.tag == "noscript":
            yield node, "noscript", KEPT
        elif (node.tag == "dialog" and "open" not in attributes) or "popover" in attributes:
            yield node, "hidden_attribute", KEPT


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


def _by_sheet(root: LexborNode, sheets: str) -> dict[int, tuple[LexborNode, Hiding]]:
    """The elements that style sheets hide; in doubt, those of a selector that would take long."""
    rules = hiding_rules(sheets)
    costly = _costly_selectors(root, list(rules))
    found: dict[int, tuple[LexborNode, Hiding]] = {}
    for how in dict.fromkeys(rules.values()):
        selectors = [selector for selector, other in rules.items() if other == how and selector not in costly]
        nodes = _selected(root, selectors)[:_MAX_STYLED] if selectors else []
        showing = showing_classes(sheets, "display") | showing_classes(sheets, how.shown_by) if nodes else frozenset()
        for node in nodes:
            if node.tag not in _WHOLE_PAGE and (node.mem_id not in found or how.is_sure):
                is_shown = showing and not showing.isdisjoint((node.attributes.get("class") or "").split())
                found[node.mem_id] = node, replace(how, is_sure=False) if is_shown else how
    for node in _selected(root, [_parts_of(selector)[-1] for selector in costly])[:_MAX_STYLED] if costly else ():
        if node.tag not in _WHOLE_PAGE:
            found.setdefault(node.mem_id, (node, IN_DOUBT))
    return found


def _parts_of(selector: str) -> list[str]:
    return selector.replace(">", " ").split()


def _costly_selectors(root: LexborNode, selectors: list[str]) -> list[str]:
    """The selectors that may take too many steps: each part before the last is tried at all elements above."""
    combined = [selector for selector in selectors if len(_parts_of(selector)) > 1]
    if len(combined) <= _MAX_UNCOUNTED:
        combined = [selector for selector in combined if len(_parts_of(selector)) > 2]
    depths: dict[int, int] = {}
    if not combined or _steps(root, combined, depths) <= _MAX_STEPS:
        return []
    left = _MAX_STEPS
    costly = []
    for selector in combined:
        steps = _steps(root, [selector], depths)
        if steps > left:
            costly.append(selector)
        else:
            left -= steps
    return costly


def _steps(root: LexborNode, selectors: list[str], depths: dict[int, int]) -> int:
    """The most steps that selectors take: each way to find their parts, in order, above elements of the last ones."""
    parts = [_parts_of(selector) for selector in selectors]
    above_last = Counter(len(names) - 1 for names in parts)
    total = 0
    for node in _selected(root, list({names[-1]: None for names in parts})):
        path: list[int] = []
        above: LexborNode | None = node
        while above is not None and above.mem_id not in depths:
            path.append(above.mem_id)
            above = above.parent
        depth = depths[above.mem_id] if above is not None else 0
        depths |= {identity: depth + number for number, identity in enumerate(reversed(path), 1)}
        total += sum(number * comb(depths[node.mem_id], most) for most, number in above_last.items())
    return total


def _selected(root: LexborNode, selectors: list[str]) -> list[LexborNode]:
    """The elements that any of the selectors matches. As in a browser, one that is invalid matches none."""
    with suppress(SelectolaxError):
        return root.css(",".join(selectors))
    found: list[LexborNode] = []
    for selector in selectors:
        with suppress(SelectolaxError):
            found += root.css(selector)
    return found
