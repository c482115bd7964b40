"""How a page is built: links and their share, repeated blocks, running text, pagination, forms, declared types.

In: HTML. Out: a ``PageShape``. A listing repeats one block with a link in it; an article runs on; navigation has forms
or little of either. Menus, headers and footers are left out, since every page has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from handlers.page.html import parse_page
from handlers.results.patterns import CompiledPatterns

_CHROME = (
    "nav,footer,body>header,aside,dialog,[role=navigation],[role=banner],[role=contentinfo],[role=dialog],[hidden],"
    "[class*=cookie],[id*=cookie],[class*=breadcrumb],[class*=menu],[id*=menu],[class*=footer],[id*=footer]"
)
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "select", "button"]
_TYPE = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"([A-Za-z]{2,60})"')
_PAGED = re.compile(r"[?&](?:page|paged|pg|p|start|offset)=\d|/page/\d")
_ITEM_TAGS = frozenset({"p", "td", "th", "span", "b", "strong", "em", "i", "a", "br", "option", "code", "pre"})
_ITEM_TYPES = frozenset(
    [
        "article",
        "newsarticle",
        "blogposting",
        "product",
        "event",
        "recipe",
        "jobposting",
        "techarticle",
        "report",
        "scholarlyarticle",
        "qapage",
        "discussionforumposting",
        "course",
        "book",
        "movie",
        "videoobject",
        "review",
        "reportagenewsarticle",
        "musicevent",
    ]
)
_LISTING_TYPES = frozenset(
    ["collectionpage", "itemlist", "searchresultspage", "offercatalog", "blog", "productcollection"]
)
_CLIMB = 5
_MIN_ITEMS = 4
_MAX_LINKS = 1500
_MAX_GROUPS = 30
_MAX_HEADINGS = 400
_PARAGRAPH_CHARACTERS = 30
_ITEM_CHARACTERS = 600
_SHORT = 20
_TIMES_READ = 4
_MAIN_TAGS = frozenset(("main", "article"))
_MAX_DECLARED = 200_000


@dataclass(frozen=True, slots=True)
class PageShape:
    """How a page is built; menus, headers and footers are not counted.

    Attributes:
        title: The page's own title.
        text: Visible text, words divided by blanks, as far as it is read.
        text_characters: Length of all of it.
        links: Links with an address.
        link_density: Share of the text that stands in links, in [0, 1].
        items: Blocks in the largest group of alike siblings that each have a link of their own.
        item_share: Share of the text that stands in those blocks.
        item_characters: Mean text of such a block.
        prose_characters: Text in paragraphs outside of links and items.
        longest_prose: The most that stands under one parent.
        paged: Links to further pages of the same listing.
        password_fields: Fields for a password.
        declared_item: The single thing that the page's markup says it shows, "" where it says none.
        declared_listing: The listing that the markup says it is.
        linked_headings: Headings of any level that are links, as those of teasers are.
        plain_headings: Headings below the first level that are none, as those of an article's sections are.
        articles: Elements that call themselves an article.
        code_blocks: Passages of program text, as documentation has them.
    """

    title: str = ""
    text: str = ""
    text_characters: int = 0
    links: int = 0
    link_density: float = 0.0
    items: int = 0
    item_share: float = 0.0
    item_characters: float = 0.0
    prose_characters: int = 0
    longest_prose: int = 0
    paged: bool = False
    password_fields: int = 0
    declared_item: str = ""
    declared_listing: str = ""
    linked_headings: int = 0
    plain_headings: int = 0
    articles: int = 0
    code_blocks: int = 0


def measure_page(html: str, patterns: CompiledPatterns, max_text: int = 20_000) -> PageShape:
    """Measures a page; any text is a page, and none raises. ``max_text`` characters of its text are kept."""
    tree = parse_page(html).tree
    body = tree.body
    if body is None:
        return PageShape()
    title_node = tree.css_first("title")
    title = " ".join(title_node.text().split())[:500] if title_node else ""
    declared_item, declared_listing = _declared(tree.root, body, patterns)
    passwords = len(tree.css("input[type=password]"))
    paged = tree.css_first("link[rel=next],a[rel=next]") is not None
    tree.strip_tags(_UNSEEN)
    _drop_chrome(body)
    text_characters = _length(body)
    links = body.css("a[href]")
    headings = body.css("h2,h3,h4")[:_MAX_HEADINGS]
    linked_headings = sum(_is_linked(heading) for heading in headings)
    group = _largest_group(links[:_MAX_LINKS])
    link_characters = sum(_lengths(links, text_characters))
    item_text = sum(_lengths(group, text_characters))
    prose, longest = _prose(body, group, text_characters)
    paged = paged or any(_PAGED.search(link.attributes.get("href") or "") for link in links)
    return PageShape(
        title=title,
        text=" ".join(body.text(separator=" ").split())[:max_text],
        text_characters=text_characters,
        links=len(links),
        link_density=min(1.0, link_characters / text_characters) if text_characters else 0.0,
        items=len(group),
        item_share=min(1.0, item_text / text_characters) if text_characters else 0.0,
        item_characters=item_text / len(group) if group else 0.0,
        prose_characters=prose,
        longest_prose=longest,
        paged=paged,
        password_fields=passwords,
        declared_item=declared_item,
        declared_listing=declared_listing,
        linked_headings=linked_headings,
        plain_headings=len(headings) - linked_headings,
        articles=len(body.css("article")),
        code_blocks=len(body.css("pre")),
    )


def _drop_chrome(body: LexborNode) -> None:
    """Takes menus, headers and footers out of the tree.

    A page's outer wrapper sometimes calls itself a menu too: what has the main part inside it stays. A node matches
    once for each selector, and is gone with the node around it: so each is looked at once, the inner before the outer.
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


def _length(node: LexborNode) -> int:
    text = node.text()
    return len(text) if len(text) < _SHORT else len(" ".join(text.split()))


def _lengths(nodes: Iterable[LexborNode], page: int) -> Iterator[int]:
    """Text in each node, up to a multiple of the page's: hostile pages put the same text into thousands of nodes."""
    left = _TIMES_READ * page
    for node in nodes:
        length = _length(node)
        left -= length
        if left < 0:
            return
        yield length


def _is_linked(heading: LexborNode) -> bool:
    above = heading.parent
    return heading.css_first("a[href]") is not None or (above is not None and above.tag == "a")


def _declared(root: LexborNode | None, body: LexborNode, patterns: CompiledPatterns) -> tuple[str, str]:
    """What structured data, Open Graph and the content system's own classes call the page."""
    names: list[str] = []
    for node in root.css('meta[property="og:type"],script[type="application/ld+json"]') if root else ():
        if node.tag == "meta":
            names.append("og:" + (node.attributes.get("content") or "").lower().split(".")[-1].strip())
        else:
            names.extend(name.lower() for name in _TYPE.findall(node.text()[:_MAX_DECLARED]))
    listing = next((name for name in names if name in _LISTING_TYPES), "")
    counted = [name for name in names if name in _ITEM_TYPES]
    # Several products in the markup are a listing's; one is the page's own.
    item = next((name for name in names if name in ("og:article", "og:product", "og:event")), "")
    if not item and len(counted) == 1:
        item = counted[0]
    classes = set((body.attributes.get("class") or "").lower().split()[:60])
    listing = listing or next(iter(sorted(classes & patterns.listing_marks)), "")
    item = item or next(iter(sorted(classes & patterns.item_marks)), "")
    return item, listing


def _largest_group(links: Iterable[LexborNode]) -> list[LexborNode]:
    """The alike siblings that hold the most text: from each link up to the first block that has alike siblings."""
    siblings: dict[int, dict[str, int]] = {}
    groups: dict[tuple[int, str], dict[int, LexborNode]] = {}
    climbed: dict[int, tuple[tuple[int, str], LexborNode] | None] = {}
    for link in links:
        place = _item_of(link, siblings, climbed)
        if place is not None:
            key, item = place
            groups.setdefault(key, {})[item.mem_id] = item
    large = sorted((list(items.values()) for items in groups.values() if len(items) >= _MIN_ITEMS), key=len)
    measured = large[-_MAX_GROUPS:]
    return max(measured, key=lambda items: sum(min(_ITEM_CHARACTERS, _length(item)) for item in items), default=[])


def _item_of(
    link: LexborNode,
    siblings: dict[int, dict[str, int]],
    climbed: dict[int, tuple[tuple[int, str], LexborNode] | None],
) -> tuple[tuple[int, str], LexborNode] | None:
    node = link
    passed: list[int] = []
    found: tuple[tuple[int, str], LexborNode] | None = None
    for _ in range(_CLIMB):
        parent = node.parent
        if parent is None or parent.tag == "html":
            break
        if node.mem_id in climbed:
            found = climbed[node.mem_id]
            break
        passed.append(node.mem_id)
        sign = _sign(node)
        if node.tag not in _ITEM_TAGS and _alike(parent, siblings).get(sign, 0) >= _MIN_ITEMS:
            found = ((parent.mem_id, sign), node)
            break
        node = parent
    for identity in passed:
        climbed[identity] = found
    return found


def _alike(parent: LexborNode, siblings: dict[int, dict[str, int]]) -> dict[str, int]:
    counts = siblings.get(parent.mem_id)
    if counts is None:
        counts = {}
        for child in parent.iter():
            sign = _sign(child)
            counts[sign] = counts.get(sign, 0) + 1
        siblings[parent.mem_id] = counts
    return counts


def _sign(node: LexborNode) -> str:
    # Tag and first class: content systems append state and numbers after it.
    classes = (node.attributes.get("class") or "").split(None, 1)
    return f"{node.tag}.{classes[0]}" if classes else (node.tag or "")


def _prose(body: LexborNode, group: list[LexborNode], page: int) -> tuple[int, int]:
    """Characters of running text outside of items and links: in all, and the most under one parent."""
    inside = {node.mem_id for item in group for node in item.css("p")}
    paragraphs = [node for node in body.css("p") if node.mem_id not in inside]
    by_parent: dict[int, int] = {}
    for paragraph, length in zip(paragraphs, _lengths(paragraphs, page), strict=False):
        if length < _PARAGRAPH_CHARACTERS or paragraph.parent is None:
            continue
        unlinked = length - sum(_lengths(paragraph.css("a"), length))
        if unlinked >= _PARAGRAPH_CHARACTERS:
            by_parent[paragraph.parent.mem_id] = by_parent.get(paragraph.parent.mem_id, 0) + unlinked
    return sum(by_parent.values()), max(by_parent.values(), default=0)
