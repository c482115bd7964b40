"""When a page was published: a date as text goes in, ISO 8601 comes out, and the best of a page's dates.

A stated instant stays an instant in its own zone, a day a day. What can't be read, lies before the earliest year or
after the fetch is no date. No clock here: "yesterday" is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from handlers.page.marks import Near, stated_marks, times
from handlers.page.months import MONTHS
from handlers.page.outline import Outline
from handlers.page.reading import PageReadingSection
from handlers.page.structured_data import StructuredData

_ISO = re.compile(
    r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=T|\d{4,6}Z?$|\D|$)")
_YEAR_FIRST = re.compile(r"(?<![\d/.])((?:19|20)\d{2})\s?[./年년]\s?(\d{1,2})\s?[./月월]\s?(\d{1,2})(?!\d)")
_REPUBLIC = re.compile(r"(?:民國|中華民國)\s?(\d{2,3})\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日")
_DAY_FIRST_NAME = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º|ª)?[.,]?(?:\s|-|/|&nbsp;){0,3}(?:of\s|de\s|di\s)?([^\W\d_]{3,12})\.?,?(?:\s|-|/){0,3}(?:de\s|del\s)?((?:19|20)\d{2})(?!\d)"
)
_MONTH_FIRST_NAME = re.compile(
    r"(?<![^\W\d_])([^\W\d_]{3,12})\.?\s{0,3}(\d{1,2})(?:st|nd|rd|th)?,?\s{1,3}(?:at\s)?((?:19|20)\d{2})(?!\d)"
)
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2((?:19|20)\d{2}|\d{2})(?![\d/])")
_IN_URL = re.compile(r"/((?:19|20)\d{2})[/-]?(0?[1-9]|1[0-2])[/-]?(0?[1-9]|[12]\d|3[01])(?=[/_.-]|$)")
_EPOCH = re.compile(r"^(\d{10}|\d{13})$")
_TEXTS_BEFORE = 30
_TEXTS_AFTER = 16
_LINES_BEFORE = 12
_LINES_AFTER = 4
_PROPERTIES = ("itemprop:datepublished", "itemprop:datecreated")


_END_OF_TIME = date(2100, 1, 1)


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date in ISO 8601 and where on the page it was seen."""

    iso: str
    seen_in: str


def find_date(
    outline: Outline,
    data: StructuredData,
    url: str,
    near: Near,
    reading: PageReadingSection,
    fetched_at: datetime | None,
) -> FoundDate | None:
    """The publication date of a page, from what states it most plainly to what merely shows it.

    Args:
        outline: The page.
        data: Its structured data.
        url: Its address, which often holds the day.
        near: Where visible dates are looked for.
        reading: Names and limits.
        fetched_at: When the page was fetched; it can't have been published more than a day later.
    """
    fetched_on = min(fetched_at.date(), _END_OF_TIME) if fetched_at else _END_OF_TIME
    latest = fetched_on + timedelta(days=2)
    month_first = outline.language.lower() in {"", "en", "en-us", "en_us"}
    for text, seen_in in _candidates(outline, data, url, near, reading):
        iso = parse_date(text, month_first)
        if iso is not None and reading.earliest_year <= int(iso[:4]) and iso[:10] <= latest.isoformat():
            return FoundDate(iso, seen_in)
    return None


def parse_date(text: str, month_first: bool = False) -> str | None:
    """The first date that a text holds, as ISO 8601; None where there is none.

    Args:
        text: A stated or visible date; what stands around it is ignored.
        month_first: Whether 03/04/2024 is the fourth of March.

    >>> parse_date("2024-05-03T15:47:42.389+02:00")
    '2024-05-03T15:47:42+02:00'
    >>> parse_date("中華民國113年5月3日")
    '2024-05-03'
    >>> parse_date("Published on 3. März 2021, 10:00")
    '2021-03-03'
    >>> parse_date("03/04/2024", month_first=True)
    '2024-03-04'
    """
    text = text[:300]
    if match := _ISO.search(text):
        return _iso(match)
    if match := _REPUBLIC.search(text):
        year, month, day = map(int, match.groups())
        return _day(year + 1911, month, day)
    if match := _YEAR_FIRST.search(text):
        return _day(*map(int, match.groups()))
    if match := _COMPACT.search(text):
        return _day(*map(int, match.groups()))
    for match in _DAY_FIRST_NAME.finditer(text):
        if (number := MONTHS.get(match[2].lower())) and (found := _day(int(match[3]), number, int(match[1]))):
            return found
    for match in _MONTH_FIRST_NAME.finditer(text):
        if (number := MONTHS.get(match[1].lower())) and (found := _day(int(match[3]), number, int(match[2]))):
            return found
    if match := _NUMERIC.search(text):
        first, separator, second, year = int(match[1]), match[2], int(match[3]), int(match[4])
        year += 0 if year > 99 else 2000
        if month_first and separator != ".":
            return _day(year, first, second) or _day(year, second, first)
        return _day(year, second, first) or _day(year, first, second)
    if match := _EPOCH.search(text):
        return datetime.fromtimestamp(int(match[1][:10]), UTC).isoformat()
    return None


def _candidates(
    outline: Outline, data: StructuredData, url: str, near: Near, reading: PageReadingSection
) -> Iterator[tuple[str, str]]:
    yield data.published, "json-ld datePublished"
    for name in reading.date_names:
        yield from ((content, f"meta {name}") for content in outline.meta.get(name, ()))
    stated = stated_marks(outline)
    for name in _PROPERTIES:
        yield from ((mark.value or mark.text, name) for mark in stated if mark.name == name)
    yield data.created, "json-ld dateCreated"
    timed = times(outline, near)
    yield from ((mark.value, "time") for mark in timed if not mark.boilerplate)
    if match := _IN_URL.search(url):
        yield "-".join(match.groups()), "url"
    named = [mark for mark in near.named if mark.name == "hint:date"]
    yield from ((mark.value or mark.text, "date by class name") for mark in named if not mark.boilerplate)
    yield from ((text, "visible date") for text in _around(outline, near.first))
    yield from ((mark.value, "time") for mark in timed)
    yield from ((mark.value or mark.text, "date by class name") for mark in named)
    yield data.modified, "json-ld dateModified"
    for name in reading.updated_names:
        yield from ((content, f"meta {name}") for content in outline.meta.get(name, ()))


def _around(outline: Outline, content_first: int) -> Iterable[str]:
    """Short lines around the beginning of the main text, nearest before it first."""
    before = outline.blocks(content_first - _TEXTS_BEFORE, content_first)[-_LINES_BEFORE:]
    after = outline.blocks(content_first, content_first + _TEXTS_AFTER)[:_LINES_AFTER]
    return [block.text for block in (*reversed(before), *after) if len(block.text) <= 160]


def _iso(match: re.Match[str]) -> str | None:
    day = _day(int(match[1]), int(match[2]), int(match[3]))
    if day is None or match[4] is None:
        return day
    hour, minute, second = int(match[4]), int(match[5]), int(match[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return day
    zone = match[7] or ""
    if zone and zone != "Z":
        zone = f"{zone[:3]}:{zone[-2:]}"
    return f"{day}T{hour:02}:{minute:02}:{second:02}{zone}"


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
