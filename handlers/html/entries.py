"""What repeats on a page: the posts of a thread with their authors, and the cards of a listing.

Entries are elements of one make in one element, which together hold most of the content. Posts also name a person, and
cards lead to other pages. Sections of an article do neither.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, islice, zip_longest

from selectolax.lexbor import LexborNode

from handlers.html.hints import BYLINE
from handlers.html.nodes import HEADING_NAMES, short_text
from handlers.html.outline import Block, Outline
from handlers.html.template import extents
from schemas.pages import MAX_ENTRIES, ContentEntry, EntryKind

_MOST = 0.5
"""Share of the content that the entries hold together, and of a card's text that is links."""
_NAMED = 0.6
"""Share of the entries that name a person, or lead to another page."""
_LEAST_POSTS, _LEAST_CARDS = 2, 3
_ASKED = 6
"""Entries that are asked for a name; only if these have names, all are asked."""
_MAX_NODES, _MAX_NAME = 80, 60
Span = tuple[int, int]


def find_entries(
    outline: Outline, blocks: Sequence[Block], spans: Sequence[Span], authors: re.Pattern[str]
) -> tuple[ContentEntry, ...]:
    """The posts or the cards that some lines make, in page order; none on a page without them.

    Args:
        outline: The page.
        blocks: The lines of its content.
        spans: Where each is in the content.
        authors: What the addresses of persons' pages have.
    """
    lines = blocks[: len(spans)]
    first, after = extents(outline, lines)
    text = [0, *accumulate(len(line.text) for line in lines)]
    groups: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for element in sorted(first.keys() - {-1}):
        make = outline.regions.makes[element].partition(" ")[0]
        groups[outline.outer[element], outline.tags[element], make].append(element)
    sized = [
        (sum(text[after[element]] - text[first[element]] for element in elements), elements)
        for elements in groups.values()
        if len(elements) >= _LEAST_POSTS
    ]
    for size, elements in sorted(sized, key=lambda pair: pair[0], reverse=True):
        if size < _MOST * text[-1]:
            break
        kind: EntryKind = "post"
        names: list[str] = []
        if _share([_is_card(outline, lines[first[element] : after[element]]) for element in elements]) >= _NAMED:
            kind = "card"
        elif _share(names := [_author(outline, element, authors) for element in elements[:_ASKED]]) >= _NAMED:
            names += [_author(outline, element, authors) for element in elements[_ASKED:MAX_ENTRIES]]
        else:
            continue
        if kind == "card" and len(elements) < _LEAST_CARDS:
            continue
        return tuple(
            ContentEntry(kind=kind, start=spans[first[element]][0], end=spans[after[element] - 1][1])
            | ({"author": name} if name else {})
            for element, name in zip_longest(elements[:MAX_ENTRIES], names)
        )
    return ()


def _share(answers: Sequence[object]) -> float:
    return sum(map(bool, answers)) / len(answers)


def _is_card(outline: Outline, lines: Sequence[Block]) -> bool:
    """Whether lines lead to another page: most of them is a link, or a heading among them is."""
    # A link within the page, as to a post or to a section, leads to no other one.
    leading = [line for line in lines if line.linked and "#" not in (outline.href(line.start) or "")]
    return sum(line.linked for line in leading) >= _MOST * sum(len(line.text) for line in lines) or any(
        line.tag in HEADING_NAMES and 2 * line.linked > len(line.text) for line in leading
    )


def _author(outline: Outline, element: int, authors: re.Pattern[str]) -> str:
    """The person whom an entry states as its author, links to, or names in a byline; "" without one."""
    entry = outline.elements[element]
    stated = entry.css_first("[itemprop~=author]")
    if stated is not None and (name := _name(stated.css_first("[itemprop~=name]") or stated)):
        return name
    bylines: list[LexborNode] = []
    for node in islice(entry.traverse(include_text=False), _MAX_NODES):
        if node.tag == "blockquote":
            break  # whom a post quotes is not its author
        if node.tag == "a" and authors.search(node.attributes.get("href") or "") and (name := _name(node)):
            return name
        if outline.hints.of_node(node) & BYLINE:
            bylines.append(node)
    named = (_name(node) for line in bylines for node in (*line.css("a[href]:not([href*='#'])")[:_ASKED], line))
    return next(filter(None, named), "")


def _name(node: LexborNode) -> str:
    """The text of an element that begins with a letter or a digit, as names do and mentions do not; else ""."""
    text = short_text(node)
    return text if 1 < len(text) <= _MAX_NAME and text[0].isalnum() and any(map(str.isalpha, text)) else ""
