"""The items of a listing and its next page (R-067).

Items are links in blocks of one make whose addresses are of one shape. Links of menus, headers and footers, of sharing,
logging in and paging are no items, and neither are links below headings such as "Most read".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.encoding import page_bytes
from handlers.html.limits import parse_within
from handlers.html.links import absolute_url, canonical_url, same_domain, session_of
from handlers.html.reading import PageReadingSection
from handlers.listings.blocks import Link, NamedElements, blocks_of, by_make, name_words
from handlers.listings.paging import PagingSection, next_page, position_of
from handlers.text.patterns import WordList
from handlers.text.word_match import WordText, share_met, units_of
from schemas.addresses import web_address
from schemas.rules import Section

_NUMBER = re.compile(r"\d+")
_TEXT_CHARACTERS = 300
_LONG_TEXT = 40
_MANY = 3
_FEW = 3
_MOST = 0.9
_HALF = 0.5
_SHARED = 0.6
_MOSTLY_NEAR = 0.7
_MOST_ASIDE = 0.8
_MAX_STRANDS = 12
_MAX_ASIDES = 30
_MAX_CLIMB = 3
_MAX_HEADING = 60
_REST_CHARACTERS = 14
_HAN = "\u2e80"
_HEADINGS = "h1,h2,h3,h4,h5,h6"
_SEQUELS = frozenset(("next", "prev"))
"""Values of ``rel`` that lead along a row of pages or articles."""
_SCRIPT = re.compile(r"\.(?:aspx?|cfm|cgi|do|jsp|php\d?|pl)$")


class ListingSection(Section):
    """The ``listing`` section of the configuration; words are compared without case."""

    min_items: int = Field(ge=1, description="Links of one make from which on they count as a listing's items.")
    max_anchors: int = Field(ge=10, description="Links of a page that are looked at.")
    menu_classes: WordList = Field(description="Words of class names and ids that mark menus and the like.")
    item_classes: WordList = Field(description="Words of class names that mark an item, where there is but one.")
    title_classes: WordList = Field(description="Words of class names of a link that is its item's title.")
    asides: WordList = Field(description="Beginnings of headings; the links below such a heading are no items.")
    not_items: WordList = Field(description="Last segments of a path, or texts, of links that are no items.")
    not_item_folders: WordList = Field(description="Path segments below which there are lists, not items.")
    paging: PagingSection = Field(description="How the next page of a listing is found.")
    stop_words: WordList = Field(description="Words of a query that say nothing of its subject.")


@dataclass(frozen=True, slots=True)
class ItemLink:
    """A link to an item: absolute address, its text, and the reason for taking it."""

    url: str
    text: str
    because: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing's items in page order, and the address of its next page."""

    links: tuple[ItemLink, ...]
    next_page: str | None


_Group = Sequence[Link]


def follow_listing(
    html: str | bytes, url: str, query: str, max_details: int, section: ListingSection, reading: PageReadingSection
) -> Listing:
    """Finds a listing's items and its next page. Never raises; a page without items gives an empty listing.

    Where there are more than ``max_details`` items, those whose text shares most words with the query are kept.
    """
    tree = parse_within(page_bytes(html).utf8, reading)
    if isinstance(tree, str):
        return Listing((), None)
    base = _href(tree, "base[href]", url) or url
    session = session_of(tree, url)
    links = _links(tree, base, section, session)
    own = canonical_url(url, session) or ""
    stated = _href(tree, "link[rel~=next][href]", base)
    following = next_page(links, own, canonical_url(stated, session) if stated else None, section.paging)
    not_items = (own, canonical_url(following, session) if following else None)
    items = _items([link for link in links if link.address not in not_items], own, tree, section)
    if not items and following and not position_of(following, section.paging).is_numbered:
        following = None
    return Listing(_ranked(items, query, max_details, section), following)


def _href(tree: LexborHTMLParser, selector: str, base: str) -> str | None:
    node = tree.css_first(selector)
    return absolute_url(base, node.attributes.get("href") or "") if node is not None else None


def _links(tree: LexborHTMLParser, base: str, section: ListingSection, session: str) -> list[Link]:
    """The page's links in page order."""
    nodes = tree.css("a[href]")[: section.max_anchors]
    elements = NamedElements(tree, nodes, section.menu_classes, section.item_classes)
    found = (_link(node, place, base, elements, section, session) for place, node in enumerate(nodes))
    links = [*filter(None, found)]
    labels: dict[str, str] = {}
    for link in links:
        labels[link.address] = max(labels.get(link.address, ""), link.text, key=len)
    for link in links:
        link.label = labels[link.address]
    return links


def _link(
    node: LexborNode, place: int, base: str, elements: NamedElements, section: ListingSection, session: str
) -> Link | None:
    attributes = node.attributes
    href = (attributes.get("href") or "").strip()
    absolute = None if href.startswith("#") else absolute_url(base, href)
    canonical = canonical_url(absolute, session) if absolute else None
    if absolute is None or canonical is None:
        return None
    element = elements.of(node)
    marks = name_words(" ".join(attributes.get(name) or "" for name in ("class", "id", "rel")))
    in_heading = element.in_heading or node.css_first(_HEADINGS) is not None
    return Link(
        canonical,
        element,
        url=absolute,
        text=_text_of(node),
        marks=marks,
        shape=_shape(canonical),
        place=place,
        in_menu=element.in_menu or not _SEQUELS.isdisjoint((attributes.get("rel") or "").lower().split()),
        in_heading=in_heading,
        titled=in_heading or not marks.isdisjoint(section.title_classes),
    )


def _text_of(node: LexborNode) -> str:
    """The link's text, else its title or label, else that of an image in it."""
    image = node.css_first("img[alt]")
    texts = (
        node.text(separator=" "),
        node.attributes.get("title") or node.attributes.get("aria-label"),
        image.attributes.get("alt") if image is not None else None,
    )
    return next((shown[:_TEXT_CHARACTERS] for text in texts if (shown := " ".join((text or "").split()))), "")


def _shape(canonical: str) -> str:
    """An address without what differs from item to item: ``example.com/product/*``, or ``example.com/view.php?id``."""
    parts = web_address(canonical)
    segments = [segment for segment in parts.path.split("/") if segment]
    kept = [_NUMBER.sub("#", segment) for segment in segments[:-1]]
    parameters = sorted({name for name, _ in parse_qsl(parts.query)})
    last = [segments[-1] if parameters and _SCRIPT.search(segments[-1]) else "*"] if segments else [""]
    return f"{parts.authority}/{'/'.join([*kept, *last])}?{','.join(parameters)}"


def _items(links: list[Link], own: str, tree: LexborHTMLParser, section: ListingSection) -> list[ItemLink]:
    """The links of the make and shape that look most like items, one for each address, in page order."""
    likely = [link for link in links if not link.in_menu and not _is_no_item(link, own, section)]
    aside = _links_in_asides(tree, section.asides)
    listed = [link for link in likely if link.element.chain[0] not in aside]
    if len(likely) - len(listed) <= _MOST_ASIDE * len(likely):
        likely = listed
    groups = [_one_a_block(group, section.min_items) for group in by_make(likely)]
    groups = [group for group in groups if _addresses(group) >= section.min_items]
    if not groups:
        # A listing may have a single item: the one address outside of menus that a list or a heading links.
        single = {link.address: link for link in likely if link.element.in_item or link.in_heading}
        return [
            ItemLink(link.url, link.label, "the only link in a block") for link in single.values() if len(single) < 2
        ]
    content = tree.css_first("main,[role=main]")
    main = content.mem_id if content is not None else None
    best = _leading(max(groups, key=lambda group: _likelihood(group, own, main)), groups)
    shape, count = Counter(link.shape for link in best).most_common(1)[0]
    # Addresses right below the root have a shape that any page may have: then only the make tells.
    by_shape = count >= section.min_items and 2 * count >= len(best) and not _is_any_page(shape)
    of_make = {link.address for link in best}
    of_shape = {link.address for link in likely if link.shape == shape} if by_shape else set()
    # One script may serve the whole site: then far more links than those of the blocks have its shape.
    items = of_make | of_shape if len(of_shape) <= _MANY * len(of_make) else of_make
    chosen = list(dict.fromkeys(link.address for link in likely if link.address in items))
    near = [address for address in chosen if same_domain(address, own)]
    if len(near) >= _MOSTLY_NEAR * len(chosen):
        chosen = near
    found = {link.address: link for link in reversed(likely)}
    because = f"one of {len(chosen)} links in blocks of the same make"
    return [ItemLink(found[address].url, found[address].label, because) for address in chosen]


def _is_no_item(link: Link, own: str, section: ListingSection) -> bool:
    """Whether a link pages, filters, shares, logs in, or leads to a root or to another list."""
    parts, here = web_address(link.address), web_address(own)
    segments = [segment.lower() for segment in parts.path.split("/") if segment]
    names = [name.lower() for name, _ in parse_qsl(parts.query)]
    text = link.text.lower()
    if text.isdecimal() or text in section.not_items or text in section.paging.next_texts:
        return True
    if position_of(link.address, section.paging).page is not None:
        return True
    if names and all(name in section.not_item_folders for name in names):
        return True
    if not segments:
        return not parts.query
    # The page's own address with other parameters shows the same list in another way, unless a script does everything.
    if parts.authority == here.authority and parts.path == here.path and "." not in segments[-1]:
        return True
    if parts.query and _SCRIPT.sub("", segments[-1]) in section.not_item_folders:
        return True
    return segments[-1] in section.not_items or (len(segments) > 1 and segments[-2] in section.not_item_folders)


def _likelihood(group: _Group, own: str, main: int | None) -> float:
    """How much a group of links of one make looks like a listing's items."""

    def share(holds: Iterable[bool]) -> float:
        return sum(holds) / len(group)

    labels = {link.address: link.label for link in group}
    length = sum(min(len(label), _LONG_TEXT) for label in labels.values()) / len(labels)
    headed = share(link.in_heading for link in group) >= _HALF
    shape = share(link.shape == _shape_of(group) for link in group)
    deep = share("/" in web_address(link.address).path.strip("/") for link in group)
    inside = share(same_domain(link.url, own) for link in group)
    folder = own.partition("?")[0].rstrip("/") + "/"
    below = share(link.address.startswith(folder) for link in group) if web_address(own).path.strip("/") else 0.0
    central = share(main in link.element.chain for link in group) if main is not None else 1.0
    place = (0.5 + shape) * (0.5 + deep) * (0.7 + 0.3 * inside) * (0.1 + 0.9 * central) * (1 + 2 * below)
    return min(len(labels), 40) * (5 + length) * (2.0 if headed else 1.0) * place


def _leading(found: _Group, groups: Sequence[_Group]) -> _Group:
    """The group that names the items among those in the blocks of ``found``: in the headings, or first in each block.

    An event's block links the event, its venue and its tickets; a product's block links its brand. The length of a text
    does not decide which of them is the item.
    """
    held = blocks_of(found)
    beside = [group for group in groups if group is not found and _is_named(group) and _shares(group, found, held)]
    return min((found, *beside) if _is_named(found) else beside or (found,), key=_rank)


def _one_a_block(group: list[Link], least: int) -> list[Link]:
    """Leaves out links beside others of the same make in every block, such as a product's brand.

    It does the same with links of one shape that all say the same ("Cached", "0 comments") among others that do not.
    """
    by_shape: dict[str, list[Link]] = defaultdict(list)
    for link in group:
        by_shape[link.shape].append(link)
    echoes = {shape for shape, strand in by_shape.items() if _addresses(strand) >= _FEW and not _tells_apart(strand)}
    others = [link for link in group if link.shape not in echoes]
    if echoes and _addresses(others) * _FEW >= _addresses(group) and _tells_apart(others):
        return _one_a_block(others, least)
    strands = sorted(by_shape.values(), key=len, reverse=True)[:_MAX_STRANDS]
    full = [strand for strand in strands if _addresses(strand) >= least]
    if not full:
        return group
    chief = _leading(max(full, key=_addresses), full)
    blocks = blocks_of(chief)
    beside = {s[0].shape for s in strands if s is not chief and len(s) >= least and _share(s, blocks) >= _SHARED}
    return [link for link in group if link.shape not in beside]


def _tells_apart(group: _Group) -> bool:
    """Whether the texts of a group differ from address to address, unlike "Buy tickets" on most of them."""
    labels = {link.address: link.label for link in group}
    return len(labels) < 2 or Counter(labels.values()).most_common(1)[0][1] <= _SHARED * len(labels)


def _is_named(group: _Group) -> bool:
    """Whether the texts are names: they differ, and have more letters than digits, unlike days and hours."""
    text = "".join(link.label for link in group)
    return _tells_apart(group) and sum(map(str.isalpha, text)) > sum(map(str.isdigit, text))


def _rank(group: _Group) -> tuple[bool, bool, int]:
    """Orders texts that differ from block to block before repeated ones, then headings, then by place on the page."""
    titled = sum(link.titled for link in group)
    return not _is_of_one(group), 2 * titled < len(group), group[0].place


def _is_of_one(group: _Group) -> bool:
    """Whether nearly each block has an address of its own, as items have and their genres have not."""
    return _addresses(group) >= _MOST * len(blocks_of(group))


def _shares(group: _Group, found: _Group, held: frozenset[int]) -> bool:
    """Whether a group has an address of its own in each block, and these blocks are those of the other group."""
    known = {link.address for link in found}
    shape = _shape_of(group)
    same_items = 2 * sum(link.address in known for link in group) > len(group)
    if same_items or (shape == _shape_of(found) and not _is_any_page(shape)):
        return False
    # Some blocks may lack what accompanies their item.
    in_same = _share(group, held) >= _SHARED or _addresses(group) > _addresses(found)
    return in_same and _is_of_one(group) and _share(found, blocks_of(group)) >= _SHARED


def _shape_of(group: _Group) -> str:
    return Counter(link.shape for link in group).most_common(1)[0][0]


def _is_any_page(shape: str) -> bool:
    """Whether addresses of a shape lie right below the root."""
    return shape.partition("/")[2].startswith("*")


def _share(group: _Group, blocks: frozenset[int]) -> float:
    """The share of a group's links in one of the blocks."""
    return sum(not blocks.isdisjoint(link.element.chain) for link in group) / len(group)


def _addresses(group: _Group) -> int:
    return len({link.address for link in group})


def _links_in_asides(tree: LexborHTMLParser, phrases: tuple[str, ...]) -> frozenset[int]:
    """Ids of the links below a heading such as "Most read", up to the next heading of its level or above.

    The page's own title names no aside. Linked headings below a plain one of the same level are the aside's entries.
    """
    headings = tree.css(_HEADINGS)
    title = next((node.mem_id for node in headings if node.tag == "h1"), headings[0].mem_id if headings else None)
    found: set[int] = set()
    part: frozenset[int] = frozenset()
    level, is_plain, asides = "", False, 0
    for node in tree.css(f"{_HEADINGS},a[href]"):
        tag = node.tag or ""
        if tag == "a":
            found.update(part & {node.mem_id})
            continue
        linked = node.css_first("a[href]") is not None
        if tag < level or (tag == level and not (linked and is_plain)):
            part = frozenset()
        if asides < _MAX_ASIDES and node.mem_id != title and _names_aside(node, phrases, linked):
            part, level, is_plain, asides = _part_of(node, linked), tag, not linked, asides + 1
    return frozenset(found)


def _names_aside(heading: LexborNode, phrases: tuple[str, ...], linked: bool) -> bool:
    """Whether a heading begins with one of the phrases and ends soon after; an item's linked title must be equal."""
    text = " ".join(heading.text(separator=" ").split()).lower().rstrip(" :.…»›>→")
    if not text or len(text) > _MAX_HEADING:
        return False
    for phrase in filter(text.startswith, phrases):
        rest = text.removeprefix(phrase)
        if not rest:
            return True
        is_short = not linked and len(rest) <= _REST_CHARACTERS and len(rest.split()) < 2
        if is_short and (not rest[0].isalnum() or phrase[-1] >= _HAN):
            return True
    return False


def _part_of(heading: LexborNode, linked: bool) -> frozenset[int]:
    """Ids of the links in the nearest element around a heading that holds more links than it."""
    own = len(heading.css("a[href]"))
    part = heading
    for _ in range(1 if linked else _MAX_CLIMB):
        if part.parent is None or part.tag == "body":
            break
        part = part.parent
        links = part.css("a[href]")
        if len(links) > own:
            return frozenset(link.mem_id for link in links)
    return frozenset()


def _ranked(items: list[ItemLink], query: str, max_details: int, section: ListingSection) -> tuple[ItemLink, ...]:
    """At most ``max_details`` items: those that share most with the query, in page order."""
    units = units_of(query, frozenset(section.stop_words))
    shared = [share_met(units, WordText(item.text)) for item in items]
    order = sorted(range(len(items)), key=lambda place: (-shared[place], place))[:max_details]
    return tuple(
        replace(items[place], because=f"{items[place].because}; shares {shared[place]:.0%} of the query's words")
        if shared[place]
        else items[place]
        for place in sorted(order)
    )
