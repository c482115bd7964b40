"""When a page was published: the best of its dates. A stated instant stays one in its own zone, a day a day.

Dates come from metadata, from the story's own ``time``, from the address, from a line beside the heading that has
nothing but dates and names, and from a line that says of a date what it is. None comes from a sentence, from what
others wrote, or from an event's day. What lies before the earliest year or after the fetch is no date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from handlers.html.date_lines import MAX_CHARACTERS, DateLines
from handlers.html.marks import Near, stated_marks, times
from handlers.html.names import NameWords
from handlers.html.others import Others
from handlers.html.outline import Block, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData
from handlers.text.day_order import Origin
from handlers.text.moments import Moment, MomentReader, calendar_day, day_of, is_plausible

_IN_URL = re.compile(
    r"/((?:19|20)\d{2})(?:([/-])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))(?=[/_.+%-]|$)"
    r"|-((?:19|20)\d{2})(-?)(0[1-9]|1[0-2])\8(0[1-9]|[12]\d|3[01])(?:\.[a-z]{1,5}|/)?$"
)
_QUERY = re.compile(r"[?#]")
_PROPERTIES = ("itemprop:datepublished", "itemprop:datecreated")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_MAX_LINES = 60
_MAX_LABELLED_LINES = 400
_NEAR_TEXTS = 40
_HEAD_TEXTS = 12
_DATELINE_CHARACTERS = 80
_MAX_BEGINNINGS = 3
_MOST_DAYS = 2
_LABEL_REACH = 6


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date and where on the page it was seen."""

    value: Moment
    seen_in: str


@dataclass(frozen=True, slots=True)
class DatedPage:
    """What is known of a page before its date is looked for.

    Attributes:
        outline: The page.
        data: Its structured data.
        url: Its address, which often holds the day: the site's own, where an instant of universal time has another.
        near: Where visible dates are looked for.
        others: Parts that are not the author's.
        is_event: Whether it announces an event, whose day visible dates are.
        origin: Where it comes from, which decides what comes first in 03/04/2024.
        fetched_at: When it was fetched; it can't have been published after it.
    """

    outline: Outline
    data: StructuredData
    url: str
    near: Near
    others: Others
    is_event: bool
    origin: Origin
    fetched_at: datetime | None


class DateWords:
    """The configured names and words around dates, compiled once."""

    def __init__(self, reading: PageReadingSection, moments: MomentReader, names: NameWords) -> None:
        self.moments = moments
        self.lines = DateLines(reading, moments, names)
        self.published_names = tuple(reading.date_names)
        self.updated_names = tuple(reading.updated_names)
        self.earliest_year = reading.earliest_year


def find_date(page: DatedPage, words: DateWords) -> FoundDate | None:
    """The publication date of a page, from what states it most plainly to what merely shows it.

    If the page states no date of publication, the result is its date of change.
    """
    in_url = None if page.is_event or page.data.is_thing else _in_url(page.url)
    changes: _Changes = []
    for value, seen_in in _published(page, words, in_url, changes):
        if value is not None and is_plausible(value, words.earliest_year, page.fetched_at):
            return FoundDate(_day_of_site(value, in_url), seen_in)
    for value, seen_in in (*_stated_changes(page, words), *changes):
        if value is not None and is_plausible(value, words.earliest_year, page.fetched_at):
            return FoundDate(value, seen_in)
    return None


_Found = Iterator[tuple[Moment | None, str]]
_Changes = list[tuple[Moment | None, str]]


def _published(page: DatedPage, words: DateWords, in_url: date | None, changes: _Changes) -> _Found:
    """Dates of publication, the plainest first; dates of changes that are met are put aside."""
    yield from _stated(page, words)
    if not (page.is_event or page.data.is_thing):
        yield from _times(page, words, changes)
        yield in_url, "url"
        yield from _named(page, words, changes)
        yield from _visible(page, words, changes)
    yield from _labelled(page, words, changes)


def _stated(page: DatedPage, words: DateWords) -> _Found:
    """What metadata, structured data and microdata state."""

    def read(text: str) -> Moment | None:
        return words.moments.read(text, page.origin)

    yield read(page.data.published), "json-ld datePublished"
    for name in words.published_names:
        yield from ((read(content), f"meta {name}") for content in page.outline.meta.get(name, ()))
    marks = stated_marks(page.outline, page.others.holds_node)
    for name in _PROPERTIES:
        yield from ((read(text), name) for mark in marks if mark.name == name for text in (mark.value, mark.text))
    yield read(page.data.created), "json-ld dateCreated"


def _named(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """What class names call a date, near the heading."""
    for mark in page.near.named:
        if mark.name != "hint:date" or mark.boilerplate or page.others.dates_event(mark.place, mark.index):
            continue
        if mark.value:
            yield words.moments.read(mark.value, page.origin), "date by class name"
        if (line := words.lines.read(mark.text, page.origin, named=True)) is not None:
            yield line.published, "date by class name"
            changes.append((line.updated, "date by class name"))


def _visible(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Lines beside the heading that have nothing but dates and names, and the dateline of the story."""
    blocks = list(_head_lines(page))
    texts = [(_with_label(page.outline, block, words), block.tag in _HEADINGS) for block in blocks]
    read = (words.lines.read(text, page.origin, heading=is_heading) for text, is_heading in texts)
    lines = [line for line in read if line is not None]
    # Lines of many days are a schedule or a chronology, and those beside an ISBN are of the book.
    is_of_page = len({line.published for line in lines if not line.labelled}) <= _MOST_DAYS
    if is_of_page and not any(page.others.is_of_thing(block.text) for block in blocks):
        yield from ((line.published, "visible date") for line in lines)
        changes += [(line.updated, "visible date") for line in lines]
    first = page.near.first
    begins = [block for block in page.outline.blocks(first, first + _HEAD_TEXTS) if len(block.text) > MAX_CHARACTERS]
    for block in begins[:_MAX_BEGINNINGS]:
        yield words.lines.dateline(block.text[:_DATELINE_CHARACTERS], page.origin), "dateline"


def _labelled(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Lines that say of a date what it is, wherever on the page; not those of the data of a book or the like."""
    if page.data.is_thing:
        return
    blocks = page.outline.blocks()[-_MAX_LABELLED_LINES:]
    for number, block in enumerate(blocks):
        text = _with_label(page.outline, block, words)
        if not words.lines.may_be_labelled(text) or page.others.holds(block.element, block.start):
            continue
        beside = blocks[max(0, number - _LABEL_REACH) : number + _LABEL_REACH + 1]
        if any(page.others.is_of_thing(other.text) for other in beside):
            continue
        line = words.lines.read(text, page.origin, apart=True)
        if line is not None and line.labelled:
            yield line.published, "labelled date"
            changes.append((line.updated, "labelled date"))


def _stated_changes(page: DatedPage, words: DateWords) -> _Found:
    yield words.moments.read(page.data.modified, page.origin), "json-ld dateModified"
    for name in words.updated_names:
        for content in page.outline.meta.get(name, ()):
            yield words.moments.read(content, page.origin), f"meta {name}"


def _times(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Elements ``time`` of the story: near its heading, and in no sentence."""
    for mark in times(page.outline, page.near, page.others.dates_event):
        if mark.boilerplate or mark.distance > _NEAR_TEXTS:
            continue
        block = page.outline.line_at(mark.index)
        line = None
        if block is not None and mark.text:
            line = words.lines.read(block.text, page.origin, named=True)
            if line is None and not words.lines.is_short(block.text):
                continue
        value = words.moments.read(mark.value, page.origin)
        is_change = mark.name == "time:changed" or (line is not None and line.published is None)
        if is_change:
            changes.append((value, "time"))
        else:
            yield value, "time"


def _head_lines(page: DatedPage) -> Iterator[Block]:
    """Short lines around the heading and the beginning of the main text, the nearest first."""
    near, outline = page.near, page.outline
    end = max(near.body, _first_long(outline, near.first))
    for place in near.places:
        blocks = [
            block
            for block in outline.blocks(place.start, place.stop)[:_MAX_LINES]
            if len(block.text) <= MAX_CHARACTERS
            and (near.is_head(block.start) or not outline.is_boilerplate(block.element))
            and block.start <= end
            and not page.others.dates_event(block.element, block.start)
        ]
        blocks.sort(key=lambda block: near.distance(block.start))
        yield from blocks


def _with_label(outline: Outline, block: Block, words: DateWords) -> str:
    """A line with its label in a list of terms or a row of a table; "" where that says that it is something else."""
    if block.tag not in ("dd", "td") or (before := outline.line_at(block.start - 1)) is None:
        return block.text
    row = outline.outer[block.element] if block.tag == "td" else block.element
    beside = before.element if before.tag in ("dt", "th") else outline.outer[before.element]
    if before.tag not in ("dt", "th", "td") or row != beside:
        return block.text
    return f"{before.text}: {block.text}" if words.lines.is_label(before.text) else ""


def _first_long(outline: Outline, first: int) -> int:
    """The text with which running text begins, near that with which the main text does."""
    blocks = outline.blocks(first, first + _HEAD_TEXTS)
    return next((block.start for block in blocks if len(block.text) > MAX_CHARACTERS), first + _HEAD_TEXTS)


def _in_url(url: str) -> date | None:
    """The day in a page's address; None where it holds none."""
    match = _IN_URL.search(_QUERY.split(url, maxsplit=1)[0])
    parts = [int(part) for part in match.groups() if part and part.isdigit()] if match else []
    return calendar_day(*parts) if parts else None


def _day_of_site(value: Moment, day: date | None) -> Moment:
    """The day that the site counts an instant of universal time to, where that is the one before or after it."""
    if day is None or not isinstance(value, datetime) or value.utcoffset() != timedelta(0):
        return value
    return day if abs((day_of(value.astimezone(UTC)) - day).days) == 1 else value
