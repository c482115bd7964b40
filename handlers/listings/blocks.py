"""Where on a page does a link stand? In a menu, in a heading, in an item's block, and in a block of what make.

Tags say it where pages use them (nav, header, footer, aside); class names and ids say it elsewhere, unless the element
that is called so holds the page's content as well ("page-with-sidebar").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode

_MAKE_DEPTH = 5
_MAX_DEPTH = 60
_ITEM_DEPTH = 4
_PAGE_HEADERS = 3
_WRAPPER_SHARE = 0.6
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MENUS = frozenset(("nav", "footer", "aside", "menu"))
_ITEMS = frozenset(("li", "article", "tr", "dt", "dd"))
_PROSE = frozenset(("p", "blockquote"))
_CONTAINERS = frozenset(("article", "li", "main", "section", "td", "dd"))
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HAS_DIGIT = re.compile(r"\d")


class _Words(Protocol):
    @property
    def menu_classes(self) -> tuple[str, ...]: ...

    @property
    def item_classes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a link.

    Attributes:
        make: Tags and class names of the nearest ancestors; links of one make stand in blocks of the same kind.
        in_menu: In navigation, a page header or footer, or anything called so.
        in_heading: Inside a heading, or around one.
        in_item: In an element that is made or named for an item, and not in its running text.
    """

    make: str
    in_menu: bool
    in_heading: bool
    in_item: bool


@dataclass(frozen=True, slots=True)
class _Element:
    """An ancestor, looked at once."""

    tag: str
    part: str
    named_menu: bool
    named_item: bool


class Blocks:
    """A page's elements as surroundings of its links; each element is looked at once."""

    def __init__(self, tree: LexborHTMLParser, links: Sequence[LexborNode], words: _Words) -> None:
        """Looks at the page as a whole.

        Args:
            tree: The page.
            links: The links that will be asked for.
            words: Class names of menus and of items.
        """
        self._menu_words = frozenset(words.menu_classes)
        self._item_words = frozenset(words.item_classes)
        self._elements: dict[int, _Element] = {}
        self._wrappers = _wrappers(tree, links)
        self._many_headers = len(tree.css("header")) > _PAGE_HEADERS

    def around(self, link: LexborNode) -> Around:
        """What surrounds one of the page's links."""
        make: list[str] = []
        in_menu = in_item = in_prose = in_page_header = contained = False
        in_heading = link.css_first("h1, h2, h3, h4, h5, h6") is not None
        node: LexborNode | None = link
        for depth in range(_MAX_DEPTH):
            if node is None or node.tag in ("body", "html", None):
                break
            element = self._element(node)
            if depth <= _MAKE_DEPTH:
                make.append(element.part)
            in_heading = in_heading or element.tag in _HEADINGS
            in_prose = in_prose or element.tag in _PROSE
            is_item = element.named_item or element.tag in _ITEMS
            in_item = in_item or (is_item and depth <= _ITEM_DEPTH and not in_prose)
            contained = contained or (in_page_header and element.tag in _CONTAINERS)
            in_page_header = in_page_header or (element.tag == "header" and not self._many_headers)
            if element.tag in _MENUS or (element.named_menu and node.mem_id not in self._wrappers):
                in_menu = True
                break
            node = node.parent
        return Around(" < ".join(make), in_menu or (in_page_header and not contained), in_heading, in_item)

    def _element(self, node: LexborNode) -> _Element:
        known = self._elements.get(node.mem_id)
        if known is None:
            attributes = node.attributes
            classes = (attributes.get("class") or "")[:500]
            words = name_words(f"{classes} {attributes.get('id') or ''} {attributes.get('role') or ''}")
            # Class names with digits are states, sizes and hashes: they differ between blocks of one make.
            kept = sorted(name for name in classes.split() if not _HAS_DIGIT.search(name))[:3]
            known = _Element(
                node.tag or "",
                f"{node.tag}.{' '.join(kept)}",
                not self._menu_words.isdisjoint(words),
                not self._item_words.isdisjoint(words),
            )
            self._elements[node.mem_id] = known
        return known


def name_words(names: str) -> frozenset[str]:
    """The words of class names and ids, lower-case: ``site-navBar`` gives ``site``, ``nav`` and ``bar``."""
    return frozenset(word.lower() for word in _NAME_WORD.findall(names[:1000]))


def _wrappers(tree: LexborHTMLParser, links: Sequence[LexborNode]) -> frozenset[int]:
    """Elements that hold the page's content, whatever they are called."""
    content = tree.css_first("main") or tree.css_first("[role=main]")
    around = frozenset(_ancestors(content)) if content is not None else frozenset()
    chains = [_ancestors(link) for link in links]
    if content is not None:
        chains = [chain for chain in chains if content.mem_id in chain]
    held = Counter(element for chain in chains for element in chain)
    return around | {element for element, count in held.items() if count > _WRAPPER_SHARE * len(chains)}


def _ancestors(node: LexborNode) -> list[int]:
    found: list[int] = []
    current: LexborNode | None = node
    while current is not None and len(found) < _MAX_DEPTH:
        found.append(current.mem_id)
        current = current.parent
    return found
