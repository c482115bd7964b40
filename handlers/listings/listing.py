"""The items of a listing: its HTML goes in, the links to what it lists and to its next page come out (R-067).

A listing repeats itself: its items are links that stand in blocks of the same make, and their addresses are of one
shape. Links of menus, headers and footers, of sharing, logging in and paging are no items, however often they repeat,
nor is what stands beside them in their blocks or below headings such as "Most read".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.limits import admitted
from handlers.html.links import absolute_url, canonical_url, host_of, registrable_domain
from handlers.html.reading import PageReadingSection
from handlers.listings.asides import links_in_asides
from handlers.listings.blocks import Blocks, name_words
from handlers.listings.leading import leading, one_a_block
from handlers.listings.paging import PageLink, PagingSection, is_numbered, next_page, page_number
from handlers.text.word_match import WordText, share_met, units_of
from schemas.rules import Section

_NUMBER = re.compile(r"\d+")
_TEXT_CHARACTERS = 300
_LONG_TEXT = 40
"""Characters from which on a longer text says nothing more for a link."""
_MANY = 3
_MOSTLY_NEAR = 0.7
_MOST_ASIDE = 0.8
_MAX_DEPTH = 60
_SEQUELS = frozenset(("next", "prev"))
"""Values of ``rel`` that lead along a row of pages, or of articles: no items of this one."""
_SCRIPT = re.compile(r"\.(?:aspx?|cfm|cgi|do|jsp|php\d?|pl)$")


class ListingSection(Section):
    """The ``listing`` section of the configuration; words are compared without case."""

    min_items: int = Field(ge=1, description="Links of one make from which on they count as a listing's items.")
    max_anchors: int = Field(ge=10, description="Links of a page that are looked at.")
    menu_classes: tuple[str, ...] = Field(description="Words of class names and ids that mark menus and the like.")
    item_classes: tuple[str, ...] = Field(description="Words of class names that mark an item, where there is but one.")
    title_classes: tuple[str, ...] = Field(description="Words of class names of a link that is its item's title.")
    asides: tuple[str, ...] = Field(description="How headings begin below which stands what is not listed here.")
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
    label: str
    make: str
    shape: str
    chain: tuple[int, ...]
    place: int
    in_menu: bool
    in_heading: bool
    in_item: bool
    titled: bool
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
    anchors = _anchors(tree, base, section)
    own = canonical_url(url) or ""
    links = [PageLink(anchor.url, anchor.canonical, anchor.text, anchor.marks) for anchor in anchors]
    following = next_page(links, own, _stated_next(tree, base), section.paging)
    not_items = (own, canonical_url(following) if following else None)
    items = _items([anchor for anchor in anchors if anchor.canonical not in not_items], own, tree, section)
    if not items and following and not is_numbered(following, section.paging):
        following = None
    return Listing(_ranked(items, query, max_details, section), following)


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    return (absolute_url(url, node.attributes.get("href") or "") if node else None) or url


def _stated_next(tree: LexborHTMLParser, base: str) -> str | None:
    node = tree.css_first("link[rel~=next][href]")
    absolute = absolute_url(base, node.attributes.get("href") or "") if node is not None else None
    return canonical_url(absolute) if absolute else None


def _anchors(tree: LexborHTMLParser, base: str, section: ListingSection) -> list[_Anchor]:
    """The page's links in page order."""
    nodes = tree.css("a[href]")[: section.max_anchors]
    blocks = Blocks(tree, nodes, section)
    anchors = [anchor for place, node in enumerate(nodes) if (anchor := _anchor(node, place, base, blocks, section))]
    labels: dict[str, str] = {}
    for anchor in anchors:
        if len(anchor.text) > len(labels.get(anchor.canonical, "")):
            labels[anchor.canonical] = anchor.text
    for anchor in anchors:
        anchor.label = labels.get(anchor.canonical, "")
        anchor.shape = _shape(anchor.canonical)
    return anchors


def _anchor(node: LexborNode, place: int, base: str, blocks: Blocks, section: ListingSection) -> _Anchor | None:
    href = (node.attributes.get("href") or "").strip()
    absolute = None if href.startswith("#") else absolute_url(base, href)
    canonical = canonical_url(absolute) if absolute else None
    if absolute is None or canonical is None:
        return None
    around = blocks.around(node)
    marks = name_words(" ".join(node.attributes.get(name) or "" for name in ("class", "id", "rel")))
    return _Anchor(
        url=absolute,
        canonical=canonical,
        text=_text_of(node),
        label="",
        make=around.make,
        shape="",
        chain=_chain(node),
        place=place,
        in_menu=around.in_menu or not _SEQUELS.isdisjoint((node.attributes.get("rel") or "").lower().split()),
        in_heading=around.in_heading,
        in_item=around.in_item,
        titled=around.in_heading or not marks.isdisjoint(section.title_classes),
        marks=marks,
    )


def _chain(node: LexborNode) -> tuple[int, ...]:
    """The elements from a link outwards, without the body."""
    found: list[int] = []
    current: LexborNode | None = node
    while current is not None and current.tag not in ("body", "html") and len(found) < _MAX_DEPTH:
        found.append(current.mem_id)
        current = current.parent
    return tuple(found) or (node.mem_id,)


def _text_of(node: LexborNode) -> str:
    text = " ".join(node.text(separator=" ").split())
    if not text:
        text = node.attributes.get("title") or node.attributes.get("aria-label") or ""
        image = None if text else node.css_first("img[alt]")
        text = text or (image.attributes.get("alt") or "" if image else "")
    return " ".join(text.split())[:_TEXT_CHARACTERS]


def _shape(canonical: str) -> str:
    """An address without what differs from item to item: ``example.com/product/*``, or ``example.com/view.php?id``."""
    parts = urlsplit(canonical)
    segments = [segment for segment in parts.path.split("/") if segment]
    kept = [_NUMBER.sub("#", segment) for segment in segments[:-1]]
    parameters = sorted({name for name, _ in parse_qsl(parts.query)})
    last = [segments[-1] if parameters and _SCRIPT.search(segments[-1]) else "*"] if segments else [""]
    return f"{parts.netloc}/{'/'.join([*kept, *last])}?{','.join(parameters)}"


def _items(anchors: list[_Anchor], own: str, tree: LexborHTMLParser, section: ListingSection) -> list[ItemLink]:
    """The links of the make and shape that look most like items, one for each address, in page order."""
    likely = [anchor for anchor in anchors if not anchor.in_menu and not _is_no_item(anchor, own, section)]
    aside = links_in_asides(tree, section.asides)
    listed = [anchor for anchor in likely if anchor.chain[0] not in aside]
    if len(likely) - len(listed) <= _MOST_ASIDE * len(likely):
        likely = listed
    by_make: dict[str, list[_Anchor]] = defaultdict(list)
    for anchor in likely:
        by_make[anchor.make].append(anchor)
    groups = [one_a_block(group, section.min_items) for group in by_make.values()]
    groups = [group for group in groups if len({a.canonical for a in group}) >= section.min_items]
    if not groups:
        return _the_only_item(likely)
    content = tree.css_first("main") or tree.css_first("[role=main]")
    main = content.mem_id if content is not None else None
    best = leading(max(groups, key=lambda group: _likelihood(group, own, main)), groups)
    domain = registrable_domain(host_of(own))
    shape, count = Counter(anchor.shape for anchor in best).most_common(1)[0]
    # Addresses right below the root have a shape that any page may have: then only the make tells.
    by_shape = count >= section.min_items and 2 * count >= len(best) and not shape.partition("/")[2].startswith("*")
    of_make = dict.fromkeys(anchor.canonical for anchor in best)
    of_shape = dict.fromkeys(anchor.canonical for anchor in likely if anchor.shape == shape)
    # A shape that far more links have than the block says nothing: one script may serve the whole site.
    chosen = list(of_shape if by_shape and len(of_shape) <= _MANY * len(of_make) else of_make)
    near = [canonical for canonical in chosen if registrable_domain(host_of(canonical)) == domain]
    if len(near) >= _MOSTLY_NEAR * len(chosen):
        chosen = near
    labels = {anchor.canonical: anchor.label for anchor in likely}
    urls = {anchor.canonical: anchor.url for anchor in reversed(likely)}
    because = f"one of {len(chosen)} links in blocks of the same make"
    return [ItemLink(urls[canonical], labels[canonical], because) for canonical in chosen]


def _the_only_item(likely: list[_Anchor]) -> list[ItemLink]:
    """A listing may have a single item: the one address outside of menus that is linked from a list or a heading."""
    single = {anchor.canonical: anchor for anchor in likely if anchor.in_item or anchor.in_heading}
    if len(single) != 1:
        return []
    return [ItemLink(anchor.url, anchor.label, "the only link in a block") for anchor in single.values()]


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
    if segments and parts.query and _SCRIPT.sub("", segments[-1]) in section.not_item_folders:
        return True
    return len(segments) > 1 and segments[-2] in section.not_item_folders


def _likelihood(group: Sequence[_Anchor], own: str, main: int | None) -> float:
    """How much a group of links of one make looks like a listing's items."""
    labels = {anchor.canonical: anchor.label for anchor in group}
    length = sum(min(len(label), _LONG_TEXT) for label in labels.values()) / len(labels)
    heading = 2.0 if sum(anchor.in_heading for anchor in group) * 2 >= len(group) else 1.0
    shape = Counter(anchor.shape for anchor in group).most_common(1)[0][1] / len(group)
    deep = sum(len(urlsplit(anchor.canonical).path.strip("/").split("/")) > 1 for anchor in group) / len(group)
    domain = registrable_domain(host_of(own))
    inside = sum(registrable_domain(host_of(anchor.url)) == domain for anchor in group) / len(group)
    folder = own.partition("?")[0].rstrip("/") + "/"
    has_path = bool(urlsplit(own).path.strip("/"))
    below = sum(anchor.canonical.startswith(folder) for anchor in group) / len(group) if has_path else 0.0
    central = sum(main in anchor.chain for anchor in group) / len(group) if main is not None else 1.0
    # Below a page's own path there are its items, but also parts of the list: the former have headings.
    below *= 3 if heading > 1 else 1
    place = (0.5 + shape) * (0.5 + deep) * (0.7 + 0.3 * inside) * (1 + below) * (0.1 + 0.9 * central)
    return float(min(len(labels), 40) * (5 + length) * heading * place)


def _ranked(items: list[ItemLink], query: str, max_details: int, section: ListingSection) -> tuple[ItemLink, ...]:
    """At most ``max_details`` items: those that share most with the query, in page order."""
    units = units_of(query, frozenset(section.stop_words), frozenset(), {})
    shared = [share_met(units, WordText(item.text)) for item in items]
    order = sorted(range(len(items)), key=lambda place: (-shared[place], place))[:max_details]
    return tuple(
        ItemLink(
            items[place].url,
            items[place].text,
            items[place].because + (f"; shares {shared[place]:.0%} of the query's words" if shared[place] else ""),
        )
        for place in sorted(order)
    )
