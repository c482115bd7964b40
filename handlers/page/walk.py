"""One walk over a page's tree, which collects its outline.

A parsed page goes in, an ``Outline`` comes out. The parser's own traversal goes over the nodes; Python stops at texts
and at the few tags that mean something wherever they stand.
"""

from __future__ import annotations

from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.page.hints import Hints
from handlers.page.outline import Outline
from handlers.page.tags import EFFECT_OF, ENDS_LINE, META, NAME_OF, NO_TEXT, SCRIPT, TEXT, TIME, TITLE, A, P

MARK_CHARACTERS = 300
"""Of a mark's or heading's text; a byline, a date or a title is shorter."""
_MAX_SHORT_NODES = 40
_LONG_PARAGRAPH = 150
_HEADINGS = {number: int(name[1]) for number, name in NAME_OF.items() if name[0] == "h" and name[1:].isdigit()}
_SELECTED = "a[href],h1,h2,h3,[itemprop],[itemtype],a[rel~=author]"


def walk_page(tree: LexborHTMLParser, hints: Hints, max_nodes: int) -> Outline:
    """Walks a tree once, without recursion, up to ``max_nodes`` nodes. What holds no text is taken out of the tree."""
    found = Outline(hints)
    if tree.root is None:
        return found
    attributes = tree.root.attributes
    found.language = (attributes.get("lang") or attributes.get("xml:lang") or "").strip()
    _select(found, tree.root)
    if tree.head is not None:
        for node in tree.head.iter():
            _note(found, node, EFFECT_OF.get(node.tag_id))
    if tree.body is not None:
        _walk(found, tree.body, max_nodes)
        # What stands in the head counts as the whole page's.
        found.entered[tree.root.mem_id] = 0
    return found


def short_text(node: LexborNode) -> str:
    """The beginning of an element's text; bounded in nodes, for elements can hold each other and all the page."""
    child = node.first_child
    if child is None:
        return ""
    if child.next is None and child.tag_id == TEXT:
        return " ".join((child.text_content or "")[:MARK_CHARACTERS].split())
    texts = []
    length = 0
    for part in islice(node.traverse(include_text=True, skip_empty=True), _MAX_SHORT_NODES):
        if part.tag_id == TEXT:
            text = part.text_content or ""
            texts.append(text[:MARK_CHARACTERS])
            length += len(text)
            if length >= MARK_CHARACTERS:
                break
    return " ".join(" ".join(texts).split())[:MARK_CHARACTERS]


def _select(found: Outline, root: LexborNode) -> None:
    """Links, headings and microdata, wherever on the page."""
    links: list[LexborNode] = []
    last = 0
    for node in root.css(_SELECTED):
        tag = node.tag_id
        if tag == A:
            if last != (last := node.mem_id):
                links.append(node)
                continue
            # A second selector found it again: it says more than an address.
        elif level := _HEADINGS.get(tag):
            if text := short_text(node):
                found.headings.append((level, text))
                found.headings_count += level > 1
            continue
        found.stated.append(node)
        if kind := node.attrs.get("itemtype"):
            found.item_types.append(kind)
    found.hrefs = [href for node in links if (href := node.attrs.get("href"))]


def _walk(found: Outline, body: LexborNode, max_nodes: int) -> None:
    """Texts and block elements in page order; what stands between them as far as it matters.

    The loop is long on purpose: it runs for every node of every page, and a call costs as much as the work.
    """
    texts, nodes, places = found.texts, found.nodes, found.places
    elements, tags, outer = found.elements, found.tags, found.outer
    entered, place_of = found.entered, found.entered.get
    name_of, effect_of = NAME_OF.get, EFFECT_OF.get
    for node in islice(body.traverse(include_text=True, skip_empty=True), max_nodes):
        tag = node.tag_id
        if tag == TEXT:
            parent = node.parent
            text = node.text_content
            if parent is None or not text:
                continue
            place = place_of(parent.mem_id)
            if place is None:
                place = found.place(parent)
            if place & 1 and parent.tag_id == A and _stands_alone(parent):
                found.lone.add(len(texts))
            texts.append(text)
            nodes.append(node)
            places.append(place)
            continue
        name = name_of(tag)
        if name is not None:
            parent = node.parent
            place = -2 if parent is None else place_of(parent.mem_id)
            if place is None:
                place = found.place(parent)
            entered[node.mem_id] = len(tags) << 1 | place & 1
            tags.append(name)
            outer.append(place >> 1)
            elements.append(node)
            if tag != P:
                continue
            text = node.text()
            if len(text) < _LONG_PARAGRAPH:
                continue
            if linked := sum(len(child.text()) for child in node.iter() if child.tag_id == A):
                found.linked[len(texts)] = linked
            texts.append(text)
            nodes.append(node)
            places.append(len(tags) - 1 << 1 | place & 1)
        else:
            effect = effect_of(tag)
            if effect is None:
                continue
            if effect == ENDS_LINE:
                found.breaks.add(len(texts))
                continue
            if effect == TIME:
                found.times.append((len(texts), node))
                continue
            if effect != NO_TEXT:
                _note(found, node, effect)
        # The traversal reads a node's children when it goes on from it: without any, it goes past.
        while (child := node.first_child) is not None:
            child.decompose(recursive=False)


def _stands_alone(link: LexborNode) -> bool:
    """Whether a link has no text beside it and is in no heading: it leads somewhere, and is no part of running text."""
    around = link.parent
    if around is None or around.tag_id not in NAME_OF or around.tag_id in _HEADINGS:
        return False
    for beside in (link.prev, link.next):
        if beside is not None and beside.tag_id == TEXT and not beside.is_empty_text_node:
            return False
    return True


def _note(found: Outline, node: LexborNode, effect: int | None) -> None:
    """Keeps metadata, structured data and the title."""
    if effect == SCRIPT:
        if "ld+json" in (node.attributes.get("type") or "").lower():
            found.json_ld.append(node.text() or "")
    elif effect == META:
        attributes = node.attributes
        if content := (attributes.get("content") or "").strip():
            for key in ("property", "name", "itemprop", "http-equiv"):
                if names := attributes.get(key):
                    for name in names.lower().split()[:4]:
                        found.meta.setdefault(name, []).append(content)
    elif effect == TITLE and not found.title:
        found.title = " ".join(node.text().split())
