"""One walk over a page's tree, which collects its outline.

A parsed page goes in, an ``Outline`` comes out. The parser's own traversal goes over the nodes; Python stops at texts
and at the few tags that mean something wherever they stand.
"""

from __future__ import annotations

from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.page.hints import Hints
from handlers.page.outline import Outline
from handlers.page.tags import (
    EFFECT_OF,
    ENDS_LINE,
    H1,
    H6,
    HEADING,
    IS_BLOCK,
    LINK,
    META,
    NAME_OF,
    NO_TEXT,
    PARAGRAPH,
    ROW,
    SCRIPT,
    TEXT,
    TIME,
    TITLE,
    TRAITS_OF,
    A,
)

MARK_CHARACTERS = 300
"""Of a mark's or heading's text; a byline, a date or a title is shorter."""
_MAX_SHORT_NODES = 40
_LONG_PARAGRAPH = 150
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
        effect = EFFECT_OF.get(node.tag_id)
        if effect == LINK:
            if last != (last := node.mem_id):
                links.append(node)
                continue
            # A second selector found it again: it says more than an address.
        elif effect == HEADING:
            if text := short_text(node):
                level = int(NAME_OF[node.tag_id][1])
                found.headings.append((level, text))
                found.headings_count += level > 1
            continue
        found.stated.append(node)
        if kind := node.attrs.get("itemtype"):
            found.item_types.append(kind)
    found.hrefs = [href for node in links if (href := node.attrs.get("href"))]


def _walk(found: Outline, body: LexborNode, max_nodes: int) -> None:
    """Texts in page order; what stands between them as far as it matters.

    The loop is long on purpose: it runs for every node of every page, and a call costs as much as the work.
    """
    texts, nodes, parents, effect_of = found.texts, found.nodes, found.parents, EFFECT_OF.get
    for node in islice(body.traverse(include_text=True, skip_empty=True), max_nodes):
        tag = node.tag_id
        if tag == TEXT:
            parent = node.parent
            if parent is not None and (text := node.text_content):
                if parent.tag_id == A and _stands_alone(parent):
                    found.lone.add(len(texts))
                texts.append(text)
                nodes.append(node)
                parents.append(parent)
            continue
        effect = effect_of(tag)
        if effect is None or effect >= LINK:
            continue
        if effect == PARAGRAPH:
            text = node.text()
            if len(text) < _LONG_PARAGRAPH:
                continue
            texts.append(text)
            nodes.append(node)
            parents.append(node)
            if linked := sum(len(child.text()) for child in node.iter() if child.tag_id == A):
                found.linked[len(texts) - 1] = linked
        elif effect == ENDS_LINE:
            found.breaks.add(len(texts))
            continue
        elif effect == ROW:
            found.rows.append(node)
            continue
        elif effect == TIME:
            found.times.append((len(texts), node))
            continue
        elif effect != NO_TEXT:
            _note(found, node, effect)
        # The traversal reads a node's children when it goes on from it: without any, it goes past.
        while (child := node.first_child) is not None:
            child.decompose(recursive=False)


def _stands_alone(link: LexborNode) -> bool:
    """Whether a link has no text beside it and is in no heading: it leads somewhere, and is no part of running text."""
    around = link.parent
    if around is None or not TRAITS_OF.get(around.tag_id, 0) & IS_BLOCK or H1 <= around.tag_id <= H6:
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
