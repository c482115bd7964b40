"""The links of a page, grouped by the elements around them, and the repeated block that holds each link.

The items of a listing are links whose surrounding elements have the same tags and class names. The same groups tell a
listing from an article (``page_shape``) and give the items to follow (``listing``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from selectolax.lexbor import LexborHTMLParser, LexborNode

_MAKE_DEPTH = 6
_MAX_DEPTH = 60
_ITEM_DEPTH = 4
_FAR = 100
_PAGE_HEADERS = 3
_WRAPPER_SHARE = 0.6
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MENUS = frozenset(("nav", "footer", "aside", "menu"))
_ITEMS = frozenset(("li", "article", "tr", "dt", "dd"))
_PROSE = frozenset(("p", "blockquote"))
_CONTAINERS = frozenset(("article", "li", "main", "section", "td", "dd"))
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HAS_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Element:
    """An element with what surrounds it.

    Attributes:
        make: Tags and class names of the element and of the nearest ones around it.
        chain: The element and those around it, from the inside out.
        in_menu: In navigation, a page header or footer, or in an element with such a class name.
        in_heading: Is a heading or inside one.
        to_item: Elements up to one that is made or named for an item; 100 from within running text.
        contained: In an article, a list item or a section: a header there is not the page's.
    """

    make: tuple[str, ...] = ()
    chain: tuple[int, ...] = ()
    in_menu: bool = False
    in_heading: bool = False
    to_item: int = _FAR
    contained: bool = False

    @property
    def in_item(self) -> bool:
        """Whether it is close to an item's element."""
        return self.to_item <= _ITEM_DEPTH


_OUTSIDE = Element()


@dataclass(slots=True, eq=False)
class Link:
    """A link of a page.

    Attributes:
        address: Links with the same address are one. It is canonical where a page's links are followed.
        element: The link's own element.
        label: The longest text by which the page links its address.
        url: Its absolute address.
        text: Its text.
        marks: Words of its class names, id and ``rel``.
        shape: Its address without what differs from item to item.
        place: Its place among the page's links.
        in_menu: In a menu, or one that leads along a row of pages.
        in_heading: In a heading, or with one inside.
        titled: In a heading, or with the class name of an item's title.
    """

    address: str
    element: Element = _OUTSIDE
    label: str = ""
    url: str = ""
    text: str = ""
    marks: frozenset[str] = frozenset()
    shape: str = ""
    place: int = 0
    in_menu: bool = False
    in_heading: bool = False
    titled: bool = False


def by_make(links: Iterable[Link]) -> list[list[Link]]:
    """Groups links by their make."""
    groups: dict[tuple[str, ...], list[Link]] = defaultdict(list)
    for link in links:
        groups[link.element.make].append(link)
    return list(groups.values())


def blocks_of(group: Sequence[Link]) -> frozenset[int]:
    """For each link the largest element around it that holds no second address of the group."""
    holds: dict[int, str | None] = {}
    for link in group:
        for element in link.element.chain:
            if holds.setdefault(element, link.address) != link.address:
                holds[element] = None
    found: set[int] = set()
    for link in group:
        block = link.element.chain[0]
        for element in takewhile(holds.__getitem__, link.element.chain):
            block = element
        found.add(block)
    return frozenset(found)


class Elements:
    """The elements of a page. Each one is read once."""

    def __init__(self) -> None:
        self.nodes: dict[int, LexborNode] = {}
        self._known: dict[int, Element] = {}

    def of(self, node: LexborNode) -> Element:
        """The element of a node."""
        unknown: list[LexborNode] = []
        outer: LexborNode | None = node
        while outer is not None and outer.tag not in ("body", "html") and outer.mem_id not in self._known:
            unknown.append(outer)
            outer = outer.parent
        element = self._known.get(outer.mem_id, _OUTSIDE) if outer is not None else _OUTSIDE
        for inner in reversed(unknown):
            self.nodes[inner.mem_id] = inner
            element = self._known[inner.mem_id] = self._inside(inner, element)
        return element

    def _inside(self, node: LexborNode, around: Element) -> Element:
        classes = (node.attributes.get("class") or "")[:500]
        # Class names with digits are states, sizes and hashes: they differ between blocks of one make.
        kept = sorted(name for name in classes.split() if not _HAS_DIGIT.search(name))[:3]
        return Element(
            make=(f"{node.tag}.{' '.join(kept)}", *around.make)[:_MAKE_DEPTH],
            chain=(node.mem_id, *around.chain)[:_MAX_DEPTH],
        )


class NamedElements(Elements):
    """The elements of a page, with menus and items as tags and class names tell them.

    An element with the name of a menu that holds the page's content ("page-with-sidebar") is not a menu.
    """

    def __init__(
        self, tree: LexborHTMLParser, links: Sequence[LexborNode], menu_words: Iterable[str], item_words: Iterable[str]
    ) -> None:
        """Looks at the page as a whole: ``links`` are those that will be asked for, words are of class names."""
        super().__init__()
        self._menu_words, self._item_words = frozenset(menu_words), frozenset(item_words)
        self._wrappers = _wrappers(tree, links)
        self._has_page_header = len(tree.css("header")) <= _PAGE_HEADERS

    def _inside(self, node: LexborNode, around: Element) -> Element:
        element, tag, attributes = super()._inside(node, around), node.tag or "", node.attributes
        words = name_words(" ".join((attributes.get(name) or "")[:500] for name in ("class", "id", "role")))
        named_menu = not self._menu_words.isdisjoint(words) and node.mem_id not in self._wrappers
        page_header = tag == "header" and self._has_page_header and not around.contained
        is_item = tag in _ITEMS or not self._item_words.isdisjoint(words)
        return Element(
            element.make,
            element.chain,
            in_menu=around.in_menu or tag in _MENUS or named_menu or page_header,
            in_heading=around.in_heading or tag in _HEADINGS,
            to_item=_FAR if tag in _PROSE else 0 if is_item else around.to_item + 1,
            contained=around.contained or tag in _CONTAINERS,
        )


def name_words(names: str) -> frozenset[str]:
    """The words of class names and ids, lower-case: ``site-navBar`` gives ``site``, ``nav`` and ``bar``."""
    return frozenset(word.lower() for word in _NAME_WORD.findall(names[:1000]))


def _wrappers(tree: LexborHTMLParser, links: Sequence[LexborNode]) -> frozenset[int]:
    """Elements that hold the page's content, whatever they are called."""
    elements = Elements()
    content = tree.css_first("main,[role=main]")
    around = elements.of(content).chain if content is not None else ()
    chains = [elements.of(link).chain for link in links]
    if content is not None:
        chains = [chain for chain in chains if content.mem_id in chain]
    held = Counter(element for chain in chains for element in chain)
    return frozenset(around) | {element for element, count in held.items() if count > _WRAPPER_SHARE * len(chains)}
