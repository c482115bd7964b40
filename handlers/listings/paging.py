"""The link to a listing's next page.

The signs, the surest first: a link that says so (``rel=next``, "Next", "下一頁"), the number after the missing one in a
row of numbers, and an address that is the page's own with the page number one higher or with the next offset. A
``rel=next`` in the head counts only where the page links there too, since single articles have it as well. The next
page is on the same registrable domain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from pydantic import Field

from handlers.html.links import host_of, registrable_domain
from handlers.listings.blocks import Link
from handlers.text.patterns import WordList
from schemas.addresses import web_address
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

    next_texts: WordList = Field(description="Texts of a link to the next page, without arrows around them.")
    next_arrows: WordList = Field(description="Texts of such a link that are nothing but a sign.")
    next_marks: WordList = Field(description="Words of class names, ids and rel of such a link.")
    parameters: WordList = Field(description="Query parameters that number pages from 1, or from 0.")
    offsets: WordList = Field(description="Query parameters that say how many items come before a page's.")
    folders: WordList = Field(description="Path segments right before a page number.")


@dataclass(frozen=True, slots=True)
class Position:
    """An address as a page of a listing: the parts that all its pages share, and its page number or offset."""

    stem: tuple[str, str, frozenset[tuple[str, str]]]
    page: int | None
    offset: int | None

    @property
    def is_numbered(self) -> bool:
        """Whether the address has a page number, or the number of items before the page."""
        return self.page is not None or self.offset is not None


def next_page(links: Sequence[Link], own: str, stated: str | None, section: PagingSection) -> str | None:
    """The address of the next page, from the links of the page with the canonical address ``own``.

    ``stated`` is the canonical address of ``<link rel=next>``, if there is one.
    """
    domain, here = registrable_domain(host_of(own)), position_of(own, section)
    positions = {
        link: position_of(link.address, section)
        for link in links
        if link.address != own and registrable_domain(host_of(link.address)) == domain
    }
    ahead = [link for link, there in positions.items() if not _is_before(there, here)]
    in_row, following = _next_in_row(links, own), str((here.page or 1) + 1)
    signs: tuple[Callable[[Link], bool], ...] = (
        lambda link: link.address == stated,
        lambda link: _says_next(link, own, section.next_texts),
        lambda link: link is in_row,
        lambda link: positions[link].stem == here.stem and positions[link].page == (here.page or 1) + 1,
        lambda link: not link.marks.isdisjoint(section.next_marks) and _goes_on(link, own, section),
        lambda link: link.text.strip() in section.next_arrows,
        lambda link: link.text.strip() == following and positions[link].page is not None,
    )
    for sign in signs:
        if found := next(filter(sign, ahead), None):
            return found.url
    later = [
        (there.offset or 0, link.url)
        for link, there in positions.items()
        if there.stem == here.stem and (there.offset or 0) > (here.offset or 0)
    ]
    return min(later)[1] if later else None


def position_of(url: str, section: PagingSection) -> Position:
    """The page number and offset of an address, in its query or its path, and the parts that all pages share."""
    parts = web_address(url)
    numbers: dict[str, int] = {}
    rest: set[tuple[str, str]] = set()
    for name, value in parse_qsl(parts.query):
        kind = "page" if name.lower() in section.parameters else "offset" if name.lower() in section.offsets else ""
        if kind and _DIGITS.fullmatch(value):
            numbers.setdefault(kind, int(value))
        elif not kind:
            rest.add((name, value))
    segments = [segment for segment in parts.path.split("/") if segment]
    kept, number = _without_number(segments, section.folders)
    stem = (parts.authority.removeprefix("www."), "/".join(kept), frozenset(rest))
    return Position(stem, numbers.get("page", number), numbers.get("offset"))


def _without_number(segments: list[str], folders: Sequence[str]) -> tuple[list[str], int | None]:
    """The path before its page number, and the number: ``/blog/page/3`` gives ``/blog`` and 3."""
    last = segments[-1].lower() if segments else ""
    if len(segments) > 1 and _DIGITS.fullmatch(last) and segments[-2].lower() in folders:
        return segments[:-2], int(last)
    for folder in folders:
        number = last.removeprefix(folder).lstrip("-_")
        if number != last and _DIGITS.fullmatch(number):
            return segments[:-1], int(number)
    return segments, None


def _is_before(there: Position, here: Position) -> bool:
    """Whether an address is an earlier page of the same listing."""
    if there.stem != here.stem:
        return False
    return (there.page or 0) < (here.page or 0) or (there.offset or 0) < (here.offset or 0)


def _next_in_row(links: Sequence[Link], own: str) -> Link | None:
    """The link after the page's own place in a row of numbers: after its own link, or after the number that is missing.

    This also reads rows whose addresses count otherwise, from 0 or by items: ``?start=20`` under the number 2.
    """
    rows: dict[str, dict[int, Link]] = {}
    here: int | None = None
    present: set[int] = set()
    for link in links:
        text = link.text.strip()
        if len(text) > _MAX_ROW_DIGITS or not _DIGITS.fullmatch(text):
            continue
        present.add(int(text))
        if link.address == own:
            here = int(text)
        elif _is_beside(link.address, own):
            rows.setdefault(_NUMBER.sub("#", link.address), {}).setdefault(int(text), link)
    for row in rows.values():
        missing = (number - 1 for number in sorted(row) if number - 1 not in present)
        places = missing if here is None else (here,)
        for place in places if len(row) in _ROW else ():
            if place + 1 in row and (place == here or place == 1 or place - 1 in present):
                return row[place + 1]
    return None


def _is_beside(url: str, own: str) -> bool:
    """Whether an address lies beside or right below the page's own, and names no month as a calendar's does."""
    there, here = web_address(url), web_address(own)
    path, own_path = there.path.rstrip("/"), here.path.rstrip("/")
    near = path == own_path or path.rpartition("/")[0] in (own_path, own_path.rpartition("/")[0])
    return there.authority == here.authority and near and not _MONTH.search(url)


def _goes_on(link: Link, own: str, section: PagingSection) -> bool:
    """Whether a link that is marked as the next one shows the same list: "Next article" is marked so as well."""
    if len(link.text) > _LONGEST_TEXT:
        return False
    if not any(map(str.isalpha, link.text)) or position_of(link.address, section).is_numbered:
        return True
    path, here = web_address(link.address).path.rstrip("/"), web_address(own).path.rstrip("/")
    return path == here or path.startswith(here + "/")


def _says_next(link: Link, own: str, texts: Sequence[str]) -> bool:
    """Whether a link's text says "Next", or "Next 20", where the latter also lies beside the page."""
    bare = link.text.lower().strip(_ARROWS)
    if bare in texts or len(bare) > _LONGEST_TEXT:
        return bare in texts
    without = " ".join(_COUNTS.sub(" ", bare).split()).strip(_ARROWS)
    return without != bare and without in texts and _is_beside(link.address, own)
