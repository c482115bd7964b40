"""Which link of a block leads to its item? Groups of like links go in; the group that names the items comes out.

An event's block links the event, its venue and its tickets; a product's block links its brand. Which of them is the
item is not told by the length of its text: it stands in the block's heading, or first. A block is known by the links
themselves: it is the largest element that holds no second address of its group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol, TypeVar

_MOST = 0.9
_MANY = 0.6
_REGULAR = 0.8
_FEW = 3
_MAX_STRANDS = 12
"""Shapes in one make that are compared with each other; a page of many more has no blocks of one layout."""


class BlockLink(Protocol):
    """A link as it stands in its block."""

    @property
    def canonical(self) -> str:
        """Its canonical address."""

    @property
    def shape(self) -> str:
        """Its address without what differs from item to item."""

    @property
    def label(self) -> str:
        """The longest text by which the page links this address."""

    @property
    def chain(self) -> tuple[int, ...]:
        """The link's own element and those around it, from the inside out."""

    @property
    def place(self) -> int:
        """Which link of the page it is."""

    @property
    def titled(self) -> bool:
        """Whether it stands in a heading, or is named as a title."""


L = TypeVar("L", bound=BlockLink)


def leading(found: Sequence[L], groups: Sequence[Sequence[L]]) -> Sequence[L]:
    """The group of links by which the blocks of a group are known: in their headings, or first in each.

    Args:
        found: A group whose blocks are those of the items, whether or not its links are the items'.
        groups: All groups of the page, ``found`` among them.
    """
    held = _blocks(found)
    candidates = [group for group in groups if group is not found and _is_named(group)]
    beside = [group for group in candidates if _shares_blocks(group, found, held)]
    return min((found, *beside), key=_rank) if _is_named(found) else min(beside or (found,), key=_rank)


def one_a_block(group: Sequence[L], least: int) -> list[L]:
    """Leaves out links that stand beside others of the same make in every block, such as a product's brand.

    So it does with links of one shape that all say the same ("Cached", "0 comments") among others that do not.

    Args:
        group: Links of one make, in page order.
        least: How many addresses make a group.
    """
    by_shape: dict[str, list[L]] = defaultdict(list)
    for link in group:
        by_shape[link.shape].append(link)
    echoes = {shape for shape, strand in by_shape.items() if _addresses(strand) >= _FEW and not tells_apart(strand)}
    others = [link for link in group if link.shape not in echoes]
    if echoes and _addresses(others) * _FEW >= _addresses(group) and tells_apart(others):
        return one_a_block(others, least)
    strands = sorted(by_shape.values(), key=len, reverse=True)[:_MAX_STRANDS]
    full = [strand for strand in strands if _addresses(strand) >= least]
    if not full:
        return list(group)
    chief = leading(max(full, key=_addresses), full)
    blocks = _blocks(chief)
    beside = {s[0].shape for s in strands if s is not chief and len(s) >= least and _stand_in(s, chief, blocks)}
    return [link for link in group if link.shape not in beside]


def tells_apart(group: Sequence[BlockLink]) -> bool:
    """Whether the texts of a group tell its addresses apart, which "Buy tickets" on most of them doesn't."""
    labels = {link.canonical: link.label for link in group}
    return len(labels) < 2 or Counter(labels.values()).most_common(1)[0][1] <= _MANY * len(labels)


def _is_named(group: Sequence[BlockLink]) -> bool:
    """Whether the texts are names: they tell apart, and have more letters than digits, unlike days and hours."""
    letters = sum(character.isalpha() for link in group for character in link.label)
    digits = sum(character.isdigit() for link in group for character in link.label)
    return tells_apart(group) and letters > digits


def _rank(group: Sequence[BlockLink]) -> tuple[bool, bool, int]:
    """What differs from block to block before what is repeated, then headings, then what comes first on the page."""
    return not _is_of_one(group, _blocks(group)), sum(link.titled for link in group) * 2 < len(group), group[0].place


def _is_of_one(group: Sequence[BlockLink], blocks: frozenset[int]) -> bool:
    """Whether nearly each block has an address of its own, as items have and their genres have not."""
    return _addresses(group) >= _MOST * len(blocks)


def _shares_blocks(group: Sequence[BlockLink], found: Sequence[BlockLink], held: frozenset[int]) -> bool:
    """Whether the blocks of one group, each with an address of its own, are those of the other; some may lack it."""
    blocks = _blocks(group)
    if not _is_of_one(group, blocks) or _is_same_kind(group, found):
        return False
    if _share(found, blocks) < _MANY:
        return _shape(group) != _shape(found) and _alternate(group, found)
    if _share(group, held) >= _MANY:
        return True
    met = {element for link in found for element in link.chain if element in blocks}
    return _addresses(group) > _addresses(found) and len(met) >= _MANY * _addresses(found)


def _is_same_kind(group: Sequence[BlockLink], found: Sequence[BlockLink]) -> bool:
    """Whether two groups link the same items, or items of one kind in blocks that look a little different."""
    known = {link.canonical for link in found}
    shared = sum(link.canonical in known for link in group)
    shape = _shape(group)
    return 2 * shared > len(group) or (shape == _shape(found) and not shape.partition("/")[2].startswith("*"))


def _shape(group: Sequence[BlockLink]) -> str:
    """The shape that most links of a group have."""
    return Counter(link.shape for link in group).most_common(1)[0][0]


def _stand_in(strand: Sequence[BlockLink], chief: Sequence[BlockLink], blocks: frozenset[int]) -> bool:
    """Whether a strand stands in the chief's blocks, and the chief in the strand's, unless that is one address only."""
    if _share(strand, blocks) < _MANY:
        return False
    return _addresses(strand) == 1 or _share(chief, _blocks(strand)) >= _MANY


def _alternate(group: Sequence[BlockLink], other: Sequence[BlockLink]) -> bool:
    """Whether the links of two groups take turns, as they do where no element holds a block: a title, a paragraph."""
    turns = sorted([(link.place, True) for link in group] + [(link.place, False) for link in other])
    of_group = [mine for n, (_, mine) in enumerate(turns) if n == 0 or turns[n - 1][1] is not mine]
    mine, theirs = sum(of_group), len(of_group) - sum(of_group)
    return min(mine, theirs) >= 2 and mine >= _REGULAR * _addresses(group) and theirs >= _REGULAR * _addresses(other)


def _blocks(group: Sequence[BlockLink]) -> frozenset[int]:
    """For each link the largest element around it that holds no second address of the group."""
    holds: dict[int, str | None] = {}
    for link in group:
        for element in link.chain:
            if holds.setdefault(element, link.canonical) != link.canonical:
                holds[element] = None
    found: set[int] = set()
    for link in group:
        block = link.chain[0]
        for element in link.chain:
            if holds[element] is None:
                break
            block = element
        found.add(block)
    return frozenset(found)


def _share(group: Sequence[BlockLink], blocks: frozenset[int]) -> float:
    """The share of a group's links that stand in one of the blocks."""
    return sum(not blocks.isdisjoint(link.chain) for link in group) / len(group)


def _addresses(group: Sequence[BlockLink]) -> int:
    return len({link.canonical for link in group})
