"""Who wrote a page: names out of structured data, metadata, markup and the first lines of the text.

An outline goes in; names and whether they were stated as author or shown as a byline come out (R-190, R-191, C-43).
What names a person comes first. The site itself or another organisation is the author only where a page states it as
such and shows nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from handlers.html.marks import Near, stated_marks
from handlers.html.names import NameWords
from handlers.html.others import Others
from handlers.html.outline import A, Mark, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData
from handlers.html.walk import short_text

_SURNAME_FIRST = re.compile(r"^([^\W\d_][\w'’-]{1,40}), ([^\W\d_][\w.'’ -]{0,40})$")
_PARTS = re.compile(r"[/,;|·\n]")
_MAX_NAMES = 20
_MAX_MARKS = 8
_MAX_LINES = 60
_MAX_MARK_CHARACTERS = 200
_MAX_ABOVE = 4
_TEXTS_BEFORE = 3
_TEXTS_TO_MEMBER = 5
_MIN_OWN = 4
_MAX_OWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Credit:
    """Who wrote it.

    Attributes:
        names: In the order given.
        has_author: Whether an author or an agency is stated in metadata or structured data.
        has_byline: Whether one is shown on the page.
        seen_in: Where the names were seen.
        agencies: News agencies that are credited; they are not in ``names``.
    """

    names: tuple[str, ...] = ()
    has_author: bool = False
    has_byline: bool = False
    seen_in: str = ""
    agencies: tuple[str, ...] = ()


class BylineWords:
    """The configured words around names, compiled once."""

    def __init__(self, reading: PageReadingSection, months: Collection[str]) -> None:
        self.names = NameWords(reading, months)
        self.meta = tuple(reading.author_names)
        self._surname_first = frozenset(reading.surname_first_names)
        self.publishers = tuple(reading.publisher_names)
        self.labels = frozenset(reading.byline_words)
        self.agencies = frozenset(name.casefold() for name in reading.wire_services)
        self.author_path = _path(reading.author_paths)
        self.user_path = _path(reading.user_paths)

    def in_order(self, meta_name: str, texts: list[str]) -> list[str]:
        """Names with the surname last, where a bibliographic entry puts it first: "Lovelace, Ada"."""
        if meta_name not in self._surname_first:
            return texts
        return [_SURNAME_FIRST.sub(r"\2 \1", " ".join(text[:_MAX_MARK_CHARACTERS].split())) for text in texts]


def find_credit(
    outline: Outline,
    data: StructuredData,
    near: Near,
    others: Others,
    words: BylineWords,
    site: str,
    host: str = "",
) -> Credit:
    """The author credit of a page.

    Args:
        outline: The page.
        data: Its structured data.
        near: Where its byline is looked for.
        others: Parts that are not the author's.
        words: The configured names and words.
        site: The site's name.
        host: The site's host name.
    """
    said = [host, *(text[:_MAX_OWN_CHARACTERS] for name in words.publishers for text in outline.meta.get(name, ())[:2])]
    own = _Own(words, frozenset(map(_squashed, (site, data.publisher))), " ".join(map(_squashed, said)), [])
    stated = _best(_stated(outline, data, words, own))
    has_stated = bool(stated.names or own.agencies)
    signed = len(own.agencies)
    marks = [mark for mark in stated_marks(outline, others.holds_node) if not mark.boilerplate]
    shown = _best(_shown(outline, marks, near, others, words, own), patient=False)
    best = stated if stated.rank >= shown.rank else shown
    return Credit(
        names=best.names[:_MAX_NAMES],
        has_author=has_stated or any(mark.name == "itemprop:author" for mark in marks),
        has_byline=bool(shown.names) or len(own.agencies) > signed,
        seen_in=best.seen_in,
        agencies=tuple(dict.fromkeys(own.agencies))[:_MAX_NAMES],
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """Names, where they were seen, and whether they can be a person's."""

    names: tuple[str, ...] = ()
    seen_in: str = ""
    is_person: bool = False

    @property
    def rank(self) -> int:
        """A person in full goes before the nickname of an account, that before an organisation."""
        if not self.names:
            return 0
        if not self.is_person:
            return 1
        return 3 if " " in "".join(self.names) or not self.names[0].isascii() else 2


@dataclass(frozen=True, slots=True)
class _Own:
    """What is the site's own name, or another organisation's; agencies are put aside as they are met."""

    words: BylineWords
    names: frozenset[str]
    host: str
    agencies: list[str]

    def is_person(self, name: str) -> bool:
        """Whether a name can be a person's."""
        squashed = _squashed(name)
        if squashed in self.names or (len(squashed) >= _MIN_OWN and squashed in self.host):
            return False
        return not self.words.names.is_organization(name)

    def named(self, text: str, seen_in: str) -> Iterator[_Named]:
        """What a text names, persons and others apart."""
        words = self.words.names
        self.authors(tuple(part.strip() for part in _PARTS.split(text[:_MAX_MARK_CHARACTERS])))
        if words.is_address(text) or not self.is_person(text):
            yield _Named(self.authors(words.whole((text,))), seen_in)
            return
        names = self.authors(words.names(text))
        persons = tuple(name for name in names if self.is_person(name))
        yield _Named(persons, seen_in, is_person=True) if persons else _Named(names, seen_in)

    def authors(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names without those of news agencies, which are credits and no persons."""
        agencies = [name for name in names if name.casefold() in self.words.agencies]
        self.agencies.extend(agencies)
        return tuple(name for name in names if name not in agencies)


def _best(found: Iterator[_Named], *, patient: bool = True) -> _Named:
    """The first of the highest rank; the impatient take the first person, in full or not."""
    best = _Named()
    for named in found:
        if named.rank > best.rank:
            best = named
            if best.rank == 3 or (best.rank == 2 and not patient):
                break
    return best


def _stated(outline: Outline, data: StructuredData, words: BylineWords, own: _Own) -> Iterator[_Named]:
    for texts, seen_in in (
        (data.authors, "json-ld author"),
        *((words.in_order(name, outline.meta[name]), f"meta {name}") for name in words.meta if name in outline.meta),
        *_labelled(outline, words),
    ):
        named = [found for text in texts[:_MAX_NAMES] for found in own.named(text, seen_in)]
        persons = [name for found in named if found.is_person for name in found.names]
        if persons:
            yield _Named(tuple(dict.fromkeys(persons)), seen_in, is_person=True)
        yield from named
    yield _Named(own.authors(words.names.whole(data.organizations)), "json-ld author")


def _labelled(outline: Outline, words: BylineWords) -> Iterator[tuple[list[str], str]]:
    """What cards for social networks show under "Written by"."""
    for number in "12":
        label = outline.meta.get(f"twitter:label{number}", ())
        if label and label[0].casefold() in words.labels and (names := outline.meta.get(f"twitter:data{number}")):
            yield names, f"meta twitter:data{number}"


def _shown(
    outline: Outline, stated: list[Mark], near: Near, others: Others, words: BylineWords, own: _Own
) -> Iterator[_Named]:
    for text, seen_in in _candidates(outline, stated, near, others, words):
        if len(text) <= _MAX_MARK_CHARACTERS:
            yield from own.named(text, seen_in)
    for line in _lines(outline, near, others, words):
        names = own.authors(line)
        persons = tuple(name for name in names if own.is_person(name))
        yield _Named(persons or names, "text", is_person=bool(persons))
    for text in _linked(outline, near, others, words.user_path, max(near.first, near.heading) + _TEXTS_TO_MEMBER):
        yield from own.named(text, "member's link")


def _candidates(
    outline: Outline, stated: list[Mark], near: Near, others: Others, words: BylineWords
) -> Iterator[tuple[str, str]]:
    """Texts that the markup calls an author, with where they were seen, from what says it most plainly."""
    for kind in ("itemprop:author", "rel:author"):
        for mark in [mark for mark in stated if mark.name == kind][:_MAX_MARKS]:
            yield (mark.value if kind == "itemprop:author" else "") or mark.text, kind
    named = [mark for mark in near.named if mark.name == "hint:byline" and not others.holds(mark.place, mark.index)]
    yield from ((mark.text, mark.name) for mark in named[:_MAX_MARKS] if not mark.boilerplate)
    yield from ((text, "author's link") for text in _linked(outline, near, others, words.author_path))


def _linked(
    outline: Outline, near: Near, others: Others, path: re.Pattern[str], end: int | None = None
) -> Iterator[str]:
    """Texts of links to a person's page, from the heading on, before the text ``end``."""
    for place in near.places:
        start = min(max(place.start, near.heading), place.stop)
        stop = place.stop if end is None else max(start, min(place.stop, end))
        for index in (*range(start, stop), *range(max(place.start, start - _TEXTS_BEFORE), start)):
            node = outline.nodes[index].parent if outline.links[index] else None
            for _ in range(_MAX_ABOVE):
                if node is None:
                    break
                if node.tag_id == A:
                    element = outline.element_of(index)
                    hidden = others.holds(element, index) or (
                        outline.is_boilerplate(element) and not near.is_head(index)
                    )
                    if not hidden and path.search(node.attributes.get("href") or ""):
                        yield short_text(node)
                    break
                node = node.parent


def _lines(outline: Outline, near: Near, others: Others, words: BylineWords) -> Iterator[tuple[str, ...]]:
    for place in near.places:
        for block in outline.blocks(place.start, place.stop)[:_MAX_LINES]:
            if outline.is_boilerplate(block.element) and not near.is_head(block.start):
                continue
            if others.holds(block.element, block.start):
                continue
            if names := words.names.line_names(block.text):
                yield names


def _path(segments: tuple[str, ...]) -> re.Pattern[str]:
    """Addresses with one of the segments before a last one."""
    return re.compile(rf"[/?](?:{'|'.join(map(re.escape, segments))})[/=][^/?#]{{1,100}}/?(?:[?#]|$)", re.IGNORECASE)


def _squashed(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
