"""What a page says of itself, and the controls it has: metadata, structured data, forms and media.

In: a parsed page, before anything is taken out of it. Out: a ``PageHead``. Counts of controls are of the whole page,
since search boxes and filters stand in menus as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from handlers.html.links import absolute_url
from handlers.text.patterns import CompiledPatterns

CONTROLS = ("form", "input", "hidden", "checkbox", "password", "select", "button", "h1", "img", "video", "table")
"""What is counted: elements, fields of some types by their type, and all other fields as ``input``."""

_TYPE = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"([A-Za-z]{2,60})"')
_ITEM_TYPES = frozenset((
    "article", "newsarticle", "blogposting", "product", "event", "recipe", "jobposting", "techarticle", "report",
    "scholarlyarticle", "qapage", "discussionforumposting", "course", "book", "movie", "videoobject", "review",
    "reportagenewsarticle", "musicevent",
))  # fmt: skip
_LISTING_TYPES = frozenset(
    ("collectionpage", "itemlist", "searchresultspage", "offercatalog", "blog", "productcollection")
)
_FIELD_TYPES = frozenset(("hidden", "checkbox", "password"))
_AS = {"textarea": "input", "iframe": "video"}
_PUBLISHED = ("published", "pubdate")
_MAX_DECLARED = 200_000
_MAX_TITLE = 500
_MAX_TAG = 40


@dataclass(frozen=True, slots=True)
class PageHead:
    """What a page says of itself. Attributes are named as those of a ``PageShape``."""

    title: str
    declared_item: str
    declared_listing: str
    canonical: str
    og_type: str
    published: bool
    authored: bool
    languages: tuple[str, ...] = ()
    controls: Mapping[str, int] = field(default_factory=dict)


def read_head(tree: LexborHTMLParser, body: LexborNode, patterns: CompiledPatterns) -> PageHead:
    """Reads metadata and structured data, and counts controls; never raises."""
    title = tree.css_first("title")
    canonical = tree.css_first("link[rel=canonical]")
    address = (canonical.attributes.get("href") or "")[:2048] if canonical is not None else ""
    og_type = ""
    published = authored = False
    languages = [tree.root.attributes.get("lang") or ""] if tree.root is not None else []
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").lower()
        if name == "og:type":
            og_type = og_type or (attributes.get("content") or "").strip().lower()
        if name == "og:locale":
            languages.append((attributes.get("content") or "")[:_MAX_TAG])
        published = published or name == "date" or any(word in name for word in _PUBLISHED)
        authored = authored or "author" in name
    item, listing = _declared(tree, body, og_type, patterns)
    return PageHead(
        title=" ".join(title.text().split())[:_MAX_TITLE] if title else "",
        declared_item=item,
        declared_listing=listing,
        canonical=absolute_url("", address) or "",
        og_type=og_type,
        published=published,
        authored=authored,
        languages=tuple(filter(None, languages)),
        controls=_controls(tree),
    )


def _controls(tree: LexborHTMLParser) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for node in tree.css("form,input,textarea,select,button,h1,img,video,iframe,table"):
        name = node.tag or ""
        if name == "input":
            kind = (node.attributes.get("type") or "").lower()
            name = kind if kind in _FIELD_TYPES else name
        counts[_AS.get(name, name)] += 1
    return dict(counts)


def _declared(tree: LexborHTMLParser, body: LexborNode, og_type: str, patterns: CompiledPatterns) -> tuple[str, str]:
    """The single thing, and the listing, that structured data, Open Graph and a content system's classes name."""
    names: list[str] = []
    for node in tree.css('script[type="application/ld+json"]'):
        names.extend(name.lower() for name in _TYPE.findall(node.text()[:_MAX_DECLARED]))
    listing = next((name for name in names if name in _LISTING_TYPES), "")
    counted = [name for name in names if name in _ITEM_TYPES]
    # Several products in the markup are a listing's; one is the page's own.
    short = og_type.split(".")[-1].strip()
    item = f"og:{short}" if short in ("article", "product", "event") else ""
    if not item and len(counted) == 1:
        item = counted[0]
    classes = set((body.attributes.get("class") or "").lower().split()[:60])
    listing = listing or next(iter(sorted(classes & patterns.listing_marks)), "")
    item = item or next(iter(sorted(classes & patterns.item_marks)), "")
    return item, listing
