"""The items of a listing: its HTML goes in, the links to what it lists and to its next page come out (R-067).

A listing repeats itself: its items are links that stand in blocks of the same make, and their addresses are of one
shape. Links of menus, headers and footers, of sharing, logging in and paging are no items, however often they repeat.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.page.blocks import Blocks, name_words
from handlers.page.html import page_bytes, parse_bytes
from handlers.page.limits import admitted
from handlers.page.links import absolute_url, canonical_url, host_of, registrable_domain
from handlers.page.paging import PageLink, PagingSection, next_page, page_number
from handlers.page.reading import PageReadingSection
from handlers.results.coverage import coverage, query_terms
from schemas.rules import Section

_NUMBER = re.compile(r"\d+")
_TEXT_CHARACTERS = 300
_MANY = 3
_MOSTLY_NEAR = 0.7


class ListingSection(Section):
    """The ``listing`` section of the configuration; words are compared without case."""

    min_items: int = Field(ge=1, description="Links of one make from which on they count as a listing's items.")
    max_anchors: int = Field(ge=10, description="Links of a page that are looked at.")
    menu_classes: tuple[str, ...] = Field(description="Words of class names and ids that mark menus and the like.")
    item_classes: tuple[str, ...] = Field(description="Words of class names that mark an item, where there is but one.")
    not_items: tuple[str, ...] = Field(description="Last segments of a path, or texts, of links that are no items.")
    not_item_folders: tuple[str, ...] = Field(description="Path segments below which there are lists, not items.")
    paging: PagingSection = Field(description="How the next page of a listing is found.")
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
    in_item: bool
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
    utf8 = admitted(body.utf8, reading)
    if isinstance(utf8, str):
        return Listing((), None)
    tree = parse_bytes(replace(body, utf8=utf8)).tree
    base = _base(tree, url)
    nodes = tree.css("a[href]")[: section.max_anchors]
    blocks = Blocks(tree, nodes, section)
    anchors = [anchor for node in nodes if (anchor := _anchor(node, base, blocks)) is not None]
    own = canonical_url(url) or ""
    links = [PageLink(anchor.url, anchor.canonical, anchor.text, anchor.marks) for anchor in anchors]
    following = next_page(links, own, _stated_next(tree, base), section.paging)
    not_items = (own, canonical_url(following) if following else None)
    items = _items([anchor for anchor in anchors if anchor.canonical not in not_items], own, section)
    return Listing(_ranked(items, query, max_details, section), following)


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return (absolute_url(url, node.attributes.get("href") or "") if node else None) or url


def _stated_next(tree: LexborHTMLParser, base: str) -> str | None:
    node = tree.css_first("link[rel~=next][href]")
    absolute = absolute_url(base, node.attributes.get("href") or "") if node is not None else None
    return canonical_url(absolute) if absolute else None


def _anchor(node: LexborNode, base: str, blocks: Blocks) -> _Anchor | None:
    href = (node.attributes.get("href") or "").strip()
    absolute = None if href.startswith("#") else absolute_url(base, href)
    canonical = canonical_url(absolute) if absolute else None
    if absolute is None or canonical is None:
        return None
    around = blocks.around(node)
    names = (node.attributes.get(name) or "" for name in ("class", "id", "rel"))
    return _Anchor(
        url=absolute,
        canonical=canonical,
        text=_text_of(node),
        make=around.make,
        shape=_shape(canonical),
        in_menu=around.in_menu,
        in_heading=around.in_heading,
        in_item=around.in_item,
        marks=name_words(" ".join(names)),
    )


def _text_of(node: LexborNode) -> str:
    text = " ".join(node.text(separator=" ").split())
    if not text:
        text = node.attributes.get("title") or node.attributes.get("aria-label") or ""
        image = None if text else node.css_first("img[alt]")
        text = text or (image.attributes.get("alt") or "" if image else "")
    return " ".join(text.split())[:_TEXT_CHARACTERS]


def _shape(canonical: str) -> str:
    """An address without what differs from item to item: ``example.com/product/*``."""
    parts = urlsplit(canonical)
    segments = [segment for segment in parts.path.split("/") if segment]
    kept = [_NUMBER.sub("#", segment) for segment in segments[:-1]]
    parameters = sorted({name for name, _ in parse_qsl(parts.query)})
    return f"{parts.netloc}/{'/'.join([*kept, '*' if segments else ''])}?{','.join(parameters)}"


def _items(anchors: list[_Anchor], own: str, section: ListingSection) -> list[ItemLink]:
    """The links of the make and shape that look most like items, one for each address, in page order."""
    texts: dict[str, str] = {}
    for anchor in anchors:
        if len(anchor.text) > len(texts.get(anchor.canonical, "")):
            texts[anchor.canonical] = anchor.text
    likely = [anchor for anchor in anchors if not anchor.in_menu and not _is_no_item(anchor, own, section)]
    by_make: dict[str, list[_Anchor]] = defaultdict(list)
    for anchor in likely:
        by_make[anchor.make].append(anchor)
    groups = [group for group in by_make.values() if len({a.canonical for a in group}) >= section.min_items]
    if not groups:
        return _the_only_item(likely, texts)
    domain = registrable_domain(host_of(own))
    best = max(groups, key=lambda group: _likelihood(group, domain, texts))
    shape, count = Counter(anchor.shape for anchor in best).most_common(1)[0]
    # Addresses right below the root have a shape that any page may have: then only the make tells.
    by_shape = count >= section.min_items and 2 * count >= len(best) and "/*" in shape.partition("/")[2]
    make = best[0].make
    of_make = dict.fromkeys(anchor.canonical for anchor in likely if anchor.make == make)
    of_shape = dict.fromkeys(anchor.canonical for anchor in likely if anchor.shape == shape)
    # A shape that far more links have than the block says nothing: one script may serve the whole site.
    chosen = list(of_shape if by_shape and len(of_shape) <= _MANY * len(of_make) else of_make)
    near = [canonical for canonical in chosen if registrable_domain(host_of(canonical)) == domain]
    if len(near) >= _MOSTLY_NEAR * len(chosen):
        chosen = near
    chosen = _without_echoes(chosen, {anchor.canonical: anchor.shape for anchor in likely}, texts)
    urls = {anchor.canonical: anchor.url for anchor in reversed(likely)}
    because = f"one of {len(chosen)} links in blocks of the same make"
    return [ItemLink(urls[canonical], texts.get(canonical, ""), because) for canonical in chosen]


def _without_echoes(chosen: list[str], shapes: dict[str, str], texts: dict[str, str]) -> list[str]:
    """Leaves out links of one shape that all say the same ("Cached", "0 comments") beside others that do not."""
    said: dict[str, list[str]] = defaultdict(list)
    for canonical in chosen:
        said[shapes[canonical]].append(texts.get(canonical, ""))
    echoes = {shape for shape, labels in said.items() if len(labels) >= _MANY and len(set(labels)) == 1 and labels[0]}
    kept = [canonical for canonical in chosen if shapes[canonical] not in echoes]
    return kept if len(kept) * _MANY >= len(chosen) else chosen


def _the_only_item(likely: list[_Anchor], texts: dict[str, str]) -> list[ItemLink]:
    """A listing may have a single item: the one address outside of menus that is linked from a list or a heading."""
    single = {anchor.canonical: anchor.url for anchor in likely if anchor.in_item or anchor.in_heading}
    if len(single) != 1:
        return []
    return [ItemLink(url, texts.get(canonical, ""), "the only link in a block") for canonical, url in single.items()]


def _is_no_item(anchor: _Anchor, own: str, section: ListingSection) -> bool:
    """Whether a link pages, filters, shares, logs in, or leads to a root or to another list."""
    parts, here = urlsplit(anchor.canonical), urlsplit(own)
    segments = [segment.lower() for segment in parts.path.split("/") if segment]
    if not segments and not parts.query:
        return True
    text = anchor.text.lower()
    if text.isdecimal() or text in section.not_items or text in section.paging.next_texts:
        return True
    if page_number(anchor.canonical, section.paging) is not None:
        return True
    # The page's own address with other parameters shows the same list in another way, unless a script does everything.
    if segments and parts.netloc == here.netloc and parts.path == here.path and "." not in segments[-1]:
        return True
    names = [name.lower() for name, _ in parse_qsl(parts.query)]
    if names and all(name in section.not_item_folders for name in names):
        return True
    if segments and segments[-1] in section.not_items:
        return True
    return len(segments) > 1 and segments[-2] in section.not_item_folders


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
