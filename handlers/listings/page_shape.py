"""Measures of a page: repeated blocks, links, running text, controls, declared types.

A listing repeats one block with a link in it, an article has long running text, navigation has forms or little of
either. Menus, headers and footers are left out, since every page has them; controls are counted in the whole page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.limits import parse_within
from handlers.html.links import absolute_url
from handlers.html.reading import PageReadingSection
from handlers.listings.blocks import Elements, Link, blocks_of, by_make
from handlers.text.patterns import CompiledPatterns
from handlers.text.words import split_words
from schemas.retrieval import RetrievedContent

_CHROME = (
    "nav,footer,body>header,aside,dialog,[role=navigation],[role=banner],[role=contentinfo],[role=dialog],[hidden],"
    "[class*=cookie],[id*=cookie],[class*=breadcrumb],[class*=menu],[id*=menu],[class*=footer],[id*=footer]"
)
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "select", "button"]
_CONTROLS = ("form", "input", "hidden", "checkbox", "password", "select", "button", "h1", "img", "video", "table")
"""Elements that are counted; fields of some types are counted by their type, all others as ``input``."""
_FIELD_TYPES = frozenset(("hidden", "checkbox", "password"))
_AS = {"textarea": "input", "iframe": "video"}
_TYPE = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"([A-Za-z]{2,60})"')
_ITEM_TYPES = frozenset((
    "article", "newsarticle", "blogposting", "product", "event", "recipe", "jobposting", "techarticle", "report",
    "scholarlyarticle", "qapage", "discussionforumposting", "course", "book", "movie", "videoobject", "review",
    "reportagenewsarticle", "musicevent",
))  # fmt: skip
_LISTING_TYPES = frozenset(
    ("collectionpage", "itemlist", "searchresultspage", "offercatalog", "blog", "productcollection")
)
_OG_TYPES = frozenset(("article", "product", "event"))
_PAGED = re.compile(r"[?&](?:page|paged|pg|p|start|offset)=\d|/page/\d")
_MAIN_TAGS = frozenset(("main", "article"))
_MIN_ITEMS = 4
_LABEL = 80
_MAX_LINKS = 300
_MAX_HEADINGS = 400
_MAX_PARAGRAPHS = 600
_MAX_DECLARED = 200_000
_MAX_HREF = 2048
_MAX_TITLE = 500
_MAX_TAG = 40
_PARAGRAPH_CHARACTERS = 30
_TIMES_READ = 4


@dataclass(frozen=True, slots=True)
class PageShape:
    """How a page is built.

    Attributes:
        text: Visible text, words divided by blanks, cut to the length that is kept.
        declared_item: The single thing that the page's markup declares, or "".
        declared_listing: The kind of listing that the markup declares, or "".
        canonical: The address that the page declares, or "".
        languages: The language and locale that it declares.
        measures: Lengths, counts and shares by name; the names begin with ``page_``.
    """

    title: str = ""
    text: str = ""
    declared_item: str = ""
    declared_listing: str = ""
    canonical: str = ""
    languages: tuple[str, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)

    @property
    def characters(self) -> float:
        """Length of the whole visible text."""
        return self.measures.get("page_text", 0)


def with_page(
    result: RetrievedContent, patterns: CompiledPatterns, reading: PageReadingSection, *, max_html: int, max_text: int
) -> tuple[RetrievedContent, PageShape | str]:
    """The result without its HTML but with what its page adds; and the page, or why it is not parsed, "" without one.

    The page's title is added where the result has none. The page's text is added where the result has no text, or a
    snippet that is shorter than it; the whole is a full text then. ``max_html`` characters of the page are parsed, and
    ``max_text`` of its text are kept.
    """
    read = result.model_copy(update={"html": None}) if result.html is not None else result
    utf8 = (result.html or "")[:max_html].encode("utf-8", "replace")
    tree = parse_within(utf8, reading) if utf8 else ""
    if isinstance(tree, str):
        return read, tree
    page = measure_page(tree, len(utf8), patterns, max_text)
    if not read.title and page.title:
        read = read.model_copy(update={"title": page.title})
    text = result.content[:max_text]
    is_short = result.content_kind == "snippet" and len(text) < page.characters
    if page.text and (is_short or not text.strip()):
        whole = f"{text.rstrip()}\n{page.text}" if text.strip() else page.text
        read = read.model_copy(update={"content": whole, "content_kind": "full"})
    return read, page


def measure_page(
    tree: LexborHTMLParser, page_bytes: int, patterns: CompiledPatterns, max_text: int = 20_000
) -> PageShape:
    """Measures a page of a number of bytes and keeps ``max_text`` characters of its text. Never raises."""
    body = tree.body
    if body is None:
        return PageShape()
    title, stated = tree.css_first("title"), tree.css_first("link[rel=canonical]")
    canonical = absolute_url("", (stated.attributes.get("href") or "")[:_MAX_HREF]) if stated is not None else None
    metadata = [
        ((found.get("property") or found.get("name") or "").lower(), (found.get("content") or "").strip())
        for found in (node.attributes for node in tree.css("meta[content]"))
    ]
    declared_item, declared_listing = _declared(tree, body, dict(reversed(metadata)).get("og:type", ""), patterns)
    counted = _controls(tree)
    is_paged = tree.css_first("link[rel=next],a[rel=next]") is not None
    all_links = len(tree.css("a[href]"))
    tree.strip_tags(_UNSEEN)
    _drop_chrome(body)
    text = " ".join(body.text(separator=" ").split())
    characters = max(1, len(text))
    links = body.css("a[href]")
    labels = list(_texts(links, len(text)))
    hrefs = [(link.attributes.get("href") or "")[:_MAX_HREF].strip() for link in links]
    elements = Elements()
    alike = _alike(links[:_MAX_LINKS], hrefs, labels, elements)
    items = blocks_of(alike) if len(alike) >= _MIN_ITEMS else frozenset()
    item_characters = sum(map(len, _texts((elements.nodes[item] for item in items), len(text))))
    prose = _prose(body, items, elements, len(text))
    headings = body.css("h2,h3,h4")[:_MAX_HEADINGS]
    linked_headings = sum(_is_linked(heading) for heading in headings)
    first_heading = body.css_first("h1")
    measures = {
        "page_links": len(links),
        "page_all_links": all_links,
        "page_link_density": min(1.0, sum(map(len, labels)) / characters),
        "page_items": len(items),
        "page_item_share": min(1.0, item_characters / characters),
        "page_item_characters": item_characters / max(1, len(items)),
        "page_item_labels": sum(min(_LABEL, len(link.label)) for link in alike),
        "page_text": len(text),
        "page_paged": is_paged or any(_PAGED.search(href) for href in hrefs if "?" in href or "/page/" in href),
        "page_declared_item": bool(declared_item),
        "page_declared_listing": bool(declared_listing),
        "page_linked_headings": linked_headings,
        "page_linked_heading_share": linked_headings / max(1, len(headings)),
        "page_plain_headings": len(headings) - linked_headings,
        "page_articles": len(body.css("article")),
        "page_code": len(body.css("pre")),
        "page_bytes": page_bytes,
        "page_heading_words": len(split_words(first_heading.text()[:_MAX_HEADINGS])) if first_heading else 0,
        "page_published": any(name == "date" or "published" in name or "pubdate" in name for name, _ in metadata),
        "page_authored": any("author" in name for name, _ in metadata),
        **{f"page_{name}": counted[name] for name in _CONTROLS},
        "page_prose": prose.total(),
        "page_longest_prose": max(prose.values(), default=0),
    }
    root = tree.root.attributes if tree.root is not None else {}
    locales = [content[:_MAX_TAG] for name, content in metadata if name == "og:locale"]
    return PageShape(
        title=" ".join(title.text().split())[:_MAX_TITLE] if title else "",
        text=text[:max_text],
        declared_item=declared_item,
        declared_listing=declared_listing,
        canonical=canonical or "",
        languages=tuple(filter(None, (root.get("lang"), *locales))),
        measures=measures,
    )


def _controls(tree: LexborHTMLParser) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node in tree.css("form,input,textarea,select,button,h1,img,video,iframe,table"):
        kind = (node.attributes.get("type") or "").lower() if node.tag == "input" else ""
        name = kind if kind in _FIELD_TYPES else node.tag or ""
        counts[_AS.get(name, name)] += 1
    return counts


def _declared(tree: LexborHTMLParser, body: LexborNode, og_type: str, patterns: CompiledPatterns) -> tuple[str, str]:
    """The single thing, and the listing, that structured data, Open Graph and a content system's classes name."""
    scripts = tree.css('script[type="application/ld+json"]')
    names = [name.lower() for node in scripts for name in _TYPE.findall(node.text()[:_MAX_DECLARED])]
    classes = sorted(set((body.attributes.get("class") or "").lower().split()[:60]))
    listings = [name for name in names if name in _LISTING_TYPES]
    listings += [name for name in classes if name in patterns.listing_marks]
    short = og_type.lower().split(".")[-1].strip()
    items = [f"og:{short}"] if short in _OG_TYPES else []
    # Several products in the markup are a listing's; one is the page's own.
    counted = [name for name in names if name in _ITEM_TYPES]
    items += counted if len(counted) == 1 else []
    items += [name for name in classes if name in patterns.item_marks]
    return next(iter(items), ""), next(iter(listings), "")


def _drop_chrome(body: LexborNode) -> None:
    """Takes menus, headers and footers out of the tree, unless they hold the main part.

    A node matches once for each selector, and is gone with the node around it: so each is looked at once, the inner
    before the outer.
    """
    found = {node.mem_id: node for node in body.css(_CHROME)}
    staying: set[int] = set()
    for identity, node in reversed(found.items()):
        if identity in staying or node.tag in _MAIN_TAGS:
            continue
        if node.css_first("main,article,h1") is None:
            node.decompose()
            continue
        above: LexborNode | None = node
        while above is not None and above.mem_id not in staying:
            staying.add(above.mem_id)
            above = above.parent


def _alike(links: Sequence[LexborNode], hrefs: Sequence[str], labels: Sequence[str], elements: Elements) -> list[Link]:
    """The links of one make that have the most label text, one for each address."""
    found: dict[tuple[object, str], Link] = {}
    for node, href, label in zip(links, hrefs, labels, strict=False):
        if len(href) > 1 and href[0] != "#":
            element = elements.of(node)
            known = found.setdefault((element.make, href), Link(href, element))
            known.label = max(known.label, label, key=len)
    groups = by_make(found.values())
    return max(groups, key=lambda group: sum(min(_LABEL, len(link.label)) for link in group), default=[])


def _texts(nodes: Iterable[LexborNode], page: int) -> Iterator[str]:
    """Text of each node, up to a multiple of the page's: hostile pages put the same text into thousands of nodes."""
    left = _TIMES_READ * page
    for node in nodes:
        text = " ".join(node.text().split())
        left -= len(text)
        if left < 0:
            return
        yield text


def _is_linked(heading: LexborNode) -> bool:
    above = heading.parent
    return heading.css_first("a[href]") is not None or (above is not None and above.tag == "a")


def _prose(body: LexborNode, items: frozenset[int], elements: Elements, page: int) -> Counter[int]:
    """Characters of running text outside of items and links, by the parent of its paragraphs."""
    by_parent: Counter[int] = Counter()
    paragraphs = body.css("p")[:_MAX_PARAGRAPHS]
    for paragraph, text in zip(paragraphs, _texts(paragraphs, page), strict=False):
        parent = paragraph.parent
        if len(text) < _PARAGRAPH_CHARACTERS or parent is None or not items.isdisjoint(elements.of(paragraph).chain):
            continue
        unlinked = len(text) - sum(map(len, _texts(paragraph.css("a"), len(text))))
        if unlinked >= _PARAGRAPH_CHARACTERS:
            by_parent[parent.mem_id] += unlinked
    return by_parent
