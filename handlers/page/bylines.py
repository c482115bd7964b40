"""Who wrote a page: names out of structured data, metadata, markup and the first lines of the text.

An outline goes in; names and whether they were stated as author or shown as a byline come out (R-190, R-191, C-43).
What names a person comes first. The site itself or another organisation is the author only where a page states it as
such and shows nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from handlers.page.marks import Near, stated_marks
from handlers.page.names import NameWords
from handlers.page.outline import Mark, Outline
from handlers.page.reading import PageReadingSection
from handlers.page.structured_data import StructuredData
from handlers.page.tags import A
from handlers.page.walk import short_text

_MAX_NAMES = 20
_MAX_MARKS = 8
_MAX_LINES = 60
_MAX_MARK_CHARACTERS = 200
_MAX_ABOVE = 4
_TEXTS_BELOW_HEADING = 14
_TEXTS_BEFORE = 3


@dataclass(frozen=True, slots=True)
class Credit:
    """Who wrote it.

    Attributes:
        names: In the order given.
        has_author: Stated in metadata or structured data.
        has_byline: Shown on the page.
        seen_in: Where the names were seen.
    """

    names: tuple[str, ...] = ()
    has_author: bool = False
    has_byline: bool = False
    seen_in: str = ""


class BylineWords:
    """The configured words around names, compiled once."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.names = NameWords(reading)
        self.meta = tuple(reading.author_names)
        self.author_path = _path(reading.author_paths)
        self.user_path = _path(reading.user_paths)


def find_credit(outline: Outline, data: StructuredData, near: Near, words: BylineWords, site: str) -> Credit:
    """The author credit of a page.

    Args:
        outline: The page.
        data: Its structured data.
        near: Where its byline is looked for.
        words: The configured names and words.
        site: The site's name.
    """
    own = {_squashed(site), _squashed(data.publisher)}
    stated, stated_in, weak, weak_in = _stated(outline, data, words, own)
    marks = [mark for mark in stated_marks(outline) if not mark.boilerplate]
    shown, shown_in = _shown(outline, marks, near, words, own)
    names, seen_in = (stated, stated_in) if stated else (shown, shown_in) if shown else (weak, weak_in)
    if stated and shown and " " not in "".join(stated) and " " in shown[0]:
        # Accounts have nicknames; the page itself shows whose it is.
        names, seen_in = shown, shown_in
    return Credit(
        names=names[:_MAX_NAMES],
        has_author=bool(stated or weak) or any(mark.name == "itemprop:author" for mark in marks),
        has_byline=bool(shown),
        seen_in=seen_in,
    )


def _stated(
    outline: Outline, data: StructuredData, words: BylineWords, own: set[str]
) -> tuple[tuple[str, ...], str, tuple[str, ...], str]:
    """Names of persons that the page states and where, then what it states as author and is no person."""
    weak: tuple[str, ...] = ()
    weak_in = ""
    for texts, seen_in in (
        (data.authors, "json-ld author"),
        *((outline.meta[name], f"meta {name}") for name in words.meta if name in outline.meta),
    ):
        others = [text for text in texts if _squashed(text) in own or words.names.is_address(text)]
        found = tuple(name for text in texts if text not in others for name in words.names.names(text))
        if found := tuple(name for name in dict.fromkeys(found) if _squashed(name) not in own):
            return found, seen_in, weak, weak_in
        if not weak and (weak := words.names.whole(others)):
            weak_in = seen_in
    if not weak and (weak := words.names.whole(data.organizations)):
        weak_in = "json-ld author"
    return (), "", weak, weak_in


def _shown(
    outline: Outline, stated: list[Mark], near: Near, words: BylineWords, own: set[str]
) -> tuple[tuple[str, ...], str]:
    for text, seen_in in _candidates(outline, stated, near, words):
        if len(text) <= _MAX_MARK_CHARACTERS:
            names = words.names.names(text)
            if names := tuple(name for name in names if _squashed(name) not in own):
                return names, seen_in
    for names in _lines(outline, near, words):
        if names := tuple(name for name in names if _squashed(name) not in own):
            return names, "text"
    return (), ""


def _candidates(outline: Outline, stated: list[Mark], near: Near, words: BylineWords) -> Iterator[tuple[str, str]]:
    """Texts that the markup calls an author, with where they were seen, from what says it most plainly."""
    for kind in ("itemprop:author", "rel:author"):
        for mark in [mark for mark in stated if mark.name == kind][:_MAX_MARKS]:
            yield (mark.value if kind == "itemprop:author" else "") or mark.text, kind
    named = [mark for mark in near.named if mark.name == "hint:byline"]
    yield from ((mark.text, mark.name) for mark in named[:_MAX_MARKS] if not mark.boilerplate)
    yield from ((text, "author's link") for text in _linked(outline, near, words.author_path))


def _linked(outline: Outline, near: Near, path: re.Pattern[str]) -> Iterator[str]:
    """Texts of links to a person's page, from the heading on."""
    for place in near.places:
        start = max(place.start, near.heading - _TEXTS_BEFORE) if near.heading >= 0 else place.start
        for index in range(start, place.stop):
            node = outline.nodes[index].parent
            for _ in range(_MAX_ABOVE):
                if node is None:
                    break
                if node.tag_id == A:
                    if path.search(node.attributes.get("href") or "") and not outline.is_boilerplate(
                        outline.element_of(index)
                    ):
                        yield short_text(node)
                    break
                node = node.parent


def _lines(outline: Outline, near: Near, words: BylineWords) -> Iterator[tuple[str, ...]]:
    for place in near.places:
        for block in outline.blocks(place.start, place.stop)[:_MAX_LINES]:
            below = block.start - near.heading
            if outline.is_boilerplate(block.element) and not (near.heading >= 0 and 0 < below < _TEXTS_BELOW_HEADING):
                continue
            if names := words.names.line_names(block.text):
                yield names


def _path(segments: tuple[str, ...]) -> re.Pattern[str]:
    """Addresses with one of the segments before a last one."""
    return re.compile(rf"[/?](?:{'|'.join(map(re.escape, segments))})[/=][^/?#]{{1,100}}/?(?:[?#]|$)", re.IGNORECASE)


def _squashed(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
