"""Which link of a listing leads to its next page? The page's links go in, an address or None comes out.

Three signs, the surest first: a link that says so (``rel=next``, "Next", "下一頁"), the number that follows the missing
one in a row of numbers, and a link whose address is this page's with the page number one higher, or with the next item
to begin from. A ``rel=next`` in the head counts only where the page links there too, since single articles carry it as
well. No listing goes on at somebody else's: the next page is on the same registrable domain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic import Field

from handlers.html.links import host_of, registrable_domain
from schemas.rules import Section

_ARROWS = " .…»›>→«‹<←\u00a0"
_DIGITS = re.compile(r"\d{1,6}", re.ASCII)
_LONGEST_TEXT = 40
_ROW = range(2, 16)
"""How many numbers a row of pages has; more are a calendar's."""
_MAX_ROW_DIGITS = 3
_NUMBER = re.compile(r"\d+")
_COUNTS = re.compile(r"[\d()–-]+")
_MONTH = re.compile(r"(?:19|20)\d\d[-/_.]?(?:0\d|1[0-2])(?!\d{3})")


class PagingSection(Section):
    """The ``listing.paging`` section of the configuration; words are compared without case."""

    next_texts: tuple[str, ...] = Field(description="Texts of a link to the next page, without arrows around them.")
    next_arrows: tuple[str, ...] = Field(description="Texts of such a link that are nothing but a sign.")
    next_marks: tuple[str, ...] = Field(description="Words of class names, ids and rel of such a link.")
    parameters: tuple[str, ...] = Field(description="Query parameters that number pages from 1, or from 0.")
    offsets: tuple[str, ...] = Field(description="Query parameters that say how many items come before a page's.")
    folders: tuple[str, ...] = Field(description="Path segments after which a page number stands.")


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link as paging sees it: canonical address, text, and the words of its own class, id and rel."""

    url: str
    canonical: str
    text: str
    marks: frozenset[str]


def next_page(links: Sequence[PageLink], own: str, stated: str | None, section: PagingSection) -> str | None:
    """The address of the next page, or None.

    Args:
        links: The page's links in page order.
        own: The page's canonical address.
        stated: The canonical address of ``<link rel=next>``, if there is one.
        section: Word lists.
    """
    domain = registrable_domain(host_of(own))
    others = [link for link in links if link.canonical != own and registrable_domain(host_of(link.canonical)) == domain]
    texts, arrows, marks = (
        frozenset(section.next_texts),
        frozenset(section.next_arrows),
        frozenset(section.next_marks),
    )
    number = page_number(own, section)
    ahead = [link for link in others if not _goes_back(link, own, number, section)]
    said = (link for link in ahead if _says_next(link, own, texts))
    successor = (link for link in ahead if _succeeds(link.canonical, own, section))
    marked = (link for link in ahead if link.marks & marks and _goes_on(link, own, section))
    confirmed = (link for link in ahead if stated is not None and link.canonical == stated)
    arrow = (link for link in ahead if link.text.strip() in arrows)
    counted = (
        link
        for link in ahead
        if link.text.strip() == str((number or 1) + 1) and page_number(link.canonical, section) is not None
    )
    row = (link for link in (_next_in_row(links, own),) if link is not None and link in ahead)
    offset = (link for link in (_next_by_offset(ahead, own, section),) if link is not None)
    for found in (confirmed, said, row, successor, marked, arrow, counted, offset):
        link = next(found, None)
        if link is not None:
            return link.url
    return None


def page_number(url: str, section: PagingSection) -> int | None:
    """The number of the page that an address names, in its query or its path; None where it names none."""
    parts = urlsplit(url)
    for name, value in parse_qsl(parts.query):
        if name.lower() in section.parameters and _DIGITS.fullmatch(value):
            return int(value)
    tail = _numbered_tail(parts, section)
    return int(tail[1]) if tail else None


def is_numbered(url: str, section: PagingSection) -> bool:
    """Whether an address names a page by its number, or by the items before it."""
    return page_number(url, section) is not None or _offset(url, section)[1] is not None


def _offset(url: str, section: PagingSection) -> tuple[tuple[str, str, frozenset[tuple[str, str]]], int | None]:
    """An address without the number of items before its page's, and that number, where it names one."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query)
    found = [int(value) for name, value in query if name.lower() in section.offsets and _DIGITS.fullmatch(value)]
    rest = frozenset((name, value) for name, value in query if name.lower() not in section.offsets)
    return (parts.netloc.removeprefix("www."), parts.path.rstrip("/"), rest), found[0] if found else None


def _next_by_offset(links: Sequence[PageLink], own: str, section: PagingSection) -> PageLink | None:
    """The link to the page's own address with the least offset above its own."""
    here, before = _offset(own, section)
    above: list[tuple[int, PageLink]] = []
    for link in links:
        there, offset = _offset(link.canonical, section)
        if there == here and offset is not None and offset > (before or 0):
            above.append((offset, link))
    return min(above, key=lambda pair: pair[0])[1] if above else None


def _numbered_tail(parts: SplitResult, section: PagingSection) -> tuple[str, str] | None:
    """The path before its page number, and the number: ``/blog/page/3`` gives ``/blog`` and ``3``."""
    segments = [segment for segment in parts.path.split("/") if segment]
    if len(segments) >= 2 and _DIGITS.fullmatch(segments[-1]) and segments[-2].lower() in section.folders:
        return "/" + "/".join(segments[:-2]), segments[-1]
    if segments:
        for folder in section.folders:
            number = segments[-1].lower().removeprefix(folder).lstrip("-_")
            if number != segments[-1].lower() and _DIGITS.fullmatch(number):
                return "/" + "/".join(segments[:-1]), number
    return None


def _stem(url: str, section: PagingSection) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """An address without its page number: equal for all pages of one listing."""
    parts = urlsplit(url)
    tail = _numbered_tail(parts, section)
    path = (tail[0] if tail else parts.path).rstrip("/")
    query = frozenset((name, value) for name, value in parse_qsl(parts.query) if name.lower() not in section.parameters)
    return parts.netloc.removeprefix("www."), path, query


def _next_in_row(links: Sequence[PageLink], own: str) -> PageLink | None:
    """The link after the page's own place in a row of numbers: after its own link, or the number that is missing.

    This also reads rows whose addresses count otherwise, from 0 or by items: ``?start=20`` under the number 2.
    """
    rows: dict[str, dict[int, PageLink]] = {}
    here: int | None = None
    present: set[int] = set()
    for link in links:
        text = link.text.strip()
        if len(text) > _MAX_ROW_DIGITS or not _DIGITS.fullmatch(text):
            continue
        present.add(int(text))
        if link.canonical == own:
            here = int(text)
        elif _is_beside(link.canonical, own):
            rows.setdefault(_NUMBER.sub("#", link.canonical), {}).setdefault(int(text), link)
    for row in rows.values():
        if len(row) not in _ROW:
            continue
        places = (here,) if here is not None else (number - 1 for number in sorted(row))
        for place in places:
            if place + 1 in row and (place == here or (place not in present and (place == 1 or place - 1 in present))):
                return row[place + 1]
    return None


def _is_beside(url: str, own: str) -> bool:
    """Whether an address lies beside or right below the page's own, and names no month as a calendar's does."""
    there, here = urlsplit(url), urlsplit(own)
    path = here.path.rstrip("/")
    folder = there.path.rstrip("/").rpartition("/")[0]
    same = there.path.rstrip("/") == path or folder in (path, path.rpartition("/")[0])
    return there.netloc == here.netloc and same and not _MONTH.search(url)


def _succeeds(url: str, own: str, section: PagingSection) -> bool:
    """Whether an address is the own one with the page number one higher; an address without number is page 1."""
    number = page_number(url, section)
    if number is None or number != (page_number(own, section) or 1) + 1:
        return False
    return _stem(url, section) == _stem(own, section)


def _goes_back(link: PageLink, own: str, number: int | None, section: PagingSection) -> bool:
    """Whether a link leads to an earlier page of the same listing, whatever it calls itself."""
    there, offset = _offset(link.canonical, section)
    here, before = _offset(own, section)
    if there == here and before is not None and (offset or 0) < before:
        return True
    if number is None or _stem(link.canonical, section) != _stem(own, section):
        return False
    return (page_number(link.canonical, section) or 0) < number


def _goes_on(link: PageLink, own: str, section: PagingSection) -> bool:
    """Whether a link that is marked as the next one shows the same list: "Next article" is marked so as well."""
    if len(link.text) > _LONGEST_TEXT:
        return False
    if not any(character.isalpha() for character in link.text) or is_numbered(link.canonical, section):
        return True
    path, here = urlsplit(link.canonical).path.rstrip("/"), urlsplit(own).path.rstrip("/")
    return path == here or path.startswith(here + "/")


def _says_next(link: PageLink, own: str, texts: frozenset[str]) -> bool:
    """Whether a link's text says "Next", or "Next 20", where the latter also lies beside the page."""
    bare = _bare(link.text)
    if bare in texts or len(bare) > _LONGEST_TEXT:
        return bare in texts
    without = " ".join(_COUNTS.sub(" ", bare).split()).strip(_ARROWS)
    return without != bare and without in texts and _is_beside(link.canonical, own)


def _bare(text: str) -> str:
    return text.lower().strip(_ARROWS)
