"""When a page was published: the best of its dates, an instant or a day.

Dates come from metadata, from the story's own ``time``, from the address, from a line beside the heading that has
nothing but dates and names, and from a line that labels a date. Sentences, parts that others wrote and the day of an
event give no date. Days before the earliest year or after the fetch are ignored.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain
from operator import attrgetter

import regex

from handlers.html.bylines import NameWords
from handlers.html.marks import Story, times
from handlers.html.outline import Block, Outline
from handlers.html.reading import PageReadingSection
from handlers.html.structured_data import StructuredData
from handlers.text.dates import Moment, MomentReader, Origin, calendar_day, day_of, instant_at, is_plausible
from handlers.text.scripts import HAN, KANA
from handlers.text.words import alternatives

_IN_URL = re.compile(
    r"/((?:19|20)\d{2})(?:([/-])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))(?=[/_.+%-]|$)"
    r"|-((?:19|20)\d{2})(-?)(0[1-9]|1[0-2])\8(0[1-9]|[12]\d|3[01])(?:\.[a-z]{1,5}|/)?$"
)
_QUERY = re.compile(r"[?#]")
_PROPERTIES = ("itemprop:datepublished", "itemprop:datecreated")
_MAX_LINES = 60
_MAX_LABELLED_LINES = 400
_MAX_BEGINNINGS = 3
_MAX_CHARACTERS = 160
"""A longer line is running text."""
_NEAR_TEXTS = 20
_HEAD_TEXTS = 12
_MOST_DAYS = 2
_LABEL_REACH = 6
_APART_WORDS = 4
_TOUCHING_NAMED = 8
_TOUCHING_LABELLED = 3

_START = attrgetter("start")
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(
    r"\d{1,2}\s?[:.h時时시点點]\s?\d{2}(?:\s?[:分]\s?\d{2})?(?:[.,]\d{1,9})?\s?[分秒분]?\s?(?:z|[+-]\d{2}:?\d{2})?(?!\d)"
    r"|(?<!\d)\d{1,2}\s?(?:[ap]\.?m\b\.?|uhr\b|時|시)|t(?=\d{2}:)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\d\.?\s?[-–]\s?\d{1,2}\.?\s[^\W\d_]")
"""12-14 June 2024."""
_VERSION = re.compile(r"\A[\s(vV]*\d+(?:\.\d+)+\s*\Z")
_SEPARATOR = re.compile(r"[|·•‧∙–—/／,，;；()（）\[\]【】<>«»\n]|\s-\s|\s{2,}")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*", re.UNICODE)
_HAN_SIGNS = regex.compile(f"[{HAN}{KANA}]")
# A place in capitals or of few words, before a day in brackets or behind a comma.
_DATELINE_BEFORE = re.compile(r"(?:[^\W\d_a-z][^\s,()]{1,30}[ /]?){0,4}(?:(?<=\w)\s?,\s?)?[(（]?")
_DATELINE_AFTER = re.compile(r"[)）]?(?:\s?[.:–—-]\s(?!\d)|(?<=[)）])\s(?=[^\W\d_a-z]))")
_DATELINE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date and where on the page it was seen."""

    value: Moment
    seen_in: str


@dataclass(frozen=True, slots=True)
class DatedPage:
    """A page before its date is looked for.

    Attributes:
        story: The page and its own story.
        data: Its structured data.
        url: Its address, which often holds the day in the site's own time zone.
        is_event: Whether it announces an event; then visible dates are those of the event.
        origin: Where it comes from, which decides the order of day and month.
        fetched_at: When it was fetched. It can't have been published later.
    """

    story: Story
    data: StructuredData
    url: str
    is_event: bool
    origin: Origin
    fetched_at: datetime | None


_Found = Iterator[tuple[Moment | None, str]]
_Changes = list[tuple[Moment | None, str]]


def find_date(page: DatedPage, words: DateWords) -> FoundDate | None:
    """The publication date of a page, else its date of change. Stated dates have precedence over visible ones."""
    changes: _Changes = []
    is_story = not (page.is_event or page.data.is_thing)
    in_url = _in_url(page.url) if is_story else None
    shown = _shown(page, words, in_url, changes) if is_story else iter(())

    def plausible(found: Iterable[tuple[Moment | None, str]]) -> Iterator[FoundDate]:
        for value, seen_in in found:
            if value is not None and is_plausible(value, words.earliest_year, page.fetched_at):
                yield FoundDate(value, seen_in)

    for stated in plausible(_stated(page, words)):
        return _as_shown(stated, plausible(chain(shown, changes)))
    labelled = () if page.data.is_thing else _labelled(page, words, changes)
    for found in plausible(chain(shown, labelled)):
        return _as_shown(found, plausible([(in_url, "url")] if isinstance(found.value, datetime) else []))
    return next(plausible(chain(_stated_changes(page, words), changes)), None)


def _as_shown(stated: FoundDate, shown: Iterable[FoundDate]) -> FoundDate:
    """A stated date as the page shows it: in the site's own zone, or the day before or after one of universal time."""
    value, day, beside = stated.value, day_of(stated.value), stated
    in_zone = isinstance(value, datetime) and value.tzinfo is not None
    for found in shown:
        if in_zone and isinstance(found.value, datetime) and found.value.utcoffset() and found.value == value:
            return found
        if day_of(found.value) == day:
            return stated
        if beside is stated and abs(day_of(found.value) - day) == timedelta(days=1):
            beside = found
    return stated if isinstance(value, datetime) and value.utcoffset() else beside


def _shown(page: DatedPage, words: DateWords, in_url: date | None, changes: _Changes) -> _Found:
    """Dates of publication beside the story, the most reliable first; those of changes are added to ``changes``."""
    yield from _times(page, words, changes)
    yield in_url, "url"
    yield from _named(page, words, changes)
    yield from _visible(page, words, changes)


def _stated(page: DatedPage, words: DateWords) -> _Found:
    """Dates of metadata, structured data and microdata."""

    def read(text: str) -> Moment | None:
        return words.moments.read(text, page.origin)

    yield read(page.data.published), "json-ld datePublished"
    for name in words.published_names:
        yield from ((read(content), f"meta {name}") for content in page.story.outline.meta.get(name, ()))
    for name in _PROPERTIES:
        yield from (
            (read(text), name) for mark in page.story.stated if mark.name == name for text in (mark.value, mark.text)
        )
    yield read(page.data.created), "json-ld dateCreated"


def _times(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Elements ``time`` near the heading, except those in sentences."""
    for mark in times(page.story):
        if mark.boilerplate or mark.distance > _NEAR_TEXTS:
            continue
        block = page.story.outline.line_at(mark.index)
        line = words.read(block.text, page.origin, named=True) if block is not None and mark.text else None
        if line is None and block is not None and mark.text and words.is_sentence(block.text):
            continue
        value = words.moments.read(mark.value, page.origin)
        if mark.name == "time:changed" or (line is not None and line.published is None):
            changes.append((value, "time"))
        else:
            yield value, "time"


def _named(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Dates near the heading whose class names say so."""
    for mark in page.story.near.named:
        if mark.name == "hint:date" and not mark.boilerplate and not page.story.dates_event(mark.place, mark.index):
            yield words.moments.read(mark.value, page.origin), "date by class name"
            line = words.read(mark.text, page.origin, named=True)
            if line is not None:
                yield line.published, "date by class name"
                changes.append((line.updated, "date by class name"))


def _visible(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Lines beside the heading that have nothing but dates and names, and the dateline of the story."""
    blocks = list(_head_lines(page))
    outline, near = page.story.outline, page.story.near
    labelled = (_with_label(outline, block, words) for block in blocks)
    # A day in an element of its own may be beside other small texts in one line: the minutes that reading takes.
    lines = [block for block in blocks if block.end > block.start + 1 and near.is_head(block.start)]
    parts = (
        outline.texts[index]
        for block in lines
        if _DIGIT.search(block.text) is not None and not words.is_sentence(block.text)
        for index in range(block.start, block.end)
    )
    beside = (text for index, text in outline.asides if near.is_head(index))
    read = (words.read(text, page.origin, is_near=True) for text in chain(labelled, parts, beside))
    dated = [line for line in read if line is not None]
    # Lines of many days are a schedule or a chronology. Days beside an ISBN are those of the book.
    is_of_page = len({line.published for line in dated if not line.labelled}) <= _MOST_DAYS
    if dated and is_of_page and not any(page.story.is_of_thing(block.text) for block in blocks):
        yield from ((line.published, "visible date") for line in dated)
        changes += [(line.updated, "visible date") for line in dated]
    begins = [
        block for block in outline.blocks(near.first, near.first + _HEAD_TEXTS) if len(block.text) > _MAX_CHARACTERS
    ]
    for block in begins[:_MAX_BEGINNINGS]:
        yield words.dateline(block.text[:_DATELINE_CHARACTERS], page.origin), "dateline"


def _labelled(page: DatedPage, words: DateWords, changes: _Changes) -> _Found:
    """Lines anywhere that label a date, except beside the data of a book or the like."""
    blocks = page.story.outline.blocks()[-_MAX_LABELLED_LINES:]
    dated: set[Moment | None] = set()
    # A line without a number may have it from its label, in the line before.
    numbers = [True, *(_DIGIT.search(block.text) is not None for block in blocks)]
    for number, block in enumerate(blocks):
        if not (numbers[number] or numbers[number + 1]) or len(block.text) > _MAX_CHARACTERS:
            continue
        text = _with_label(page.story.outline, block, words)
        if not words.may_be_labelled(text) or page.story.holds(block.element, block.start):
            continue
        beside = blocks[max(0, number - _LABEL_REACH) : number + _LABEL_REACH + 1]
        if any(page.story.is_of_thing(other.text) for other in beside):
            continue
        line = words.read(text, page.origin)
        if line is not None and line.labelled:
            yield line.published, "labelled date"
            changes.append((line.updated, "labelled date"))
        elif line is not None and not page.is_event and words.is_dated(text):
            dated.add(line.published)
    if len(dated) == 1:
        yield dated.pop(), "labelled date"


def _stated_changes(page: DatedPage, words: DateWords) -> _Found:
    yield words.moments.read(page.data.modified, page.origin), "json-ld dateModified"
    for name in words.updated_names:
        for content in page.story.outline.meta.get(name, ()):
            yield words.moments.read(content, page.origin), f"meta {name}"


def _head_lines(page: DatedPage) -> Iterator[Block]:
    """Short lines around the heading and the beginning of the main text, the nearest first."""
    near, outline = page.story.near, page.story.outline
    starts = (
        block.start
        for block in outline.blocks(near.first, near.first + _HEAD_TEXTS)
        if len(block.text) > _MAX_CHARACTERS
    )
    end = max(near.body, next(starts, near.first + _HEAD_TEXTS))
    lines = outline.lines_with_links()
    for place in near.places:
        first, after = (bisect_left(lines, index, key=_START) for index in (place.start, min(place.stop, end + 1)))
        blocks = [
            block
            for block in lines[first:after]
            if len(block.text) <= _MAX_CHARACTERS
            and page.story.is_own(block.element, block.start)
            and not page.story.dates_event(block.element, block.start)
        ][:_MAX_LINES]
        yield from sorted(blocks, key=lambda block: (block.start < near.heading, near.distance(block.start)))


def _with_label(outline: Outline, block: Block, words: DateWords) -> str:
    """A line with its label from a list of terms, a table row or the line before; "" if it labels something else."""
    before = outline.line_at(block.start - 1)
    if before is None:
        return block.text
    if _DIGIT.search(block.text) is None and _DIGIT.search(before.text) is None:
        # The usual case: there is no date.
        return ""
    if words.is_label(before.text):
        return f"{before.text}: {block.text}"
    row = outline.outer[block.element] if block.tag == "td" else block.element
    beside = before.element if before.tag in ("dt", "th") else outline.outer[before.element]
    is_value = block.tag in ("dd", "td") and before.tag in ("dt", "th", "td") and row == beside
    return "" if is_value else block.text


def _in_url(url: str) -> date | None:
    """The day in a page's address."""
    match = _IN_URL.search(_QUERY.split(url, maxsplit=1)[0])
    parts = [int(part) for part in match.groups() if part and part.isdigit()] if match else []
    return calendar_day(*parts) if parts else None


@dataclass(frozen=True, slots=True)
class LineDates:
    """The dates of a line; ``labelled`` says whether the line says what they are."""

    published: Moment | None
    updated: Moment | None
    labelled: bool


class DateWords:
    """Reads lines that date a page, under one configuration: "By Jane Doe | Published 3 May 2024, updated 9 June"."""

    def __init__(self, reading: PageReadingSection, moments: MomentReader, names: NameWords) -> None:
        self.moments = moments
        self.published_names = tuple(reading.date_names)
        self.updated_names = tuple(reading.updated_names)
        self.earliest_year = reading.earliest_year
        self._names = names
        label_words = [word.lower() for word in (*reading.published_words, *reading.updated_words)]
        self._label_words = re.compile(alternatives(label_words))
        self._labels = _any_of(label_words)
        self._published = _any_of(reading.published_words)
        self._updated = _any_of(reading.updated_words)
        self._date_label = re.compile(
            rf"(?:{alternatives(reading.date_labels)})\s{{0,3}}[:：]?\s{{0,3}}\d", re.IGNORECASE
        )
        self._fillers = _any_of(reading.date_line_words)

    def may_be_labelled(self, line: str) -> bool:
        """Whether a line has a number and a label. This check is fast."""
        if len(line) > _MAX_CHARACTERS or _DIGIT.search(line) is None:
            return False
        return self._label_words.search(line.lower()) is not None or self.is_dated(line)

    def is_dated(self, line: str) -> bool:
        """Whether a line begins with a word for a date, followed by a number: "Date: 3 May 2024"."""
        return self._date_label.match(line) is not None

    def is_sentence(self, text: str) -> bool:
        """Whether a text has too many words for a line of dates."""
        return len(text) > _MAX_CHARACTERS or self._size(text) > _TOUCHING_NAMED

    def is_label(self, text: str) -> bool:
        """Whether a text is only a label of a date."""
        if len(text) > _MAX_CHARACTERS:
            return False
        # A search in lower case that ignores the ends of words takes a third of the time.
        is_label = self._label_words.search(text.lower()) and self._labels.search(text)
        return bool(is_label or self._date_label.match(f"{text} 1")) and not self._size(text)

    def dateline(self, head: str, origin: Origin) -> Moment | None:
        """The day before the first sentence of a story: "(18.1.2018) Farmers", "Oslo, 3 May 2024 –"."""
        days = self.moments.spans(head, origin)
        if not days or not (before := _DATELINE_BEFORE.match(head, 0, days[0].start)) or before.end() != days[0].start:
            return None
        return days[0].value if _DATELINE_AFTER.match(head, days[0].end) else None

    def read(self, line: str, origin: Origin, *, named: bool = False, is_near: bool = False) -> LineDates | None:
        """The dates of a line; None if it has none, or more words than a line of dates has.

        Args:
            line: A line of the page.
            origin: Where the page comes from.
            named: Whether the markup calls it a date; then more words may be beside the date.
            is_near: Whether it is beside the heading; then a few words may be beside a date that the line labels.
        """
        if len(line) > _MAX_CHARACTERS or _DIGIT.search(line) is None:
            return None
        days = self.moments.spans(line, origin)
        starts, ends = [day.start for day in days], [day.end for day in days]
        pieces = [line[start:end] for start, end in zip([0, *ends], [*starts, len(line)], strict=True)]
        is_range = any(_RANGE.search(line, start, end) for start, end in zip(starts, ends, strict=True))
        few = _TOUCHING_LABELLED if is_near and self._opens_with_label(pieces[0]) else 0
        if not days or is_range or not self._is_bare(pieces, _TOUCHING_NAMED if named else few):
            return None
        published: list[Moment | None] = []
        updated: list[Moment | None] = []
        for day, before in zip(days, pieces, strict=False):
            is_updated = _last(self._updated, before) > _last(self._published, before)
            # With its time and zone, if the line has them in a format of machines.
            value = day.value and (instant_at(line, day.start) or day.value)
            (updated if is_updated else published).append(value)
        labelled = any(self._labels.search(piece) for piece in pieces)
        if len(published) > 1 and not labelled:
            # Two days are the beginning and the end of something.
            return None
        return LineDates(next(iter(published), None), next(iter(updated), None), labelled)

    def _is_bare(self, pieces: list[str], most_touching: int) -> bool:
        """Whether there are only names and few words around the dates."""
        for number, piece in enumerate(pieces):
            if self._names.reporters(piece.strip()):
                continue
            parts = _SEPARATOR.split(_CLOCK.sub(" ", piece))
            for place, part in enumerate(parts):
                touches = (place == len(parts) - 1 and number < len(pieces) - 1) or (place == 0 and number > 0)
                most = most_touching if touches else _APART_WORDS
                if _VERSION.match(part):
                    return False
                if self._size(part) > most and not self._names.line_names(part.strip()):
                    return False
        return True

    def _opens_with_label(self, text: str) -> bool:
        """Whether a line begins with a label: "Posted in News on", "First published by"."""
        label = self._labels.search(text)
        return label is not None and not self._size(text[: label.start()])

    def _size(self, segment: str) -> int:
        """Words of a segment without labels and what goes with dates; ideographs count as a third of a word."""
        left = " ".join(_WORD.findall(self._fillers.sub(" ", self._labels.sub(" ", segment))))
        han = len(_HAN_SIGNS.findall(left))
        return (han + 2) // 3 if han else len(left.split())


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words as whole ones; those of scripts without blanks anywhere."""
    words = tuple(words)
    spaced = [word for word in words if not _HAN_SIGNS.search(word)]
    joined = [word for word in words if _HAN_SIGNS.search(word)]
    whole = rf"(?<![^\W\d_])(?:{alternatives(spaced)})(?![^\W\d_])"
    return re.compile(rf"{whole}|{alternatives(joined)}", re.IGNORECASE)
