"""What a web address says of its page: a listing, navigation, or one thing with an identifier of its own.

In: an address as text, also a malformed one. Out: the words that speak for each. Words are compared whole, in path,
host and query, never as parts of other words (C-03); percent-encoded and plain spellings are read alike (R-043).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from handlers.text.patterns import CompiledPatterns

_WORD = re.compile(r"[^\W_]+")
_EXTENSION = re.compile(r"\.(?:s?html?|php\d?|aspx?|jsp|cfm)$")
_DATE_IN_PATH = re.compile(r"/(?:19|20)\d\d[-/_]?(?:0[1-9]|1[0-2])(?:[-/_]?[0-3]\d)?(?=\D|$)")
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
    """What an address says.

    Attributes:
        readable: Whether it has a host at all.
        root: It is the front page of its site.
        listing: The word that names a listing, "" where none does.
        parent: The segment whose next one selects from a listing, such as ``category`` in ``/category/jazz``.
        navigation: The word that names an account, help or home page.
        information: The word that names a page about the site, such as contact or returns.
        search: The query holds a search.
        paged: The query numbers a listing's pages.
        identifier: The slug, number or dated path that names one thing, "" where there is none.
        name: The words of a short last segment without numbers and facets: ``/running-shoes``.
        words: Words in the last segment, beside file type and language.
        depth: Path segments.
    """

    readable: bool = False
    root: bool = False
    listing: str = ""
    parent: str = ""
    navigation: str = ""
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
    one event. What follows a parent such as ``category`` is a selection from a listing, whatever it is called.
    """
    try:
        parts = urlsplit(url.strip()[:_MAX_CHARACTERS])
        host = (parts.hostname or "").rstrip(".")
        query = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return Address()
    if not host:
        return Address()
    path = unquote(parts.path).lower()
    segments = [words for segment in path.split("/") if (words := _words(_EXTENSION.sub("", segment)))]
    while segments and all(word in patterns.facet_words for word in segments[0]) and len(segments) > 1:
        segments.pop(0)
    names = {name.lower() for name, value in query if value.strip()}
    common = {
        "readable": True,
        "search": bool(names & patterns.search_parameters),
        "paged": bool(names & patterns.page_parameters),
        "depth": len(segments),
    }
    if not segments or (len(segments) == 1 and all(word in patterns.facet_words for word in segments[0])):
        return Address(
            root=not names,
            navigation=_subdomain_navigation(host, patterns),
            **common,  # type: ignore[arg-type]
        )
    last = segments[-1]
    listing = _listing(segments, patterns)
    identifier = "" if listing else _identifier(path, last) or _number_of(segments, patterns)
    return Address(
        listing=listing,
        parent=_parent(segments, identifier, patterns),
        navigation=_named_page(segments, identifier, patterns.navigation_words)
        or _subdomain_navigation(host, patterns),
        information=_named_page(segments, identifier, patterns.information_words),
        identifier=identifier,
        name=_name(last, patterns),
        words=len([word for word in last if word not in patterns.facet_words]),
        **common,  # type: ignore[arg-type]
    )


def _words(segment: str) -> list[str]:
    return _WORD.findall(segment)


def _listing(segments: list[list[str]], patterns: CompiledPatterns) -> str:
    """The word that makes the end of the path a listing; facets, page numbers and years after it change nothing."""
    for segment in reversed(segments):
        named = [word for word in segment if word in patterns.listing_words]
        others = [word for word in segment if word not in patterns.listing_words and word not in patterns.facet_words]
        if named and (not others or (len(segment) <= _SLUG_WORDS and segment[-1] in patterns.listing_words)):
            return named[0]
        if named and _is_numbered(segment, patterns):
            return named[0]
        if not all(_PAGE_OR_YEAR.fullmatch(word) for word in others):
            return ""
    return ""


def _parent(segments: list[list[str]], identifier: str, patterns: CompiledPatterns) -> str:
    """The segment that selects; a slug or id that is not right below it names one thing that was selected."""
    above = segments[-2:-1] if identifier else segments[:-1]
    return next((only[0] for only in reversed(above) if len(only) == 1 and only[0] in patterns.listing_parents), "")


def _named_page(segments: list[list[str]], identifier: str, names: frozenset[str]) -> str:
    """The word that names such a page, in one of the last two segments; in the last alone if it is a slug or id."""
    for segment in reversed(segments[-1:] if identifier else segments[-2:]):
        if "-".join(segment) in names:
            return "-".join(segment)
        if len(segment) <= _SLUG_WORDS and (named := [word for word in segment if word in names]):
            return named[0]
    return ""


def _subdomain_navigation(host: str, patterns: CompiledPatterns) -> str:
    first = host.split(".")[0]
    return first if first in patterns.navigation_words and host.count(".") > 1 else ""


def _name(last: list[str], patterns: CompiledPatterns) -> tuple[str, ...]:
    named = [word for word in last if not any(map(str.isdigit, word)) and word not in patterns.facet_words]
    return tuple(named) if len(named) <= _NAME_WORDS else ()


def _identifier(path: str, last: list[str]) -> str:
    if dated := _DATE_IN_PATH.search(path):
        return dated.group().strip("/")
    if len(last) >= _SLUG_WORDS:
        return "-".join(last)
    return next((word for word in last if _LONG_NUMBER.search(word) or _CODE.fullmatch(word)), "")


def _number_of(segments: list[list[str]], patterns: CompiledPatterns) -> str:
    """The number that names one of its kind: of some length right below a name, or of any length before a word.

    So ``/events/501`` and ``/events/12-cats`` are single events; a year and a page are none.
    """
    if len(segments) < 2:
        return ""
    last = segments[-1]
    if len(last) > 1:
        first, *rest = last
        is_named = not any(word in patterns.listing_words or word in patterns.facet_words for word in rest)
        return "-".join(last) if first.isdecimal() and is_named and not all(map(str.isdecimal, rest)) else ""
    if not (found := _NUMBER.fullmatch(last[0])):
        return ""
    is_page = len(found.group()) < _SURE_DIGITS and segments[-2][-1] in patterns.page_parameters
    return "" if is_page or _PAGE_OR_YEAR.fullmatch(found.group()) else found.group()


def _is_numbered(segment: list[str], patterns: CompiledPatterns) -> bool:
    """A listing word and then its number and page, or its page or year alone: ``forum-12-1``, ``events-2``."""
    first, *numbers = segment
    if first not in patterns.listing_words or not numbers or not all(map(str.isdecimal, numbers)):
        return False
    return bool(_PAGE_OR_YEAR.fullmatch(numbers[-1]))
