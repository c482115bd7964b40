"""One walk over a page's tree, which collects its outline.

A parsed page goes in, an ``Outline`` comes out. The parser's own traversal goes over the nodes; Python stops at texts
and at the few tags that mean something wherever they stand.
"""

from __future__ import annotations

from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.hints import Hints
from handlers.html.outline import (
    EFFECT_OF,
    LINK,
    META,
    NAME_OF,
    NO_SCRIPT,
    NO_TEXT,
    ROW,
    SCRIPT,
    STARTS_LINE,
    TEXT,
    TIME,
    TITLE,
    Outline,
)

MARK_CHARACTERS = 300
"""Of a mark's or heading's text; a byline, a date or a title is shorter."""
_MAX_SHORT_NODES = 40
_MAX_NO_SCRIPT = 50
_MAX_NO_SCRIPT_NODES = 200
_NO_SCRIPT_TEXT = 500
_MAX_SELECTED = 20_000
_MAX_RDFA = 400
_MAIN = frozenset(("mainentity", "mainentityofpage"))
_MAX_NAMES = 4
_MAX_ABOVE = 30
_HEADINGS = {number: int(name[1]) for number, name in NAME_OF.items() if name[0] == "h" and name[1:].isdigit()}


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
        found.entered[tree.root.mem_id] = found.place(tree.body)
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
    found.hrefs = [href for link in root.css("a[href]")[:_MAX_SELECTED] if (href := link.attrs.get("href"))]
    for node in root.css("h1,h2,h3")[:_MAX_SELECTED]:
        if text := short_text(node):
            level = _HEADINGS[node.tag_id]
            found.headings.append((level, text))
            found.headings_count += level > 1
    last = 0
    for node in root.css("[itemprop],[itemtype],[typeof],a[rel~=author]")[:_MAX_SELECTED]:
        # A node that two selectors find comes twice.
        if last != (last := node.mem_id):
            found.stated.append(node)
            attributes = node.attrs
            if kind := attributes.get("itemtype"):
                (found.part_types if _is_part(attributes.get("itemprop")) else found.item_types).append(kind)
            elif (kind := attributes.get("typeof")) and len(found.item_types) + len(found.part_types) < _MAX_RDFA:
                types = found.part_types if _is_part(attributes.get("property")) else found.item_types
                types += _rdfa_types(node, kind)


def _is_part(names: str | None) -> bool:
    """Whether an item is a property of another one, and not the thing that a page is about."""
    return names is not None and _MAIN.isdisjoint(names.lower().replace("schema:", "").split())


def _rdfa_types(node: LexborNode, kinds: str) -> list[str]:
    """Those of RDFa types that are schema.org's, by their prefix or by the vocabulary that an element around names."""
    names = kinds.split()[:_MAX_NAMES]
    found = [name for name in names if name.startswith("schema:") or "schema.org/" in name]
    bare = [name for name in names if ":" not in name]
    above: LexborNode | None = node
    for _ in range(_MAX_ABOVE):
        if above is None or not bare:
            break
        if vocabulary := above.attributes.get("vocab"):
            return found + bare if "schema.org" in vocabulary else found
        above = above.parent
    return found


def _walk(found: Outline, body: LexborNode, max_nodes: int) -> None:
    """Texts in page order; what stands between them as far as it matters.

    The loop runs for every node of every page: what only some texts are asked for is left to the outline.
    """
    texts, nodes, starts, links = found.texts, found.nodes, found.starts, found.links
    effect_of = EFFECT_OF.get
    starts_line, in_link = True, False
    without_scripts = 0
    for node in islice(body.traverse(include_text=True, skip_empty=True), max_nodes):
        tag = node.tag_id
        if tag == TEXT:
            if text := node.text_content:
                texts.append(text)
                nodes.append(node)
                starts.append(starts_line)
                links.append(in_link)
                starts_line = in_link = False
            continue
        effect = effect_of(tag)
        if effect is None:
            continue
        if effect == STARTS_LINE:
            starts_line = True
            continue
        if effect == LINK:
            in_link = True
            continue
        if effect == ROW:
            starts_line = True
            found.rows.append(node)
            continue
        if effect == TIME:
            found.times.append((len(texts), node))
            continue
        if effect == NO_SCRIPT:
            without_scripts += 1
            if without_scripts <= _MAX_NO_SCRIPT and _holds_text(node):
                starts_line = True
                continue
        elif effect != NO_TEXT:
            _note(found, node, effect)
        # The traversal reads a node's children when it goes on from it: without any, it goes past.
        while (child := node.first_child) is not None:
            child.decompose(recursive=False)


def _holds_text(node: LexborNode) -> bool:
    """Whether an element for those without scripts holds a page's text, and not just a picture or a request."""
    length = 0
    for part in islice(node.traverse(include_text=True, skip_empty=True), _MAX_NO_SCRIPT_NODES):
        if part.tag_id == TEXT:
            length += len(part.text_content or "")
    return length >= _NO_SCRIPT_TEXT


def _note(found: Outline, node: LexborNode, effect: int | None) -> None:
    """Keeps metadata, structured data and the title."""
    if effect == SCRIPT:
        if "ld+json" in (node.attrs.get("type") or "").lower():
            found.json_ld.append(node.text() or "")
    elif effect == META and found.meta_read < _MAX_SELECTED:
        found.meta_read += 1
        attributes = node.attributes
        # Some write the attribute's name as that of a form's field.
        if content := (attributes.get("content") or attributes.get("value") or "").strip():
            for key in ("property", "name", "itemprop", "http-equiv"):
                if names := attributes.get(key):
                    for name in names.lower().split()[:_MAX_NAMES]:
                        found.meta.setdefault(name, []).append(content)
    elif effect == TITLE and not found.title:
        found.title = " ".join(node.text().split())
