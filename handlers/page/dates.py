"""When a page was published: a date as text goes in, ISO 8601 comes out, and the best of a page's dates.

A stated instant stays an instant in its own zone, a day a day. What can't be read, lies before the earliest year or
after the fetch is no date. No clock here: "yesterday" is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_ERAS = {"民國": 1911, "中華民國": 1911, "民国": 1911, "令和": 2018, "平成": 1988, "昭和": 1925}
_ERA = re.compile(r"(民國|民国|令和|平成|昭和)\s?(\d{1,3}|元)\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日")
# A year of three digits before 年 is one of the Republic; between numbers alone only beside Chinese words.
_REPUBLIC = re.compile(r"(?<!\d)(1\d{2})\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日")
_REPUBLIC_NUMBERS = re.compile(r"(?<![\d./-])(9\d|1\d{2})([-/.])(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?![\d./-])")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_DAY_FIRST_NAME = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|º|ª)?[.,]?(?:\s|-|/|&nbsp;){0,3}(?:of\s|de\s|di\s)?([^\W\d_]{3,12})\.?,?(?:\s|-|/){0,3}(?:de\s|del\s)?((?:19|20)\d{2})(?!\d)"
)
_MONTH_FIRST_NAME = re.compile(
    r"(?<![^\W\d_])([^\W\d_]{3,12})\.?\s{0,3}(\d{1,2})(?:st|nd|rd|th)?,?\s{1,3}(?:at\s)?((?:19|20)\d{2})(?!\d)"
)
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2((?:19|20)\d{2}|\d{2})(?![\d/])")
_IN_URL = re.compile(
    r"/((?:19|20)\d{2})(?:([/-])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))(?=[/_.+%-]|$)"
    r"|-((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?:\.[a-z]{1,5}|/)?$"
)
_DIGIT = re.compile(r"\d")
_EPOCH = re.compile(r"^(\d{10}|\d{13})$")
_PROPERTIES = ("itemprop:datepublished", "itemprop:datecreated")
_MAX_LINE_CHARACTERS = 160
_MAX_MARK_CHARACTERS = 160
_MAX_LINES = 60
_MAX_LABELLED_LINES = 400
_NEAR_TEXTS = 40
_DATELINE_CHARACTERS = 60

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
    words: DateWords,
    fetched_at: datetime | None,
) -> FoundDate | None:
    """The publication date of a page, from what states it most plainly to what merely shows it.

    Args:
        outline: The page.
        data: Its structured data.
        url: Its address, which often holds the day: the site's own, where an instant of universal time has another.
        near: Where visible dates are looked for.
        words: The configured names and words.
        fetched_at: When the page was fetched; it can't have been published more than a day later.
    """
    fetched_on = min(fetched_at.date(), _END_OF_TIME) if fetched_at else _END_OF_TIME
    latest = fetched_on + timedelta(days=1)
    language = outline.language.lower()
    month_first = language in {"", "en", "en-us", "en_us"}
    is_chinese = language.startswith("zh")
    in_url = _in_url(url)
    for text, seen_in in _candidates(outline, data, in_url, near, words):
        iso = parse_date(text, month_first, is_chinese)
        if iso is not None and words.earliest_year <= int(iso[:4]) and iso[:10] <= latest.isoformat():
            return FoundDate(in_url if _is_other_side_of_midnight(iso, in_url) else iso, seen_in)
    return None


def parse_date(text: str, month_first: bool = False, is_chinese: bool = False) -> str | None:
    """The first date that a text holds, as ISO 8601; None where there is none.

    Args:
        text: A stated or visible date; what stands around it is ignored.
        month_first: Whether 03/04/2024 is the fourth of March.
        is_chinese: Whether 113-05-03 is a date of the Republic of China; it is beside Chinese words anyway.

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
    if _DIGIT.search(text) is None:
        return None
    if match := _ISO.search(text):
        return _iso(match)
    if not text.isascii() and (match := _ERA.search(text)):
        year = 1 if match[2] == "元" else int(match[2])
        return _day(year + _ERAS[match[1]], int(match[3]), int(match[4]))
    if not text.isascii() and (match := _REPUBLIC.search(text)):
        return _day(int(match[1]) + _ERAS["民國"], int(match[2]), int(match[3]))
    if match := _YEAR_FIRST.search(text):
        return _day(*map(int, match.groups()))
    if (match := _REPUBLIC_NUMBERS.search(text)) and (is_chinese or _HAN.search(text)):
        return _day(int(match[1]) + _ERAS["民國"], int(match[3]), int(match[4]))
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


class DateWords:
    """The configured names and words around dates, compiled once."""

    def __init__(self, reading: PageReadingSection) -> None:
        self.published_names = tuple(reading.date_names)
        self.updated_names = tuple(reading.updated_names)
        self.earliest_year = reading.earliest_year
        updated = "|".join(sorted(map(re.escape, reading.updated_words), key=len, reverse=True))
        published = "|".join(sorted(map(re.escape, reading.published_words), key=len, reverse=True))
        self._updates = tuple(word.lower() for word in reading.updated_words)
        self._labels = (*self._updates, *(word.lower() for word in reading.published_words))
        self._updated = re.compile(rf"(?<![^\W\d_])(?:{updated})(?![a-z])", re.IGNORECASE)
        self._labelled = re.compile(
            rf"(?<![^\W\d_])(?:{published}|{updated})\W{{0,5}}(?:[^\W\d_]{{1,10}}\s){{0,2}}\d", re.IGNORECASE
        )

    def published(self, text: str) -> str:
        """What stands before the first word that says a change: "Published 3 May, updated 4 May" was published once."""
        # Most lines hold none of the words: looking for each by itself is several times as fast as for any of them.
        lower = text.lower()
        match = self._updated.search(text) if any(word in lower for word in self._updates) else None
        return text if match is None else text[: match.start()]

    def is_labelled(self, line: str) -> bool:
        """Whether a line says of a date what it is."""
        if _DIGIT.search(line) is None:
            return False
        lower = line.lower()
        return any(word in lower for word in self._labels) and self._labelled.search(line) is not None


def _candidates(
    outline: Outline, data: StructuredData, in_url: str, near: Near, words: DateWords
) -> Iterator[tuple[str, str]]:
    yield data.published, "json-ld datePublished"
    for name in words.published_names:
        yield from ((content, f"meta {name}") for content in outline.meta.get(name, ()))
    stated = stated_marks(outline)
    for name in _PROPERTIES:
        yield from ((text, name) for mark in stated if mark.name == name for text in (mark.value, mark.text))
    yield data.created, "json-ld dateCreated"
    timed = [mark for mark in times(outline, near) if not mark.boilerplate]
    yield from ((mark.value, "time") for mark in timed if mark.name == "time" and mark.distance <= _NEAR_TEXTS)
    yield in_url, "url"
    named = [mark for mark in near.named if mark.name == "hint:date" and not mark.boilerplate]
    named = [mark for mark in named if len(mark.text) <= _MAX_MARK_CHARACTERS]
    for mark in named:
        yield from ((text, "date by class name") for text in (mark.value, words.published(mark.text)))
    lines = [line for line in _lines(outline, near) if _DIGIT.search(line)]
    yield from ((words.published(line), "visible date") for line in lines)
    yield from ((mark.value, "time") for mark in timed if mark.name == "time")
    yield from ((mark.value, "time") for mark in timed)
    yield from ((text, "date by class name") for mark in named for text in (mark.value, mark.text))
    yield data.modified, "json-ld dateModified"
    for name in words.updated_names:
        yield from ((content, f"meta {name}") for content in outline.meta.get(name, ()))
    yield from ((line, "visible date") for line in lines)
    for block in outline.blocks()[-_MAX_LABELLED_LINES:]:
        line = block.text[:_MAX_LINE_CHARACTERS]
        if words.is_labelled(line):
            yield line, "labelled date"


def _in_url(url: str) -> str:
    """The day in a page's address; "" where it holds none."""
    match = _IN_URL.search(url)
    parts = [int(part) for part in match.groups() if part and part.isdigit()] if match else []
    return _day(*parts) or "" if parts else ""


def _is_other_side_of_midnight(iso: str, day: str) -> bool:
    """Whether an instant of universal time is on the day before or after the one that the site counts it to."""
    if not day or not iso.endswith(("Z", "+00:00")) or iso[:10] == day:
        return False
    return abs((date.fromisoformat(iso[:10]) - date.fromisoformat(day)).days) == 1


def _lines(outline: Outline, near: Near) -> Iterator[str]:
    """Short lines around the heading and the beginning of the main text, and how its first paragraphs begin."""
    for place in near.places:
        blocks = [
            block
            for block in outline.blocks(place.start, place.stop)[:_MAX_LINES]
            if near.is_head(block.start) or not outline.is_boilerplate(block.element)
        ]
        blocks.sort(key=lambda block: near.distance(block.start))
        yield from (block.text for block in blocks if len(block.text) <= _MAX_LINE_CHARACTERS)
        yield from (block.text[:_DATELINE_CHARACTERS] for block in blocks if len(block.text) > _MAX_LINE_CHARACTERS)


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
