"""One walk over a parsed page, which fills its ``Outline``."""

from __future__ import annotations

from itertools import chain, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.displayed import CODE, write_code
from handlers.html.hidden import Styles, take_out_doubtful, take_out_hidden, take_out_unseen, visible
from handlers.html.hints import Hints
from handlers.html.nodes import BLOCKS, HEADINGS, TEXT, A, ancestors, empty, numbers, short_text, texts_in
from handlers.html.outline import Outline
from handlers.html.sheets import is_for_screens

_COMMENT = 4
"""Tag number of a comment."""
_STARTS_LINE, _LINK, _ROW, _NO_TEXT, _NO_SCRIPT, _META, _TITLE, _TIME, _FURNITURE = range(9)
_EFFECTS = {
    _STARTS_LINE: BLOCKS + " br hr",
    _NO_TEXT: "script style svg iframe object canvas audio video textarea datalist map select template rp noframes "
    "meter progress",
    _FURNITURE: "nav menu dialog aside footer",
    _NO_SCRIPT: "noscript",
    _META: "meta",
    _TITLE: "title",
    _TIME: "time",
    _LINK: "a",
    _ROW: "tr",
}
_EFFECT_OF = {number: effect for effect, tags in _EFFECTS.items() for number in numbers(tags)}
"""What the walk does at an element, by tag number."""
_MAX_COMMENTS, _MAX_COMMENT = 200, 500
"""Comments, and characters of each."""
_MAX_NO_SCRIPT_NODES = 200
_NO_SCRIPT_TEXT = 500
_MAX_SELECTED = 20_000
_STATED = frozenset(("datepublished", "datecreated", "author"))
_MAX_STATED = 400
"""Elements that state a date or an author, and their properties and relations."""
_MAX_RDFA = 400
_MAIN = frozenset(("mainentity", "mainentityofpage"))
_OF_OTHERS = frozenset(("comment", "usercomments", "question", "answer"))
_PARTS = ("review", "imageobject", "videoobject")
"""Types of items that hold what others wrote, or a part, unless they say that they are the page's main entity."""
_MAX_NAMES, _MAX_INSIDE = 4, 5
_ASIDES = frozenset(("aside", "footer"))
_CONTROLS = frozenset(("button", "label"))
_TITLED = HEADINGS | numbers("summary dt").keys()
_LEAST_PROSE, _MAX_FURNITURE_NODES = 40, 2000


def walk_page(tree: LexborHTMLParser, hints: Hints, max_nodes: int) -> Outline:
    """Walks a tree once, without recursion, up to ``max_nodes`` nodes. Removes elements without text from the tree."""
    found = Outline(hints)
    if tree.root is None:
        return found
    found.json_ld, sheets = take_out_scripts(tree.root)
    styles = Styles(tree.root, sheets, len(tree.raw_html or b""))
    found.hidden = take_out_hidden(tree, styles, hints.addressed)
    attributes = tree.root.attributes
    found.language = (attributes.get("lang") or attributes.get("xml:lang") or "").strip()
    # One search for both: a search of a whole page takes about a hundredth of the time of reading it.
    marked = tree.root.css(f"button,label,{CODE}")[:_MAX_SELECTED]
    controls = [node for node in marked if node.tag in _CONTROLS]
    has_code = len(controls) < len(marked)
    _open_controls(controls)
    if has_code:
        write_code(tree)
    _select(found, tree.root)
    if tree.head is not None:
        for node in tree.head.iter():
            _note(found, node, _EFFECT_OF.get(node.tag_id))
    if tree.body is not None:
        _walk(found, tree.body, max_nodes)
        # Elements of the head belong to the whole page.
        found.entered[tree.root.mem_id] = found.place(tree.body)
    found.hidden += take_out_unseen(found, hints.addressed)
    found.hidden += take_out_doubtful(found, styles, hints.addressed)
    found.title = visible(found.title)
    return found


def take_out_scripts(root: LexborNode) -> tuple[list[str], str]:
    """Empties scripts and style sheets, which hold no text of the page; returns those of JSON-LD, and the sheets.

    Sheets for other media, and for visitors without scripts, are not among them.
    """
    json_ld, sheets = [], []
    for node in root.css("script,style"):
        if node.tag == "style":
            media = node.attrs.get("media") or "all"
            if is_for_screens(media) and all(above.tag != "noscript" for above in ancestors(node)):
                sheets.append(node.text())
        elif "ld+json" in (node.attrs.get("type") or "").lower():
            json_ld.append(node.text())
        empty(node)
    return json_ld, "\n".join(sheets)


def _select(found: Outline, root: LexborNode) -> None:
    """Links with a host and microdata, wherever on the page."""
    last = 0
    for node in root.css("a[href*='//'],[itemprop],[itemtype],[typeof],a[rel~=author]")[:_MAX_SELECTED]:
        before, last = last, node.mem_id  # a node that two selectors match comes twice
        if before == last:
            continue
        attributes = node.attributes
        if node.tag_id == A and (href := attributes.get("href")) and "//" in href:
            found.hrefs.append(href)
        properties, relations = attributes.get("itemprop"), attributes.get("rel")
        names = [f"itemprop:{name}" for name in properties.lower().split() if name in _STATED] if properties else []
        if relations and "author" in relations.lower().split():
            names.append("rel:author")
        # Before the walk takes out asides, which then are not around it any more.
        if names and len(found.stated) < _MAX_STATED and not _is_of_others(node, found.item_types):
            found.stated.append((node, names))
        if kind := attributes.get("itemtype"):
            if not _is_aside(node):
                _types(found, properties).append(kind)
        elif (kind := attributes.get("typeof")) and len(found.item_types) + len(found.part_types) < _MAX_RDFA:
            _types(found, attributes.get("property")).extend(_rdfa_types(node, kind))


def _types(found: Outline, names: str | None) -> list[str]:
    """The list for the types of an item, which may be a property of another one that is not its main entity."""
    return found.item_types if names is None or _is_main(names) else found.part_types


def _is_of_others(node: LexborNode, items: list[str]) -> bool:
    """Whether a property is of a comment, a review or the like, or of an item of an aside, and not of the page.

    ``items`` are the types of the items that are no parts of others: the first one is the page's.
    """
    for above in ancestors(node):
        attributes = above.attributes
        if kind := attributes.get("itemtype"):
            name = kind.lower().rstrip("/").rpartition("/")[2]
            is_own = name not in _OF_OTHERS and (name not in _PARTS or items[:1] == [kind])
            return not (is_own or _is_main(attributes.get("itemprop"))) or _is_aside(above)
    return False


def _is_aside(node: LexborNode) -> bool:
    """Whether an element is in an ``aside``, as teasers are."""
    return any(above.tag in _ASIDES for above in ancestors(node))


def _is_main(names: str | None) -> bool:
    """Whether properties of an item say that it is the main entity of the page."""
    return names is not None and not _MAIN.isdisjoint(names.lower().replace("schema:", "").split())


def _rdfa_types(node: LexborNode, kinds: str) -> list[str]:
    """The schema.org types among RDFa types, by their prefix or by the vocabulary of an element around."""
    names = kinds.split()[:_MAX_NAMES]
    found = [name for name in names if name.startswith("schema:") or "schema.org/" in name]
    bare = [name for name in names if ":" not in name]
    for above in chain([node], ancestors(node)) if bare else ():
        if vocabulary := above.attributes.get("vocab"):
            return found + bare if "schema.org" in vocabulary else found
    return found


def _walk(found: Outline, body: LexborNode, max_nodes: int) -> None:
    """Collects the texts in page order. The loop runs for every node of every page."""
    texts, nodes, starts, links = found.texts, found.nodes, found.starts, found.links
    effect_of = _EFFECT_OF.get
    starts_line, in_link = True, False
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
        if tag == _COMMENT:
            if len(found.comments) < _MAX_COMMENTS:
                found.comments.append((node.comment_content or "")[:_MAX_COMMENT])
            continue
        effect = effect_of(tag)
        if effect is None:
            continue
        if effect == _STARTS_LINE:
            starts_line = True
            continue
        if effect == _LINK:
            in_link = True
            continue
        if effect == _ROW:
            starts_line = True
            found.rows.append(node)
            continue
        if effect == _TIME:
            found.times.append((len(texts), node))
            continue
        if effect == _FURNITURE:
            found.asides.append((len(texts), short_text(node)))
            if _has_prose(node):
                starts_line = True
                continue
        if effect == _NO_SCRIPT and _holds_text(node):
            starts_line = True
            continue
        if effect in (_META, _TITLE):
            _note(found, node, effect)
        # The traversal reads the children of a node afterwards. It skips a node that has none.
        empty(node)


def _open_controls(controls: list[LexborNode]) -> None:
    """Puts the text of buttons and labels that are a whole heading into it, as in accordions, and removes others."""
    texts: dict[int, list[str]] = {}
    found: list[tuple[LexborNode, bool]] = []
    # Few controls are in headings: to look above each takes a quarter of the time of selectors with two parts.
    for node in controls:
        above = next((one for one in ancestors(node, _MAX_INSIDE) if one.tag_id in _TITLED), None)
        if above is None:
            continue
        words = texts.get(above.mem_id)
        if words is None:
            words = texts[above.mem_id] = above.text().split()
        found.append((node, words == node.text().split()))
    # The inner ones first: an element that is removed takes those inside with it.
    for node, is_whole in reversed(found):
        if is_whole:
            node.unwrap()
        else:
            node.decompose()


def _has_prose(node: LexborNode) -> bool:
    """Whether navigation, a dialog or what is beside the text holds a line of prose."""
    texts = (part for part in islice(node.traverse(include_text=True, skip_empty=True), _MAX_FURNITURE_NODES))
    return any(
        part.tag_id == TEXT
        and len(text := part.text_content or "") >= _LEAST_PROSE
        and len(text.strip()) >= _LEAST_PROSE
        and (part.parent is None or part.parent.tag_id != A)
        for part in texts
    )


def _holds_text(node: LexborNode) -> bool:
    """Whether a ``noscript`` element holds the text of a page, and not only a picture or a request."""
    return sum(map(len, texts_in(node, _MAX_NO_SCRIPT_NODES))) >= _NO_SCRIPT_TEXT


def _note(found: Outline, node: LexborNode, effect: int | None) -> None:
    """Keeps metadata and the title."""
    if effect == _META and found.meta_read < _MAX_SELECTED:
        found.meta_read += 1
        attributes = node.attributes
        # Some pages write the content into the attribute "value".
        if content := (attributes.get("content") or attributes.get("value") or "").strip():
            for key in ("property", "name", "itemprop", "http-equiv"):
                if (names := attributes.get(key)) and not (key == "itemprop" and _is_of_others(node, found.item_types)):
                    for name in names.lower().split()[:_MAX_NAMES]:
                        found.meta.setdefault(name, []).append(content)
    elif effect == _TITLE and not found.title:
        found.title = " ".join(node.text().split())
