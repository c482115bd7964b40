"""The items of a listing: its HTML goes in, the links to what it lists and to its next page come out (R-067).

A listing repeats itself: its items are links that stand in blocks of the same make, and their addresses are of one
shape. Links of menus, headers and footers, of sharing, logging in and paging are no items, however often they repeat.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.page.html import page_bytes, parse_bytes
from handlers.page.limits import refusal
from handlers.page.links import absolute_url, canonical_url, host_of, registrable_domain
from handlers.page.reading import PageReadingSection
from handlers.results.coverage import coverage, query_terms
from schemas.rules import Section

_ANCESTORS = 5
_MAX_ANCESTORS = 40
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MENUS = frozenset(("nav", "footer", "aside", "menu"))
_NAME_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+|[a-z]+")
_NUMBER = re.compile(r"\d+")
_TEXT_CHARACTERS = 300


class ListingSection(Section):
    """The ``listing`` section of the configuration; words are compared without case."""

    min_items: int = Field(ge=1, description="Links of one make from which on they count as a listing's items.")
    max_anchors: int = Field(ge=10, description="Links of a page that are looked at.")
    menu_classes: tuple[str, ...] = Field(description="Words of class names and ids that mark menus and the like.")
    not_items: tuple[str, ...] = Field(description="Words of a path or texts of links that are no items.")
    next_texts: tuple[str, ...] = Field(description="Texts of a link to the next page.")
    next_marks: tuple[str, ...] = Field(description="Words of class names and ids of such a link.")
    page_parameters: tuple[str, ...] = Field(description="Query parameters and path segments that number pages.")
    stop_words: tuple[str, ...] = Field(description="Words of a query that say nothing of its subject.")


@dataclass(frozen=True, slots=True)
class ItemLink:
    """A link to an item: absolute address, its text, and why it was taken for one."""

    url: str
    text: str
    because: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing's items in page order, and the address of its next page."""

    links: tuple[ItemLink, ...]
    next_page: str | None


@dataclass(slots=True)
class _Anchor:
    """A link of the page with what was seen of it."""

    url: str
    canonical: str
    text: str
    make: str
    shape: str
    in_menu: bool
    in_heading: bool
    marks: frozenset[str]


def follow_listing(
    html: str | bytes, url: str, query: str, max_details: int, section: ListingSection, reading: PageReadingSection
) -> Listing:
    """Finds a listing's items and its next page. Never raises; a page without items gives an empty listing.

    Args:
        html: The listing's page.
        url: Its address, which relative links are seen from.
        query: What is wanted: where there are more items than ``max_details``, those whose text shares most with it.
        max_details: How many items at most.
        section: Word lists and limits.
        reading: Limits within which a page is parsed at all.
    """
    body = page_bytes(html)
    if refusal(body.utf8, reading) is not None:
        return Listing((), None)
    tree = parse_bytes(body).tree
    base = _base(tree, url)
    anchors = [
        anchor
        for node in tree.css("a[href]")[: section.max_anchors]
        if (anchor := _anchor(node, base, section)) is not None
    ]
    own = canonical_url(url) or url
    next_page = _next_page(tree, anchors, own, base, section)
    items = _items([anchor for anchor in anchors if anchor.canonical not in (own, next_page)], url, section)
    return Listing(_ranked(items, query, max_details, section), next_page)


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return (absolute_url(url, node.attributes.get("href") or "") if node else None) or url


def _anchor(node: LexborNode, base: str, section: ListingSection) -> _Anchor | None:
    href = (node.attributes.get("href") or "").strip()
    absolute = None if href.startswith("#") else absolute_url(base, href)
    canonical = canonical_url(absolute) if absolute else None
    if absolute is None or canonical is None:
        return None
    make, in_menu, in_heading = _surroundings(node, section)
    return _Anchor(
        url=absolute,
        canonical=canonical,
        text=_text_of(node),
        make=make,
        shape=_shape(canonical),
        in_menu=in_menu,
        in_heading=in_heading,
        marks=_words(
            f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''} {node.attributes.get('rel') or ''}"
        ),
    )


def _surroundings(node: LexborNode, section: ListingSection) -> tuple[str, bool, bool]:
    """The make of a link's block (tags and classes of its ancestors), whether it is in a menu, and in a heading."""
    make: list[str] = []
    in_menu = in_heading = inside_item = False
    menu_words = frozenset(section.menu_classes)
    current: LexborNode | None = node
    for depth in range(_MAX_ANCESTORS):
        if current is None or not current.tag or current.tag in ("body", "html"):
            break
        names = f"{current.attributes.get('class') or ''} {current.attributes.get('id') or ''}"
        if depth <= _ANCESTORS:
            make.append(f"{current.tag}.{' '.join(sorted((current.attributes.get('class') or '').split())[:3])}")
        inside_item = inside_item or current.tag in ("article", "li", "main")
        in_heading = in_heading or current.tag in _HEADINGS
        if current.tag in _MENUS or (current.tag == "header" and not inside_item) or _words(names) & menu_words:
            in_menu = True
            break
        current = current.parent
    return " < ".join(make), in_menu, in_heading


def _text_of(node: LexborNode) -> str:
    text = " ".join(node.text(separator=" ").split())
    if not text:
        text = node.attributes.get("title") or node.attributes.get("aria-label") or ""
        image = None if text else node.css_first("img[alt]")
        text = text or (image.attributes.get("alt") or "" if image else "")
    return " ".join(text.split())[:_TEXT_CHARACTERS]


def _words(names: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _NAME_WORD.findall(names[:500]))


def _shape(canonical: str) -> str:
    """An address without what differs from item to item: ``example.com/product/*``."""
    parts = urlsplit(canonical)
    segments = [segment for segment in parts.path.split("/") if segment]
    kept = [_NUMBER.sub("#", segment) for segment in segments[:-1]]
    parameters = sorted({name for name, _ in parse_qsl(parts.query)})
    return f"{parts.netloc}/{'/'.join([*kept, '*' if segments else ''])}?{','.join(parameters)}"


def _items(anchors: list[_Anchor], url: str, section: ListingSection) -> list[ItemLink]:
    """The links of the make and shape that look most like items, one for each address, in page order."""
    texts: dict[str, str] = {}
    for anchor in anchors:
        if len(anchor.text) > len(texts.get(anchor.canonical, "")):
            texts[anchor.canonical] = anchor.text
    no_item = frozenset(section.not_items)
    likely = [anchor for anchor in anchors if not anchor.in_menu and not _is_no_item(anchor, no_item, section)]
    by_make: dict[str, list[_Anchor]] = defaultdict(list)
    for anchor in likely:
        by_make[anchor.make].append(anchor)
    own = registrable_domain(host_of(url))
    groups = {make: group for make, group in by_make.items() if len({a.canonical for a in group}) >= section.min_items}
    if not groups:
        return []
    best = max(groups.values(), key=lambda group: _likelihood(group, own, texts))
    shape, count = Counter(anchor.shape for anchor in best).most_common(1)[0]
    by_shape = count >= section.min_items and 2 * count >= len(best)
    makes = {anchor.make for anchor in best}
    chosen: dict[str, None] = {}
    for anchor in likely:
        if anchor.shape == shape if by_shape else anchor.make in makes:
            chosen[anchor.canonical] = None
    size = len(chosen)
    urls = {anchor.canonical: anchor.url for anchor in reversed(likely)}
    return [
        ItemLink(urls[canonical], texts.get(canonical, ""), f"one of {size} links in blocks of the same make")
        for canonical in chosen
    ]


def _is_no_item(anchor: _Anchor, no_item: frozenset[str], section: ListingSection) -> bool:
    """Whether a link pages, shares, logs in, or leads to a root."""
    parts = urlsplit(anchor.canonical)
    segments = [segment.lower() for segment in parts.path.split("/") if segment]
    if not segments and not parts.query:
        return True
    if anchor.text.isdecimal() or anchor.text.lower() in no_item or anchor.text.lower() in section.next_texts:
        return True
    if any(name.lower() in section.page_parameters for name, _ in parse_qsl(parts.query)):
        return True
    return not no_item.isdisjoint(segments)


def _likelihood(group: list[_Anchor], own: str, texts: dict[str, str]) -> float:
    """How much a group of links of one make looks like a listing's items."""
    distinct = {anchor.canonical for anchor in group}
    lengths = [min(len(texts.get(canonical, "")), 80) for canonical in distinct]
    length = sum(lengths) / len(lengths)
    heading = 2.0 if sum(anchor.in_heading for anchor in group) * 2 >= len(group) else 1.0
    shape = Counter(anchor.shape for anchor in group).most_common(1)[0][1] / len(group)
    deep = sum(len(urlsplit(anchor.canonical).path.strip("/").split("/")) > 1 for anchor in group) / len(group)
    inside = sum(registrable_domain(host_of(anchor.url)) == own for anchor in group) / len(group)
    return float(min(len(distinct), 40) * (5 + length) * heading * (0.5 + shape) * (0.5 + deep) * (0.7 + 0.3 * inside))


def _ranked(items: list[ItemLink], query: str, max_details: int, section: ListingSection) -> tuple[ItemLink, ...]:
    """At most ``max_details`` items: those that share most with the query, in page order."""
    terms = query_terms(query, frozenset(section.stop_words))
    shared = [coverage(terms, item.text) for item in items]
    order = sorted(range(len(items)), key=lambda place: (-shared[place], place))[:max_details]
    return tuple(
        ItemLink(
            items[place].url,
            items[place].text,
            items[place].because + (f"; shares {shared[place]:.0%} of the query's words" if shared[place] else ""),
        )
        for place in sorted(order)
    )


def _next_page(
    tree: LexborHTMLParser, anchors: list[_Anchor], own: str, base: str, section: ListingSection
) -> str | None:
    """The next page: stated by ``rel``, else named so, else the number after this page's own."""
    stated = tree.css_first("link[rel~=next][href]")
    if stated is not None and (absolute := absolute_url(base, stated.attributes.get("href") or "")):
        return absolute if canonical_url(absolute) != own else None
    others = [anchor for anchor in anchors if anchor.canonical != own]
    texts, marks = frozenset(section.next_texts), frozenset(section.next_marks)
    named = [anchor for anchor in others if "next" in anchor.marks or anchor.text.lower().strip(" .") in texts]
    marked = [anchor for anchor in others if anchor.marks & marks and len(anchor.text) < 20]
    if named or marked:
        return (named or marked)[0].url
    current = _page_number(own, section) or 1
    return next(
        (
            anchor.url
            for anchor in others
            if anchor.text == str(current + 1) and _page_number(anchor.canonical, section) is not None
        ),
        None,
    )


def _page_number(url: str, section: ListingSection) -> int | None:
    """The number of the page that an address names, in its query or at the end of its path."""
    parts = urlsplit(url)
    for name, value in parse_qsl(parts.query):
        if name.lower() in section.page_parameters and value.isdecimal() and len(value) < 7:
            return int(value)
    segments = [segment for segment in parts.path.split("/") if segment]
    tail = _NUMBER.findall(segments[-1]) if segments else []
    return int(tail[-1]) if tail and len(tail[-1]) < 7 else None
