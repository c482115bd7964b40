"""One walk over a page's tree, which collects its outline.

A parsed page goes in, an ``Outline`` comes out. A walk costs more than the parse, so there is one only; it is
iterative, bounded in nodes, and compares the parser's tag numbers instead of names.
"""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.page.hints import BOILERPLATE, BYLINE, DATE, Hints
from handlers.page.outline import MARK_CHARACTERS, Block, Container, Mark, Outline, Region, Table, hide_boilerplate

_BREAK, _CONTAINER, _BOILERPLATE, _HINTED, _LINK, _HEADING, _NOTED, _SKIPPED, _MAIN, _TABLE, _ROW, _CELL = (
    1 << bit for bit in range(12)
)
_LASTING = _BREAK | _CONTAINER | _LINK | _TABLE  # what ends with the element
_MAX_MARKS = 400
_MAX_MARK_NODES = 40
_TEXT = 2  # tag_id of a text node
_MARKING = frozenset(("itemprop", "itemtype", "datetime", "rel"))
_PROPERTIES = frozenset(("datepublished", "datecreated", "author"))
_TRAITS = {
    _CONTAINER: "html body div section article main td center form fieldset details figure table",
    _BREAK: "p div section article main td th tr table ul ol li dl dt dd h1 h2 h3 h4 h5 h6 blockquote pre header "
    "footer nav aside address figure figcaption form fieldset details summary hr br body center caption label",
    _BOILERPLATE: "nav footer aside form label menu dialog",
    _HINTED: "div span p a time li ul ol section address header dd cite h1 h2 h3 h4 h5 h6 abbr "
    "footer aside article main body table form figure",
    _LINK: "a",
    _HEADING: "h1 h2 h3 h4 h5 h6",
    _NOTED: "meta script title html",
    _SKIPPED: "style svg noscript iframe object canvas audio video math textarea datalist map select button",
    _MAIN: "article main body html",
    _TABLE: "table",
    _ROW: "tr",
    _CELL: "td th caption",
}


def _by_tag_id() -> tuple[dict[int, int], dict[int, str]]:
    """Traits and names by the parser's tag numbers: comparing numbers spares a string for each node."""
    tree = LexborHTMLParser("<p>")
    traits: dict[int, int] = {}
    names: dict[int, str] = {}
    for trait, tags in _TRAITS.items():
        for tag in tags.split():
            number = tree.create_node(tag).tag_id
            traits[number] = traits.get(number, 0) | trait
            names[number] = tag
    return traits, names


_TRAITS_OF, _NAME_OF = _by_tag_id()


def walk_page(tree: LexborHTMLParser, hints: Hints, max_nodes: int) -> Outline:
    """Walks a tree once, without recursion, up to ``max_nodes`` nodes."""
    walk = _Walk(hints)
    if tree.root is not None:
        walk.run(tree.root, max_nodes)
    walk.finish()
    return walk.found


class _Walk:
    """The state of the walk: what is open, and the block that is being collected."""

    def __init__(self, hints: Hints) -> None:
        self.found = Outline()
        self.hints = hints
        self.buffer: list[str] = []
        self.linked = 0
        self.region = -1
        self.regions: list[Region] = []
        self.open: list[tuple[str, bool, int]] = []
        self.tables: list[_OpenTable] = []
        self.block_tag = "body"

    def run(self, root: LexborNode, max_nodes: int) -> None:
        """Depth first; ``undo`` holds for each open element what ends with it.

        The loop is long on purpose: it runs for every node of every page, and a call costs as much as the work.
        """
        found, hints, buffer, blocks = self.found, self.hints, self.buffer, self.found.blocks
        hint_of, traits_of = hints.known.get, _TRAITS_OF.get
        undo: list[int] = []
        in_link = 0
        node = root
        for _ in range(max_nodes):
            tag = node.tag_id
            if tag == _TEXT:
                text = node.text_content
                if text:
                    if not text.isspace():
                        buffer.append(text)
                        if in_link:
                            self.linked += len(text)
                    elif buffer:
                        buffer.append(" ")
            else:
                traits = traits_of(tag, 0)
                if traits & _SKIPPED or (traits & _NOTED and not self.note(node, tag)):
                    child = None
                else:
                    if traits & _BREAK:
                        if buffer:
                            self.flush()
                        self.block_tag = _NAME_OF[tag]
                    effect = traits & _LASTING
                    boilerplate = traits & _BOILERPLATE
                    if traits & _HINTED and (attributes := node.attributes):
                        hint = 0
                        named = attributes.get("class")
                        if identity := attributes.get("id"):
                            named = f"{named} {identity}" if named else identity
                        if named:
                            known = hint_of(named)
                            hint = hints.of(named) if known is None else known
                            if hint & BOILERPLATE and not traits & _MAIN:
                                boilerplate = _BOILERPLATE
                        if hint > BOILERPLATE or not _MARKING.isdisjoint(attributes):
                            self.mark(node, traits, attributes, hint)
                        if traits & _LINK and (href := attributes.get("href")):
                            found.hrefs.append(href)
                    else:
                        attributes = {}
                    if traits > _CONTAINER:
                        if traits & _LINK:
                            in_link += 1
                        elif traits & _HEADING:
                            self.note_heading(node, tag)
                        elif traits & (_TABLE | _ROW | _CELL):
                            self.note_table(tag, traits)
                    if boilerplate:
                        self.regions.append(Region(self.region, bool(traits & _BOILERPLATE)))
                        self.region = len(self.regions) - 1
                        effect |= _BOILERPLATE
                    if traits & _CONTAINER:
                        is_body = "itemprop" in attributes and "articlebody" in (attributes["itemprop"] or "").lower()
                        self.open.append((_NAME_OF[tag], is_body, len(blocks)))
                    child = node.first_child
                    if child is not None:
                        undo.append(effect)
                        node = child
                        continue
                    if effect:
                        if effect & _LINK:
                            in_link -= 1
                        if effect != _LINK:
                            self.leave(effect)
            while (following := node.next) is None:
                parent = node.parent
                if parent is None or not undo:
                    return
                effect = undo.pop()
                if effect:
                    if effect & _LINK:
                        in_link -= 1
                    if effect != _LINK:
                        self.leave(effect)
                node = parent
            node = following

    def finish(self) -> None:
        """Closes what is still open where the walk ended early, and decides what is boilerplate."""
        self.flush()
        while self.open:
            self.close_container()
        hide_boilerplate(self.found, self.regions)

    def leave(self, effect: int) -> None:
        """Ends what an element began."""
        if effect & _BREAK:
            if self.buffer:
                self.flush()
            self.block_tag = "div"
        if effect & _BOILERPLATE:
            self.region = self.regions[self.region].parent
        if effect & _CONTAINER:
            self.close_container()
        if effect & _TABLE:
            self.found.tables.append(self.tables.pop().closed())

    def close_container(self) -> None:
        """Keeps the innermost container if it holds any block."""
        tag, is_body, first = self.open.pop()
        end = len(self.found.blocks)
        if end > first:
            self.found.containers.append(Container(tag, is_body, first, end))

    def flush(self) -> None:
        """Ends the block that is being collected."""
        if text := " ".join("".join(self.buffer).split()):
            self.found.blocks.append(Block(text, self.block_tag, min(self.linked, len(text)), self.region))
        self.buffer.clear()
        self.linked = 0

    def mark(self, node: LexborNode, traits: int, attributes: dict[str, str | None], hint: int) -> None:
        """Notes microdata, rel=author, times and places that call themselves byline or date."""
        if item_type := attributes.get("itemtype"):
            self.found.item_types.append(item_type)
        names = [
            f"itemprop:{name}" for name in (attributes.get("itemprop") or "").lower().split() if name in _PROPERTIES
        ]
        if "datetime" in attributes:
            names.append("time")
        if "author" in (attributes.get("rel") or "").lower().split():
            names.append("rel:author")
        names += [name for bit, name in ((BYLINE, "hint:byline"), (DATE, "hint:date")) if hint & bit]
        if not names or len(self.found.marks) >= _MAX_MARKS:
            return
        value = (attributes.get("content") or attributes.get("datetime") or "").strip()
        text = None if traits & _BREAK else _short_text(node)
        block = len(self.found.blocks)
        self.found.marks += [Mark(name, value[:MARK_CHARACTERS], text, self.region, block) for name in names]

    def note_heading(self, node: LexborNode, tag: int) -> None:
        """Notes a heading that has text."""
        name = _NAME_OF[tag]
        if text := _short_text(node):
            self.found.headings.append((int(name[1]), text))
            self.found.headings_count += name in {"h2", "h3"}

    def note_table(self, tag: int, traits: int) -> None:
        """Follows rows and cells of the innermost table."""
        if traits & _TABLE:
            if self.tables:
                self.tables[-1].is_nested = True
            self.tables.append(_OpenTable())
        elif self.tables:
            self.tables[-1].note(_NAME_OF[tag])

    def note(self, node: LexborNode, tag: int) -> bool:
        """Notes metadata, structured data, title and language. Answers whether to go on into the element."""
        name = _NAME_OF[tag]
        found = self.found
        if name == "html":
            found.language = (node.attributes.get("lang") or node.attributes.get("xml:lang") or "").strip()
        elif name == "meta":
            self.note_meta(node)
        elif name == "script":
            if "ld+json" in (node.attributes.get("type") or "").lower():
                found.json_ld.append(node.text() or "")
        elif not found.title:
            found.title = " ".join(node.text().split())
        return name == "html"

    def note_meta(self, node: LexborNode) -> None:
        """Notes a meta element under each of its names."""
        attributes = node.attributes
        content = (attributes.get("content") or "").strip()
        if not content:
            return
        for key in ("property", "name", "itemprop", "http-equiv"):
            for name in (attributes.get(key) or "").lower().split()[:4]:
                self.found.meta.setdefault(name, []).append(content)


class _OpenTable:
    """Rows and cells of a table as they come by."""

    def __init__(self) -> None:
        self.is_nested = False
        self.has_header = False
        self.rows: list[int] = []

    def note(self, name: str) -> None:
        """Counts a row or a cell."""
        if name == "tr":
            self.rows.append(0)
        elif name == "caption":
            self.has_header = True
        elif self.rows:
            self.rows[-1] += 1
            self.has_header |= name == "th"

    def closed(self) -> Table:
        """What is kept of it."""
        return Table(tuple(self.rows), self.has_header, self.is_nested)


def _short_text(node: LexborNode) -> str:
    """The beginning of an element's text; bounded in nodes, for elements can hold each other and all the page."""
    texts = []
    length = 0
    for number, part in enumerate(node.traverse(include_text=True, skip_empty=True)):
        if part.tag_id == _TEXT:
            text = part.text_content or ""
            texts.append(text[:MARK_CHARACTERS])
            length += len(text)
        if length >= MARK_CHARACTERS or number >= _MAX_MARK_NODES:
            break
    return " ".join(" ".join(texts).split())[:MARK_CHARACTERS]
