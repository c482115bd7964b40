"""The repeated blocks of a page: what a listing is made of, whatever its classes are called.

In: the links outside of menus. Out: the alike siblings that hold the most text, each with a link of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from selectolax.lexbor import LexborNode

from handlers.listings.page_links import Signs

_ITEM_TAGS = frozenset({"p", "td", "th", "span", "b", "strong", "em", "i", "a", "br", "option", "code", "pre"})
_CLIMB = 5
_MIN_ITEMS = 4
_MAX_GROUPS = 30
_ITEM_CHARACTERS = 600

_Place = tuple[tuple[int, str], LexborNode]


def largest_group(links: Iterable[LexborNode], signs: Signs, length: Callable[[LexborNode], int]) -> list[LexborNode]:
    """The alike siblings that hold the most text: from each link up to the first block that has alike siblings.

    Args:
        links: Links outside of menus.
        signs: Signs of elements; siblings of one sign are alike.
        length: Characters of an element's text.
    """
    siblings: dict[int, dict[str, int]] = {}
    groups: dict[tuple[int, str], dict[int, LexborNode]] = {}
    climbed: dict[int, _Place | None] = {}
    for link in links:
        place = _item_of(link, siblings, climbed, signs)
        if place is not None:
            key, item = place
            groups.setdefault(key, {})[item.mem_id] = item
    large = sorted((list(items.values()) for items in groups.values() if len(items) >= _MIN_ITEMS), key=len)
    measured = large[-_MAX_GROUPS:]
    if len(measured) < 2:
        return measured[0] if measured else []
    return max(measured, key=lambda items: sum(min(_ITEM_CHARACTERS, length(item)) for item in items))


def _item_of(
    link: LexborNode, siblings: dict[int, dict[str, int]], climbed: dict[int, _Place | None], signs: Signs
) -> _Place | None:
    node = link
    passed: list[int] = []
    found: _Place | None = None
    for _ in range(_CLIMB):
        parent = node.parent
        if parent is None or parent.tag == "html":
            break
        identity = node.mem_id
        if identity in climbed:
            found = climbed[identity]
            break
        passed.append(identity)
        if node.tag not in _ITEM_TAGS:
            sign = signs.of(node)
            if _alike(parent, siblings, signs).get(sign, 0) >= _MIN_ITEMS:
                found = ((parent.mem_id, sign), node)
                break
        node = parent
    for identity in passed:
        climbed[identity] = found
    return found


def _alike(parent: LexborNode, siblings: dict[int, dict[str, int]], signs: Signs) -> dict[str, int]:
    identity = parent.mem_id
    counts = siblings.get(identity)
    if counts is None:
        counts = siblings[identity] = {}
        for child in parent.iter():
            sign = signs.of(child)
            counts[sign] = counts.get(sign, 0) + 1
    return counts
