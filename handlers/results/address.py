"""Reads web addresses: words of a listing or of navigation, and identifiers of one thing.

Words are compared whole, in path, host and query, never as parts of other words (C-03); percent-encoded and plain
spellings are read alike (R-043).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from handlers.text.patterns import CompiledPatterns
from handlers.text.words import TERM
from schemas.addresses import web_address

_EXTENSION = re.compile(r"\.(?:s?html?|php\d?|aspx?|jsp|cfm)$")
_DATE_IN_PATH = re.compile(r"/(?:19|20)\d\d[-/_]?(?:0[1-9]|1[0-2])(?:[-/_]?[0-3]\d)?(?=\D)")
_MONTH_AT_END = re.compile(r"/((?:19|20)\d\d[-/_](?:0?[1-9]|1[0-2]))$")
_NAMESPACE = re.compile(r"/([^\W\d_]{2,40}):(?=[^\W_])[^/]*$")
"""``/Category:Jazz``, but not ``/Alien:_Isolation``: a namespace has no blank behind it."""
_PAGE_OR_YEAR = re.compile(r"\d{1,2}|(?:19|20)\d\d", re.ASCII)
_NUMBER = re.compile(r"\d{3,40}", re.ASCII)
_LONG_NUMBER = re.compile(r"\d{5,}")
_CODE = re.compile(r"(?=[a-z]{0,40}\d)[a-z0-9]{8,40}")
_MAX_CHARACTERS = 2048
_SLUG_WORDS = 3
_SURE_DIGITS = 4
_NAME_WORDS = 4


@dataclass(frozen=True, slots=True)
class Address:
    """An address that was read once. Fields of words are "" where the address has none.

    Attributes:
        path: Unquoted, as it is written, with the identifier of the query at its end; "" without a host.
        root: The front page of its site.
        listing: The word that names a listing, or the month at the end of an archive's path.
        parent: What selects from a listing: the segment before the last one, such as ``category`` in
            ``/category/jazz``, or a namespace, such as ``Category`` in ``/Category:Jazz``.
        navigation: The word that names an account, help or home page.
        navigation_share: Its share of the words of its segment, half of that if another segment follows.
        information: The word that names a page about the site, such as contact or returns.
        search: The query holds a search.
        paged: The query numbers a listing's pages.
        identifier: The slug, number or dated path that names one thing.
        name: The words of a short last segment without numbers and facets: ``/running-shoes``.
        words: Words in the last segment, beside file type and language.
        depth: Path segments.
    """

    readable: bool = False
    path: str = ""
    root: bool = False
    listing: str = ""
    parent: str = ""
    navigation: str = ""
    navigation_share: float = 0.0
    information: str = ""
    search: bool = False
    paged: bool = False
    identifier: str = ""
    name: tuple[str, ...] = ()
    words: int = 0
    depth: int = 0


def read_address(url: str, patterns: CompiledPatterns) -> Address:
    """Reads an address; never raises.

    A trailing slug or id cancels a listing word before it (C-02): ``/events`` is a listing, ``/events/jazz-nov-29`` is
    one event. The segment behind a parent such as ``category`` is a selection from a listing, whatever its name. An
    identifier in the query is read as the last segment.
    """
    parts = web_address(url.strip()[:_MAX_CHARACTERS])
    if not parts:
        return Address()
    try:
        query = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return Address()
    facets = patterns.facet_words
    own = unquote(parts.path)
    path = _with_identifier(own, query, patterns)
    segments = _segments(path, facets)
    depth = len(segments)
    if depth == 1 and facets.issuperset(segments[0]):
        segments = []
    parameters = {name.lower() for name, value in query if value.strip()}
    last = segments[-1] if segments else []
    month, namespace = _MONTH_AT_END.search(path.rstrip("/")), _NAMESPACE.search(path)
    listing = month[1] if month else _listing(segments, patterns)
    identifier = "" if listing or not last else _identifier(path.lower(), last) or _number_of(segments, patterns)
    # A log-in page has parameters of its own, such as a session.
    named_by = segments if path == own else _segments(own, facets)
    names_none = identifier if path == own else ""
    navigation, share = _named_page(named_by, names_none, patterns.navigation_words, patterns.stop_words)
    named = [word for word in last if word not in facets]
    name = [word for word in named if not any(map(str.isdigit, word))]
    subdomain = parts.host.partition(".")[0] if parts.host.count(".") > 1 else ""
    return Address(
        readable=True,
        path=path,
        root=not segments and not parameters,
        listing=listing,
        parent=namespace[1] if namespace else _parent(segments, identifier, patterns),
        navigation=navigation or (subdomain if subdomain in patterns.navigation_words else ""),
        navigation_share=max(share, float(subdomain in patterns.navigation_words)),
        information=_named_page(segments, identifier, patterns.information_words, frozenset())[0],
        search=not parameters.isdisjoint(patterns.search_parameters),
        paged=not parameters.isdisjoint(patterns.page_parameters),
        identifier=identifier,
        name=tuple(name) if len(name) <= _NAME_WORDS else (),
        words=len(named),
        depth=depth,
    )


def _listing(segments: list[list[str]], patterns: CompiledPatterns) -> str:
    """The word that makes the end of the path a listing; facets, page numbers and years after it change nothing."""
    for segment in reversed(segments):
        named = [word for word in segment if word in patterns.listing_words]
        others = [word for word in segment if word not in patterns.listing_words and word not in patterns.facet_words]
        is_short = len(segment) <= _SLUG_WORDS and segment[-1] in patterns.listing_words
        if named and (not others or is_short or _is_numbered(segment, patterns)):
            return named[0]
        if not all(map(_PAGE_OR_YEAR.fullmatch, others)):
            return ""
    return ""


def _is_numbered(segment: list[str], patterns: CompiledPatterns) -> bool:
    """A listing word and then its number and page, or its page or year alone: ``forum-12-1``, ``events-2``."""
    first, *numbers = segment
    if first not in patterns.listing_words or not numbers or not all(map(str.isdecimal, numbers)):
        return False
    return bool(_PAGE_OR_YEAR.fullmatch(numbers[-1]))


def _parent(segments: list[list[str]], identifier: str, patterns: CompiledPatterns) -> str:
    """The segment that selects; a slug or id that is not right below it names one thing that was selected."""
    above = segments[-2:-1] if identifier else segments[:-1]
    return next((only[0] for only in reversed(above) if len(only) == 1 and only[0] in patterns.listing_parents), "")


def _named_page(
    segments: list[list[str]], identifier: str, names: frozenset[str], skipped: frozenset[str]
) -> tuple[str, float]:
    """The word that names such a page, and its share, in one of the last two segments; the last alone if it is a slug.

    The share is that of the words that are not ``skipped``.
    """
    for place, segment in enumerate(reversed(segments[-1:] if identifier else segments[-2:]), 1):
        if "-".join(segment) in names:
            return "-".join(segment), 1 / place
        if len(segment) <= _SLUG_WORDS and (named := [word for word in segment if word in names]):
            others = [word for word in segment if word not in names and word not in skipped]
            return named[0], len(named) / (len(named) + len(others)) / place
    return "", 0.0


def _segments(path: str, facets: frozenset[str]) -> list[list[str]]:
    segments = [words for segment in path.lower().split("/") if (words := _words(segment))]
    while len(segments) > 1 and facets.issuperset(segments[0]):
        segments.pop(0)
    return segments


def _words(segment: str) -> list[str]:
    return TERM.findall(_EXTENSION.sub("", segment))


def _with_identifier(path: str, query: list[tuple[str, str]], patterns: CompiledPatterns) -> str:
    """The path with the first parameter that selects or identifies, so that ``/a?id=5582`` is read as ``/a/5582``."""
    skipped = patterns.search_parameters | patterns.page_parameters
    for name, value in query:
        words = _words(value.lower())
        # Many forms name the page that they return to.
        if not words or "/" in value or name.lower() in skipped:
            continue
        if name.lower() in patterns.listing_parents:
            return f"{path.rstrip('/')}/{name}/{value}"
        if _NAMESPACE.search(f"/{value}") or _identifier("", words) or _number_of([["in"], words], patterns):
            return f"{path.rstrip('/')}/{value}"
    return path


def _identifier(path: str, last: list[str]) -> str:
    if dated := _DATE_IN_PATH.search(path):
        return dated.group().strip("/")
    if len(last) >= _SLUG_WORDS and not all(map(str.isdecimal, last)):
        return "-".join(last)
    return next((word for word in last if _LONG_NUMBER.search(word) or _CODE.fullmatch(word)), "")


def _number_of(segments: list[list[str]], patterns: CompiledPatterns) -> str:
    """The number that names one of its kind: of some length right below a name, or of any length before a word.

    So ``/events/501`` and ``/events/12-cats`` are single events; a year or a page number identifies no item.
    """
    if len(segments) < 2:
        return ""
    first, *rest = segments[-1]
    if rest:
        is_named = not any(word in patterns.listing_words or word in patterns.facet_words for word in rest)
        return "-".join([first, *rest]) if first.isdecimal() and is_named and not all(map(str.isdecimal, rest)) else ""
    if not _NUMBER.fullmatch(first) or _PAGE_OR_YEAR.fullmatch(first):
        return ""
    return "" if len(first) < _SURE_DIGITS and segments[-2][-1] in patterns.page_parameters else first
