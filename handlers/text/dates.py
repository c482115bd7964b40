"""The one reader of dates (R-031, R-032, C-06): days as people write them, and moments as machines state them.

A day that no calendar has, a version number and a phone number are no dates. "Yesterday" is not read, for lack of a
clock.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from handlers.text.patterns import DetailPatterns
from handlers.text.reading import Day, Detail, Reading, read_text
from handlers.text.scripts import has_han
from handlers.text.words import Number, small_number

Moment = date | datetime
Order = Literal["day", "month"]

LIST_REACH = 6
"""The most characters between one day of a list and the next."""

_HOST = re.compile(r"^(?:[a-z][a-z0-9+.-]{0,20}:)?//(?:[^/?#@]{0,200}@)?([^/?#:\\]{1,253})", re.IGNORECASE)
_TAG = re.compile(r"^\s{0,4}([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_]([a-z]{2})(?![a-z]))?", re.IGNORECASE)
_ISO = re.compile(
    r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)"
    r"(?:[T ]+(\d{1,2}):(\d{2}(?::\d{2})?)(?:[.,]\d{1,9})?\s?(?:([ap])\.?m\b\.?\s?)?"
    r"(Z|UTC|GMT|[+-]\d{1,2}:?\d{2}(?!\d))?)?",
    re.IGNORECASE,
)
_COMPACT = re.compile(
    r"(?<!\d)((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=T|\d{4,6}Z?$|\D|$)"
    r"(?:T(\d{2}):?(\d{2})(?::?\d{2}(?:\.\d{1,9})?)?()(Z|[+-]\d{2}:?\d{2}(?!\d))?)?"
)
_OF_COMMAND = re.compile(r"\b([A-Z][a-z]{2}) {1,2}(\d{1,2}) \d{2}:\d{2}:\d{2} (?:[AP]M )?(?:[A-Z]{3,4} )?(\d{4})\b")
"""As the command ``date`` and ``ctime`` write it: Fri Jul 16 12:34:56 UTC 2021."""
_EPOCH = re.compile(r"^(\d{10}|\d{13})$")
_DIGIT = re.compile(r"\d")
_YEARS = range(1800, 2101)
_LEAP_YEAR = 2024
_LABEL_REACH = 24
_DAYS_BEYOND_MONTHS = 13
_MAX_TAG, _MAX_DAYS, _MAX_CHARACTERS = 40, 20, 300
_TOO_MANY_DIGITS = 5
_REPUBLIC, _BUDDHIST = 1911, 543
_BUDDHIST_YEARS = range(2400, 2700)
_NOON, _MIDNIGHT = 12, 24
_LATEST_ZONE = timedelta(hours=14)


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a text's origin.

    Attributes:
        order: What comes first in 03/04/2024; None if that is open.
        is_chinese: Whether 113/05/03 may count the years of the Republic of China without Chinese words beside it.
    """

    order: Order | None = None
    is_chinese: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A date in a text; its value is None if day and month can't be told apart."""

    start: int
    end: int
    value: Moment | None


UNKNOWN = Origin()


def origin_of(url: str, declared: Iterable[str], language: str | None, patterns: DetailPatterns) -> Origin:
    """The origin of a text: its country decides the order of day and month, then its language.

    Args:
        url: The page's address; its last label may be a country's.
        declared: Language tags and locales of the page: ``en-GB``, ``en_US``. One of another language than the text's
            is a template's and not believed.
        language: The language of the text; None if it is not known.
        patterns: The countries and languages that write the month first.
    """
    tags = [match for tag in declared if (match := _TAG.match(tag[:_MAX_TAG]))]
    languages = {match[1].lower() for match in tags} | {language}
    regions = {match[2].lower() for match in tags if match[2] and language in {None, match[1].lower()}}
    host = _HOST.match(url)
    label = host[1].rstrip(".").rpartition(".")[2].lower() if host else ""
    if label in patterns.region_of_domains:
        regions.add(patterns.region_of_domains[label])
    elif len(label) == 2 and label.isalpha() and label not in patterns.worldwide_domains:
        regions.add(label)
    order: Order | None = "day"
    if regions:
        orders = {_order_in(region, patterns) for region in regions}
        order = orders.pop() if len(orders) == 1 else None
    elif languages.isdisjoint(patterns.day_first_languages):
        order = None
    return Origin(order, "zh" in languages)


def _order_in(region: str, patterns: DetailPatterns) -> Order | None:
    if region in patterns.open_regions:
        return None
    return "month" if region in patterns.month_first_regions else "day"


class MomentReader:
    """Reads dates with one set of patterns."""

    def __init__(self, patterns: DetailPatterns) -> None:
        self.patterns = patterns

    def read(self, text: str, origin: Origin = UNKNOWN) -> Moment | None:
        """The first date of a text; None without one, or if its day and month can't be told apart."""
        text = text[:_MAX_CHARACTERS]
        if _DIGIT.search(text) is None:
            return None
        if _ISO.search(text) is not None:
            return stated_moment(text)
        spans = self.spans(text, origin)
        if not spans and (match := _OF_COMMAND.search(text)):
            spans = self.spans(" ".join(match.groups()), origin)
        return spans[0].value if spans else stated_moment(text)

    def spans(self, text: str, origin: Origin = UNKNOWN) -> list[Span]:
        """The days of a text that have a year, in order."""
        days = written_days(text, self.patterns, origin)
        named = [day for day in days if day.value.month is None or day.value.year is not None]
        return [Span(day.start, day.end, _of_calendar(day.value)) for day in named]


def written_days(
    text: str, patterns: DetailPatterns, origin: Origin = UNKNOWN, limit: int = _MAX_DAYS
) -> Iterator[Detail[Day]]:
    """The days of a text in order, at most ``limit`` (``find_evidence`` reads other details beside them)."""
    reading = read_text(text, patterns)
    floor = 0
    for number in reading.numbers():
        if reading.is_free(number, floor) and (day := read_day(reading, number, floor, floor, origin)):
            yield day
            floor = day.end
            limit -= 1
            if not limit:
                return


def read_day(
    reading: Reading, number: Number, floor: int, last_date: int, origin: Origin = UNKNOWN
) -> Detail[Day] | None:
    """The day that a number begins, or that has its month's name before the number.

    Args:
        reading: The text.
        number: Its place.
        floor: The end of the detail before it: nothing before belongs to this one.
        last_date: The end of the last day; days go on in lists without another cue.
        origin: The origin of the text.
    """
    patterns = reading.patterns
    start, end, has_lead = number
    if has_lead and (day := _date_after_month(reading, start, floor)):
        return day
    if end - start >= _TOO_MANY_DIGITS or not (found := patterns.dates.match(reading.folded, start)):
        return None
    end, groups = found
    if "cued" in groups and not _has_cue(reading, start, end, last_date, groups):
        return None
    if "republic" in groups and not (origin.is_chinese or has_han(reading.folded)):
        return None
    if not reading.stands_alone(start, end, floor):
        return None
    if patterns.not_dates.search(reading.folded, max(floor, start - _LABEL_REACH), start):
        return None
    first = start
    before = reading.skip_blanks_back(start)
    if "year" in groups and (era := reading.before(patterns.eras, before)):
        first = before - len(era)
        groups["year"] = f"{small_number(groups['year'][-3:]) + patterns.eras[era]:04d}"
    value = _value(reading, start, groups, origin)
    return None if value is None else Detail(first, end, value)


def _date_after_month(reading: Reading, start: int, floor: int) -> Detail[Day] | None:
    """The day whose month's name is before the number at ``start``: Nov 29."""
    patterns = reading.patterns
    gap = reading.skip_back(start, 3, " .,-/", floor)
    name = reading.before(patterns.months, gap)
    first = gap - len(name)
    if not name or first < floor or not (found := patterns.days.match(reading.folded, start)):
        return None
    end, groups = found
    if name in patterns.short_months and "year" not in groups:
        return None
    value = _date(_year(groups), patterns.months[name], small_number(groups["day"]))
    if value is None or not reading.stands_alone(start, end, start):
        return None
    return Detail(first, end, value)


def _value(reading: Reading, start: int, groups: dict[str, str], origin: Origin) -> Day | None:
    """What is said of a day; None if it is no day."""
    year = _year(groups)
    if "first" in groups:
        # 1.2.34 is a version far more often than a day; as 01.02.34, or with nothing around it, it is a day.
        is_short = len(groups.get("year", "")) == 2 and min(len(groups["first"]), len(groups["second"])) < 2
        is_alone = not reading.folded.strip().strip("0123456789.")
        if groups["mark"] == "." and is_short and not (origin.order == "day" and is_alone):
            return None
        return _numeric_date(groups, year, origin.order)
    name = groups.get("month_name")
    month = _month(reading, start, name, groups) if name else small_number(groups["month"])
    return _date(year, month, small_number(groups["day"]))


def _month(reading: Reading, start: int, name: str, groups: dict[str, str]) -> int:
    patterns = reading.patterns
    if name in patterns.short_months and not groups.get("year"):
        return 0
    if name in patterns.months:
        return patterns.months[name]
    # A name that is a word too, such as May, has a capital, or the words around it say what it is.
    written = reading.after(patterns.months, reading.folded.index(name, start))
    if written or "sure" in groups or groups.get("year"):
        return patterns.months[written or name.capitalize()]
    return 0


def _has_cue(reading: Reading, start: int, end: int, last_date: int, groups: dict[str, str]) -> bool:
    folded, patterns = reading.folded, reading.patterns
    if reading.after(patterns.all_currencies, reading.skip_blanks(end)):
        return False
    cue_end = reading.skip_back(reading.skip_blanks_back(start), start, ".,")
    if reading.before(patterns.date_cues, cue_end) or 0 < last_date <= start <= last_date + LIST_REACH:
        return True
    # Alone on its line, 29/2 is a day and 2/15 may be a page.
    line = folded[max(0, start - 2) : start].strip(" \t"), folded[end : end + 2].strip(" \t")
    is_alone = all(not side or "\n" in side for side in line)
    return is_alone and groups.get("mark") == "/" and int(groups["first"]) >= _DAYS_BEYOND_MONTHS


def _year(groups: dict[str, str]) -> int | None:
    if text := groups.get("republic"):
        return int(text) + _REPUBLIC
    if not (text := groups.get("year")):
        return None
    year = int(text) if text.isdecimal() else int("".join(str(small_number(numeral)) for numeral in text))
    if len(text) == 2:
        return year + (2000 if year < 70 else 1900)
    if year in _BUDDHIST_YEARS and not groups.get("month_name", "a").isascii():
        return year - _BUDDHIST
    # 113年 is a year of the Republic of China; no text in Chinese dates a day in the second century so.
    return year + _REPUBLIC if len(text) == len("113") else year


def _numeric_date(groups: dict[str, str], year: int | None, order: Order | None) -> Day | None:
    """A day of two numbers. Points are the sign of those who write the day first; any other sign says nothing."""
    first, second = int(groups["first"]), int(groups["second"])
    day_first, month_first = _date(year, second, first), _date(year, first, second)
    if day_first is None or month_first is None or day_first == month_first:
        return day_first or month_first
    if groups["mark"] == "." and order != "month":
        return day_first
    if groups["mark"] == "." or order is None:
        return Day(year, None, None)
    return day_first if order == "day" else month_first


def _date(year: int | None, month: int, day: int) -> Day | None:
    if year is not None and year not in _YEARS:
        return None
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or _LEAP_YEAR, month)[1]:
        return None
    return Day(year, month, day)


def _of_calendar(day: Day) -> date | None:
    """A day that is named with its year; None if its day and month can't be told apart."""
    if day.year is None or day.month is None or day.day is None:
        return None
    return date(day.year, day.month, day.day)


def iso_text(moment: Moment) -> str:
    """A moment as events write it, UTC as ``Z``.

    >>> iso_text(datetime(2024, 5, 3, 8, tzinfo=UTC)), iso_text(date(2024, 5, 3))
    ('2024-05-03T08:00:00Z', '2024-05-03')
    """
    return moment.isoformat().replace("+00:00", "Z")


def stated_moment(text: str) -> Moment | None:
    """The date that a machine stated: ISO 8601, the same without hyphens, or seconds or milliseconds since 1970.

    >>> stated_moment("2024-05-03T15:47:42.389+02:00").isoformat()
    '2024-05-03T15:47:42+02:00'
    >>> stated_moment("2024-05-03T15:47:42+99:99") is None
    True
    """
    text = text[:_MAX_CHARACTERS]
    if match := _ISO.search(text):
        return _iso(match)
    if match := _COMPACT.search(text):
        return _iso(match)
    if match := _EPOCH.search(text.strip()):
        return datetime.fromtimestamp(int(match[1][:10]), UTC)
    return None


def may_be_date(text: str) -> bool:
    """Whether a text may be a date: it has a digit, and no ISO date that does not exist.

    >>> may_be_date("3 May 2024"), may_be_date("2024-13-01"), may_be_date("yesterday")
    (True, False, False)
    """
    text = text[:_MAX_CHARACTERS]
    match = _ISO.search(text)
    return _DIGIT.search(text) is not None and (match is None or _iso(match) is not None)


def instant_at(text: str, start: int) -> Moment | None:
    """The instant or day in ISO 8601 that begins at a place of a text."""
    match = _ISO.match(text, start)
    return None if match is None else _iso(match)


def calendar_day(year: int, month: int, day: int) -> date | None:
    """A day of the calendar; None if it has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def day_of(moment: Moment) -> date:
    """The day of a date in its own zone."""
    return moment.date() if isinstance(moment, datetime) else moment


def is_plausible(moment: Moment, earliest_year: int, fetched_at: datetime | None) -> bool:
    """Whether a page can have been published then: not before the earliest year, and not after its fetch anywhere."""
    latest = date(2100, 1, 1)
    if fetched_at is not None and fetched_at.year < earliest_year:
        return False
    if fetched_at is not None and fetched_at.year < latest.year:
        universal = fetched_at.astimezone(UTC) if fetched_at.tzinfo else fetched_at
        latest = (universal + _LATEST_ZONE).date()
    return earliest_year <= day_of(moment).year and day_of(moment) <= latest


def _iso(match: re.Match[str]) -> Moment | None:
    day = calendar_day(int(match[1]), int(match[2]), int(match[3]))
    if day is None or match[4] is None:
        return day
    zone = match[7] or ""
    if zone[:1] in ("+", "-"):
        hours = zone[1:].replace(":", "").zfill(4)
        zone = f"{zone[0]}{hours[:2]}:{hours[2:]}"
    elif zone:
        zone = "Z"
    hour, half = int(match[4]), (match[6] or "").lower()
    if half and 1 <= hour <= _NOON:
        hour = hour % _NOON + _NOON * (half == "p")
    # The day's last midnight is 24:00.
    is_end = hour == _MIDNIGHT and not int(match[5].replace(":", ""))
    try:
        found = datetime.fromisoformat(f"{day}T{0 if is_end else hour:02}:{match[5]}{zone}")
        return found + timedelta(days=is_end)
    except (ValueError, OverflowError):
        return None
