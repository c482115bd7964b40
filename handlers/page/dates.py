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

from handlers.page.date_lines import MAX_CHARACTERS, DateLines
from handlers.page.lines import Block
from handlers.page.marks import Near, stated_marks, times
from handlers.page.moments import Moment, MomentReader, calendar_day, day_of, is_plausible
from handlers.page.names import NameWords
from handlers.page.others import Others
from handlers.page.outline import Outline
from handlers.page.reading import PageReadingSection
from handlers.page.structured_data import StructuredData
from handlers.results.day_order import Origin

_IN_URL = re.compile(
    r"/((?:19|20)\d{2})(?:([/-])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))(?=[/_.+%-]|$)"
    r"|-((?:19|20)\d{2})(-?)(0[1-9]|1[0-2])\8(0[1-9]|[12]\d|3[01])(?:\.[a-z]{1,5}|/)?$"
)
_QUERY = re.compile(r"[?#]")
_PROPERTIES = ("itemprop:datepublished", "itemprop:datecreated")
_MAX_LINES = 60
_MAX_LABELLED_LINES = 400
_NEAR_TEXTS = 40
_HEAD_TEXTS = 12
_DATELINE_CHARACTERS = 80
_MAX_BEGINNINGS = 3
_MOST_DAYS = 2


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

    A date of a change stands in where nothing says when the page was published.
    """
    in_url = None if page.is_event else _in_url(page.url)
    changes: list[tuple[Moment | None, str]] = []
    for value, seen_in in _published(page, words, in_url, changes):
        if value is not None and is_plausible(value, words.earliest_year, page.fetched_at):
            return FoundDate(_day_of_site(value, in_url), seen_in)
    for value, seen_in in (*_stated_changes(page, words), *changes):
        if value is not None and is_plausible(value, words.earliest_year, page.fetched_at):
            return FoundDate(value, seen_in)
    return None


_Found = Iterator[tuple[Moment | None, str]]


def _published(
    page: DatedPage, words: DateWords, in_url: date | None, changes: list[tuple[Moment | None, str]]
) -> _Found:
    """Dates of publication, the plainest first; dates of changes that are met are put aside."""
    outline, data, near = page.outline, page.data, page.near

    def read(text: str) -> Moment | None:
        return words.moments.read(text, page.origin)

    yield read(data.published), "json-ld datePublished"
    for name in words.published_names:
        yield from ((read(content), f"meta {name}") for content in outline.meta.get(name, ()))
    stated = stated_marks(outline, page.others.holds)
    for name in _PROPERTIES:
        yield from ((read(text), name) for mark in stated if mark.name == name for text in (mark.value, mark.text))
    yield read(data.created), "json-ld dateCreated"
    if not page.is_event:
        yield from _times(page, words, changes)
        yield in_url, "url"
        named = [mark for mark in near.named if mark.name == "hint:date" and not mark.boilerplate]
        for mark in named:
            if page.others.dates_event(mark.place, mark.index):
                continue
            if mark.value:
                yield read(mark.value), "date by class name"
            if (line := words.lines.read(mark.text, page.origin, named=True)) is not None:
                yield line.published, "date by class name"
                changes.append((line.updated, "date by class name"))
        lines = [line for block in _head_lines(page) if (line := words.lines.read(block.text, page.origin)) is not None]
        if len({line.published for line in lines if not line.labelled}) <= _MOST_DAYS:
            # Lines of many days are a schedule or a chronology.
            yield from ((line.published, "visible date") for line in lines)
            changes += [(line.updated, "visible date") for line in lines]
        begins = [
            block for block in outline.blocks(near.first, near.first + _HEAD_TEXTS) if len(block.text) > MAX_CHARACTERS
        ]
        for block in begins[:_MAX_BEGINNINGS]:
            yield words.lines.dateline(block.text[:_DATELINE_CHARACTERS], page.origin), "dateline"
    for block in outline.blocks()[-_MAX_LABELLED_LINES:]:
        if words.lines.may_be_labelled(block.text) and not page.others.holds(block.element, block.start):
            line = words.lines.read(block.text, page.origin, apart=True)
            if line is not None and line.labelled:
                yield line.published, "labelled date"
                changes.append((line.updated, "labelled date"))


def _stated_changes(page: DatedPage, words: DateWords) -> _Found:
    yield words.moments.read(page.data.modified, page.origin), "json-ld dateModified"
    for name in words.updated_names:
        for content in page.outline.meta.get(name, ()):
            yield words.moments.read(content, page.origin), f"meta {name}"


def _times(page: DatedPage, words: DateWords, changes: list[tuple[Moment | None, str]]) -> _Found:
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
