"""The authors of a page: of all the names on it those that trees score above a threshold (R-190, R-191, C-43).

Candidates are the names in structured data, metadata, microdata, ``rel=author``, elements with the class name of a
byline, links to persons and lines that begin as a credit does. The trees (``tools.training.authors``) ask where each
name is credited, how often, and how near to the heading; and whether other names are credited better.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress

from handlers.html.hints import OTHERS
from handlers.html.layout import Layout
from handlers.html.names import NameWords
from handlers.html.nodes import short_text
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData, letters_of
from handlers.text.patterns import DetailPatterns
from handlers.text.scripts import has_cjk
from handlers.text.words import alternatives

KINDS = ("json-ld", "meta", "twitter", "itemprop", "rel", "class", "link", "line")
"""Of credits, the most reliable first."""
_STATED = frozenset(("json-ld", "meta", "twitter", "itemprop"))
_LOOSE = frozenset(("class", "link", "line"))
_KIND_OF = {"itemprop:author": "itemprop", "rel:author": "rel", "hint:byline": "class"}
_MAX_NAMES, _MAX_MARKS, _MAX_CANDIDATES, _MAX_CHARACTERS = 20, 24, 40, 200
_BEFORE_END, _AFTER_END = 6, 10
"""Texts before and after the end of the content whose lines may be credits."""
_MAX_LINE = 80
"""Characters of such a line."""
_MORE_WORDS = 2
"""Words by which one form of a name may be longer than another."""
_MIN_OWN = 4
_MOST, _NOT_SHOWN = 3, 400.0
_LIKELY = -0.6
"""Log-odds from which on a name is believed."""
_FELLOWS = 2.0  # taken from the log-odds of the likeliest name of a list for the others
_ORGANIZATION = "json-ld organisation"
_MAX_HOME = 200
"""Texts of a page among which links to its site's first page are."""
_HOME = re.compile(r"^https?://(?:www\.)?|/$")
_PARTS = re.compile(r"[/,;|·\n]")


@dataclass(frozen=True, slots=True)
class Credit:
    """The authors of a page.

    Attributes:
        names: In the order given, without agencies.
        has_author: Whether metadata or structured data state an author or an agency.
        has_byline: Whether the page shows one.
        seen_in: Where the names were seen.
        agencies: News agencies that are credited.
    """

    names: tuple[str, ...] = ()
    has_author: bool = False
    has_byline: bool = False
    seen_in: str = ""
    agencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreditedPage:
    """A page before its authors are looked for: its content as text, and the names of its site."""

    layout: Layout
    data: StructuredData
    text: str
    site: str
    host: str


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the page that credits one or more names.

    Attributes:
        kind: One of ``KINDS``.
        index: The text that shows it; -1 for none.
        element: The block element around it; -1 for none.
    """

    kind: str
    seen_in: str
    texts: Sequence[str]
    index: int = -1
    element: int = -1


@dataclass(slots=True)
class Candidate:
    """One of the names of a page.

    Attributes:
        credits: The places that credit it, each with its number among those of the page, and the name's order there.
    """

    name: str
    credits: list[tuple[Place, int, int]] = field(default_factory=list)

    @property
    def is_stated(self) -> bool:
        """Whether metadata or structured data name it."""
        return any(place.kind in _STATED for place, _, _ in self.credits)

    @property
    def is_shown(self) -> bool:
        """Whether the page shows it."""
        return any(place.index >= 0 for place, _, _ in self.credits)


class BylineWords:
    """The configured words around names, compiled once."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        self.names = NameWords(reading, patterns)
        self.meta = tuple(reading.author_names)
        self.publishers = tuple(reading.publisher_names)
        self.agencies = frozenset(name.casefold() for name in reading.wire_services)
        self.path = _path((*reading.author_paths, *reading.byline_hints, *reading.user_paths))
        self.forest = reading.author_trees.forest


def find_credit(page: CreditedPage, words: BylineWords) -> Credit:
    """The likely authors of a page, in the order given, and its agencies."""
    found = candidates(page, words)
    rows = measured(found, page, words)
    return choose(found, rows, [words.forest.scores(row)[0] for row in rows])


def choose(found: list[Candidate], rows: list[dict[str, float]], scores: list[float]) -> Credit:
    """The names above the threshold, in the order of the credit with most of them; organisations without persons."""
    agencies = [one for one, row in zip(found, rows, strict=True) if row["agency"]]
    # Those whom one list states are authors together.
    lists = [{number for place, number, _ in one.credits if place.kind in _STATED} for one in found]
    best_of: dict[int, float] = {}
    for numbers, score in zip(lists, scores, strict=True):
        best_of |= {number: max(score, best_of.get(number, score)) for number in numbers}
    scores = [
        max([score, *(best_of[number] - _FELLOWS for number in numbers)])
        for numbers, score in zip(lists, scores, strict=True)
    ]
    # An organisation that the page states as its author counts, though it is not named beside persons.
    stated = [one for one, row in zip(found, rows, strict=True) if one.is_stated and not row["person"]]
    scored = zip(found, rows, scores, strict=True)
    rated = [(one, row["person"] > 0) for one, row, score in scored if score >= _LIKELY and not row["agency"]]
    likely = [one for one, is_person in rated if is_person] or [one for one, _ in rated]
    shares = Counter(number for one in likely for number in {number for _, number, _ in one.credits})
    best = max(shares, key=lambda number: (shares[number], -number), default=-1)
    orders = {one.name: order for one in likely for _, number, order in one.credits if number == best}
    likely.sort(key=lambda one: orders.get(one.name, _MAX_NAMES))
    seen = (place.seen_in for one in likely for place, number, _ in one.credits if number == best)
    return Credit(
        names=tuple(one.name for one in likely)[:_MAX_NAMES],
        has_author=bool(stated) or any(one.is_stated for one in likely),
        has_byline=any(one.is_shown for one in (*likely, *agencies)),
        seen_in=next(seen, ""),
        agencies=tuple(one.name for one in agencies)[:_MAX_NAMES],
    )


def candidates(page: CreditedPage, words: BylineWords) -> list[Candidate]:
    """The names of a page, the stated ones first. Two forms of a name are one candidate."""
    found: dict[str, Candidate] = {}
    is_credited = any(mark.name == "hint:byline" and mark.index <= page.layout.first for mark in page.layout.named)
    for number, place in enumerate(_places(page, words)):
        if is_credited and place.kind == "class" and place.index > page.layout.first:
            continue  # the next post of a thread
        names = _names(place, words)
        if not names or (place.index >= 0 and _is_others(place, page.layout)):
            continue
        for order, name in enumerate(names):
            key = letters_of(name)
            one = found.get(key) or _same(found.values(), name)
            if one is None and len(found) < _MAX_CANDIDATES:
                one = Candidate(name)
            if one is not None:
                found[key] = one
                one.credits.append((place, number, order))
    return list({one.name: one for one in found.values()}.values())


def _is_others(place: Place, layout: Layout) -> bool:
    """Whether a place is in what others wrote, in a teaser of another story, or in boilerplate outside of the head."""
    if layout.said(place.index, place.element) & OTHERS:
        return True
    is_hidden = place.element >= 0 and layout.outline.regions.hidden[place.element] and not layout.is_head(place.index)
    return place.kind in _LOOSE and (is_hidden or layout.is_teased(place.index))


def _names(place: Place, words: BylineWords) -> dict[str, None]:
    """The names that a place credits, each once."""
    found: list[str] = []
    for text in place.texts:
        head = text[:_MAX_CHARACTERS]
        found += (part for part in map(str.strip, _PARTS.split(head)) if part.casefold() in words.agencies)
        if place.kind in ("line", "twitter"):
            found += words.names.line_names(head)
        else:
            found += words.names.names(head) or (
                words.names.whole((head,)) if place.kind in ("json-ld", "meta") else ()
            )
    return dict.fromkeys(found)


def _same(found: Iterable[Candidate], name: str) -> Candidate | None:
    """The candidate that is another form of a name: with a title, a middle name or a degree."""
    words = set(name.casefold().split())
    for one in found:
        fewer, more = sorted((words, set(one.name.casefold().split())), key=len)
        if len(fewer) > 1 and fewer <= more and len(more) - len(fewer) <= _MORE_WORDS:
            return one
    return None


def _places(page: CreditedPage, words: BylineWords) -> Iterator[Place]:
    layout, data, outline = page.layout, page.data, page.layout.outline
    meta = outline.meta
    yield Place("json-ld", "json-ld author", data.authors)
    yield Place("json-ld", _ORGANIZATION, data.organizations)
    for name in words.meta:
        if name in meta:
            yield Place("meta", f"meta {name}", meta[name][:_MAX_NAMES])
    for number in (1, 2, 3):
        if f"twitter:label{number}" in meta:
            card = ": ".join(text for name in ("label", "data") for text in meta.get(f"twitter:{name}{number}", ())[:1])
            yield Place("twitter", "twitter label", [card])
    marks = [mark for mark in (*layout.stated, *layout.named) if mark.name in _KIND_OF][:_MAX_MARKS]
    for mark in marks:
        text = (mark.value if mark.name == "itemprop:author" else "") or mark.text
        if text and len(text) <= _MAX_CHARACTERS and not (mark.name == "rel:author" and _is_site(text, page)):
            yield Place(_KIND_OF[mark.name], mark.name, [text], mark.index, mark.element)
    for index, text in outline.asides:
        if layout.is_near(index) and len(text) < _MAX_CHARACTERS:
            yield Place("line", "aside", [text], index)
    for near in layout.near:
        for index in near:
            link = outline.link(index) if outline.links[index] else None
            if link is not None and words.path.search(link.attributes.get("href") or ""):
                yield Place("link", "author's link", [short_text(link)], index, outline.element_of(index))
    for near in (*layout.near, range(layout.end - _BEFORE_END, layout.end + _AFTER_END)):
        for block in outline.blocks(near.start, near.stop):
            # A heading such as "Interview: Ada Lovelace" is not a credit, nor is a sentence of the text.
            if block.start != layout.heading and (layout.is_near(block.start) or len(block.text) <= _MAX_LINE):
                yield Place("line", "text", [block.text], block.start, block.element)


def measured(found: list[Candidate], page: CreditedPage, words: BylineWords) -> list[dict[str, float]]:
    """What the trees ask about each candidate: its credits, the nearest place, its form, and better ones."""
    outline = page.layout.outline
    publishers = (text[:_MAX_CHARACTERS] for name in words.publishers for text in outline.meta.get(name, ())[:2])
    home = (letters_of(outline.texts[at]) for at in compress(range(_MAX_HOME), outline.links) if _is_home(page, at))
    own = {letters_of(page.site), letters_of(page.data.publisher), *home}
    own_texts = " ".join(map(letters_of, (page.host, *publishers)))
    rows: list[dict[str, float]] = []
    for one in found:
        squashed = letters_of(one.name)
        is_own = squashed in own or (len(squashed) >= _MIN_OWN and squashed in own_texts)
        # A name in ideographs has no blanks.
        count = len(one.name.split()) + has_cjk(one.name)
        is_stated = any(place.seen_in == _ORGANIZATION for place, _, _ in one.credits)
        is_person = count > 1 and not (is_own or is_stated or words.names.is_organization(one.name))
        counted = Counter(place.kind for place, _, _ in one.credits)
        places = {(place.index, place.element) for place, _, _ in one.credits if place.index >= 0}
        nearest = min((page.layout.measures(*place) for place in places), key=lambda row: row["away"], default=None)
        rows.append(
            {kind: float(min(number, _MOST)) for kind, number in counted.items()}
            | (nearest or {"away": _NOT_SHOWN})
            | {
                "kinds": float(len(counted)),
                "kind": float(min(map(KINDS.index, counted))),
                "in text": float(min(page.text.count(one.name), _MOST**2)),
                "words": float(count),
                "own": float(is_own),
                "person": float(is_person),
                "agency": float(one.name.casefold() in words.agencies),
            }
        )
    persons = [row for row in rows if row["person"]]
    best = min((row["kind"] for row in persons), default=float(len(KINDS)))
    most = max((row["kinds"] for row in persons), default=0.0)
    for row in rows:
        row |= {
            "rank": row["kind"] - best,
            "fewer kinds": most - row["kinds"],
            "nearer": float(sum(other["away"] < row["away"] for other in persons)),
            "page best": best,
            "page persons": float(min(len(persons), _MOST)),
        }
    return rows


def _is_site(text: str, page: CreditedPage) -> bool:
    return bool(page.site) and letters_of(text) == letters_of(page.site)


def _is_home(page: CreditedPage, index: int) -> bool:
    """Whether a text is in a link to the site's first page, such as its logo."""
    address = page.layout.outline.href(index)
    return address is not None and (address == "/" or _HOME.sub("", address) == page.host.removeprefix("www."))


def _path(segments: tuple[str, ...]) -> re.Pattern[str]:
    """Addresses with one of the segments before a last one."""
    end = r"[/=][^/?#]{1,100}/?(?:[?#]|$)|\.\w{2,4}\?[^/#]{1,100}$|;\w{1,3}=\d{1,12}$"
    return re.compile(rf"(?:^|[/?=])(?:{alternatives(segments)})(?:{end})", re.IGNORECASE)
