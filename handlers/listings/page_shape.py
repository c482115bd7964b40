"""How a page is built: links and their share, repeated blocks, running text, pagination, forms, declared types.

In: HTML. Out: a ``PageShape``. A listing repeats one block with a link in it; an article runs on; navigation has forms
or little of either. Menus, headers and footers are left out, since every page has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from handlers.html.encoding import PageBytes, page_bytes, parse_bytes
from handlers.listings.page_groups import largest_group
from handlers.listings.page_head import read_head
from handlers.listings.page_links import LinkShape, Signs, measure_links
from handlers.text.patterns import CompiledPatterns, split_words

_CHROME = (
    "nav,footer,body>header,aside,dialog,[role=navigation],[role=banner],[role=contentinfo],[role=dialog],[hidden],"
    "[class*=cookie],[id*=cookie],[class*=breadcrumb],[class*=menu],[id*=menu],[class*=footer],[id*=footer]"
)
_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "select", "button"]
_PAGED = re.compile(r"[?&](?:page|paged|pg|p|start|offset)=\d|/page/\d")
_MAX_LINKS = 300
_MAX_HEADINGS = 400
_MAX_PARAGRAPHS = 600
_ITEM_DEPTH = 12
_PARAGRAPH_CHARACTERS = 30
_FULL_PARAGRAPH = 80
_SHORT = 20
_TIMES_READ = 4
_MAIN_TAGS = frozenset(("main", "article"))


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
        canonical: The page's address as it gives it itself, "" where it does not.
        languages: Its language and locale as it declares them.
        heading_words: Words of its first heading of the first level.
        paragraphs: Paragraphs of some length.
        longest_paragraph: Characters of the longest one.
        paragraph_characters: Characters of all of them.
        html_bytes: Size of the page.
        all_links: Links, those of menus too.
        controls: How many there are of forms, fields and media, by their names in ``page_head.CONTROLS``.
        og_type: What Open Graph calls it.
        published: Whether its metadata has a day of publication.
        authored: Whether its metadata has an author.
        leads: Where its links lead, and how alike they stand.
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
    canonical: str = ""
    languages: tuple[str, ...] = ()
    heading_words: int = 0
    paragraphs: int = 0
    longest_paragraph: int = 0
    paragraph_characters: int = 0
    html_bytes: int = 0
    all_links: int = 0
    controls: Mapping[str, int] = field(default_factory=dict)
    og_type: str = ""
    published: bool = False
    authored: bool = False
    leads: LinkShape = field(default_factory=LinkShape)


def measure_page(html: str | bytes, patterns: CompiledPatterns, own: str = "", max_text: int = 20_000) -> PageShape:
    """Measures a page; any text is a page, and none raises.

    Args:
        html: The page, as text or as UTF-8.
        patterns: Classes that content systems put on listings and on single items.
        own: Its address; "" where it is not known, then the one that it gives itself counts.
        max_text: Characters of its text that are kept.
    """
    given = page_bytes(html) if isinstance(html, str) else PageBytes(html, "utf-8")
    tree = parse_bytes(given).tree
    body = tree.body
    if body is None:
        return PageShape()
    head = read_head(tree, body, patterns)
    paged = tree.css_first("link[rel=next],a[rel=next]") is not None
    all_links = len(tree.css("a[href]"))
    tree.strip_tags(_UNSEEN)
    _drop_chrome(body)
    text = " ".join(body.text(separator=" ").split())
    text_characters = len(text)
    links = body.css("a[href]")
    hrefs = [link.attributes.get("href") or "" for link in links]
    headings = body.css("h2,h3,h4")[:_MAX_HEADINGS]
    linked_headings = sum(_is_linked(heading) for heading in headings)
    first_heading = body.css_first("h1")
    signs = Signs()
    group = largest_group(links[:_MAX_LINKS], signs, _length)
    labels = list(_texts(links, text_characters))
    item_text = sum(_lengths(group, text_characters))
    prose = _prose(body, group, text_characters)
    return PageShape(
        title=head.title,
        text=text[:max_text],
        text_characters=text_characters,
        links=len(links),
        link_density=min(1.0, sum(map(len, labels)) / text_characters) if text_characters else 0.0,
        items=len(group),
        item_share=min(1.0, item_text / text_characters) if text_characters else 0.0,
        item_characters=item_text / len(group) if group else 0.0,
        prose_characters=prose.characters,
        longest_prose=prose.longest,
        paged=paged or any(_PAGED.search(href) for href in hrefs if "?" in href or "/page/" in href),
        password_fields=head.controls.get("password", 0),
        declared_item=head.declared_item,
        declared_listing=head.declared_listing,
        linked_headings=linked_headings,
        plain_headings=len(headings) - linked_headings,
        articles=len(body.css("article")),
        code_blocks=len(body.css("pre")),
        canonical=head.canonical,
        languages=head.languages,
        heading_words=len(split_words(first_heading.text()[:_MAX_HEADINGS])) if first_heading is not None else 0,
        paragraphs=prose.paragraphs,
        longest_paragraph=prose.longest_paragraph,
        paragraph_characters=prose.paragraph_characters,
        html_bytes=len(given.utf8),
        all_links=all_links,
        controls=head.controls,
        og_type=head.og_type,
        published=head.published,
        authored=head.authored,
        leads=measure_links(links[:_MAX_LINKS], hrefs, labels, own or head.canonical, signs),
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
    """Characters in each node, as far as ``_texts`` reads."""
    return map(len, _texts(nodes, page))


def _texts(nodes: Iterable[LexborNode], page: int) -> Iterator[str]:
    """Text of each node, up to a multiple of the page's: hostile pages put the same text into thousands of nodes."""
    left = _TIMES_READ * page
    for node in nodes:
        text = node.text()
        text = " ".join(text.split()) if len(text) >= _SHORT else text.strip()
        left -= len(text)
        if left < 0:
            return
        yield text


def _is_linked(heading: LexborNode) -> bool:
    above = heading.parent
    return heading.css_first("a[href]") is not None or (above is not None and above.tag == "a")


@dataclass(frozen=True, slots=True)
class _Prose:
    """Running text outside of items and links: in all, and the most under one parent; and all full paragraphs."""

    characters: int
    longest: int
    paragraphs: int
    longest_paragraph: int
    paragraph_characters: int


def _prose(body: LexborNode, group: list[LexborNode], page: int) -> _Prose:
    items = {item.mem_id for item in group}
    by_parent: dict[int, int] = {}
    full: list[int] = []
    paragraphs = body.css("p")[:_MAX_PARAGRAPHS]
    for paragraph, length in zip(paragraphs, _lengths(paragraphs, page), strict=False):
        if length >= _FULL_PARAGRAPH:
            full.append(length)
        if length < _PARAGRAPH_CHARACTERS or (parent := paragraph.parent) is None or _is_inside(paragraph, items):
            continue
        unlinked = length - sum(_lengths(paragraph.css("a"), length))
        if unlinked >= _PARAGRAPH_CHARACTERS:
            by_parent[parent.mem_id] = by_parent.get(parent.mem_id, 0) + unlinked
    return _Prose(
        sum(by_parent.values()), max(by_parent.values(), default=0), len(full), max(full, default=0), sum(full)
    )


def _is_inside(node: LexborNode, items: set[int]) -> bool:
    above: LexborNode | None = node
    for _ in range(_ITEM_DEPTH):
        if above is None or not items:
            return False
        if above.mem_id in items:
            return True
        above = above.parent
    return False
