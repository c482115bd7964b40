"""Days of the calendar as texts write them (R-031, R-032, C-06): the one reader of written dates.

In: a text, and where it comes from. Out: its days. Days that no calendar has, version numbers and phone numbers are
none. Evidence and publication dates are read by it, and so are months, eras and orders the same everywhere.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator

from handlers.text.candidates import Candidate
from handlers.text.day_order import UNKNOWN, Order, Origin
from handlers.text.details import DetailPatterns
from handlers.text.numbers import small_number
from handlers.text.spans import Detail, Reading, read_text

LIST_REACH = 6
"""How far the next day of a list stands from the one before it."""

_YEARS = range(1800, 2101)
_LEAP_YEAR = 2024
_LABEL_REACH = 24
_DAYS_BEYOND_MONTHS = 13
_MAX_DAYS = 20
_TOO_MANY_DIGITS = 5
_SHORT_YEAR = 2
_REPUBLIC = 1911
_BUDDHIST = 543
_BUDDHIST_YEARS = range(2400, 2700)
_HAN = re.compile(r"[\u4e00-\u9fff]")


def written_days(
    text: str, patterns: DetailPatterns, origin: Origin = UNKNOWN, limit: int = _MAX_DAYS
) -> Iterator[Detail]:
    """The days of a text in order, the one reader of written dates (``find_evidence`` reads other details beside them).

    Args:
        text: Any text.
        patterns: How dates are written.
        origin: Where the text comes from, which decides what comes first in 03/04/2024.
        limit: Days that are looked for.
    """
    reading = read_text(text)
    floor = last_date = 0
    for start, end, has_lead in patterns.numbers.find(reading.folded, text)[1]:
        if start < floor or (start > floor + 1 and reading.is_inside_number(start, has_lead=has_lead)):
            continue
        if day := read_day(reading, (start, end, has_lead), floor, last_date, patterns, origin):
            yield day
            floor = last_date = day.end
            limit -= 1
            if not limit:
                return


def read_day(
    reading: Reading,
    number: Candidate,
    floor: int,
    last_date: int,
    patterns: DetailPatterns,
    origin: Origin = UNKNOWN,
) -> Detail | None:
    """The day that a number begins, or has its month's name before it; None where there is none.

    The value is ``2024-11-29``, ``--11-29`` without a year, and null where day and month can't be told apart.

    Args:
        reading: The text.
        number: Where the number begins and ends, and whether a word before it says what it is.
        floor: Where the detail before it ends: nothing before belongs to this one.
        last_date: Where the last day ended; days go on in lists without another cue.
        patterns: How dates are written.
        origin: Where the text comes from.
    """
    start, end, has_lead = number
    if has_lead and (day := _date_after_month(reading, start, floor, patterns)):
        return day
    return _read_date(reading, start, floor, last_date, patterns, origin) if end - start < _TOO_MANY_DIGITS else None


def _read_date(
    reading: Reading, start: int, floor: int, last_date: int, patterns: DetailPatterns, origin: Origin
) -> Detail | None:
    if not (found := patterns.dates.match(reading.folded, start)):
        return None
    end, groups = found
    if "cued" in groups and not _has_cue(reading, start, end, last_date, groups, patterns):
        return None
    if "republic" in groups and not (origin.is_chinese or _HAN.search(reading.folded)):
        return None
    if not reading.stands_alone(start, end, floor) or _goes_on(reading.folded, start, end):
        return None
    if patterns.not_dates.search(reading.folded, max(floor, start - _LABEL_REACH), start):
        return None
    first = start
    era = (
        patterns.eras.before(reading.folded, reading.text, reading.skip_blanks_back(start)) if "year" in groups else ""
    )
    if era:
        first = reading.skip_blanks_back(start) - len(era)
        groups["year"] = f"{small_number(groups['year'][-3:]) + patterns.eras[era]:04d}"
    found_day, value = _value(reading, start, groups, patterns, origin)
    return Detail("date", first, end, value) if found_day else None


def _date_after_month(reading: Reading, start: int, floor: int, patterns: DetailPatterns) -> Detail | None:
    """The day whose month's name stands before the number at ``start``: Nov 29."""
    gap = start
    while gap > floor and start - gap < 3 and reading.folded[gap - 1] in " .,-/":
        gap -= 1
    name = patterns.months.before(reading.folded, reading.text, gap)
    first = gap - len(name)
    if not name or first < floor or not (found := patterns.days.match(reading.folded, start)):
        return None
    end, groups = found
    if name in patterns.short_months and "year" not in groups:
        return None
    found_day, value = _date(_year(groups), patterns.months[name], small_number(groups["day"]))
    if not found_day or not reading.stands_alone(start, end, start):
        return None
    return Detail("date", first, end, value)


def _goes_on(folded: str, start: int, end: int) -> bool:
    """Whether a date with hyphens has one more number behind another hyphen: a part number, a build's stamp."""
    return folded[end : end + 1] == "-" and folded[end + 1 : end + 2].isdecimal() and "-" in folded[start:end]


def _value(
    reading: Reading, start: int, groups: dict[str, str], patterns: DetailPatterns, origin: Origin
) -> tuple[bool, str | None]:
    year = _year(groups)
    if "first" in groups:
        # 1.2.34 is a version far more often than a day; as 01.02.34, or with nothing around it, it is a day.
        is_short = (
            len(groups.get("year", "")) == _SHORT_YEAR
            and min(len(groups["first"]), len(groups["second"])) < _SHORT_YEAR
        )
        if groups["mark"] == "." and is_short and not (origin.order == "day" and _is_alone(reading)):
            return False, None
        return _numeric_date(groups, year, origin.order)
    if name := groups.get("month_name"):
        month = _month(reading, start, name, groups, patterns)
    else:
        month = small_number(groups["month"])
    return _date(year, month, small_number(groups["day"]))


def _is_alone(reading: Reading) -> bool:
    """Whether a text is a number with points and nothing else."""
    return not reading.folded.strip().strip("0123456789.")


def _month(reading: Reading, start: int, name: str, groups: dict[str, str], patterns: DetailPatterns) -> int:
    if name in patterns.short_months and not groups.get("year"):
        return 0
    if name in patterns.months:
        return patterns.months[name]
    # A name that is a word too, such as May, is written with a capital, or what stands around it says what it is.
    place = reading.folded.index(name, start)
    written = patterns.months.after(reading.folded, reading.text, place)
    if written or "sure" in groups or groups.get("year"):
        return patterns.months[written or name.capitalize()]
    return 0


def _has_cue(
    reading: Reading, start: int, end: int, last_date: int, groups: dict[str, str], patterns: DetailPatterns
) -> bool:
    if patterns.all_currencies.after(reading.folded, reading.text, reading.skip_blanks(end)):
        return False
    if patterns.date_cues.before(reading.folded, reading.text, reading.skip_blanks_back(start)):
        return True
    if 0 < last_date <= start <= last_date + LIST_REACH:
        return True
    # Alone on its line, 29/2 is a day and 2/15 may be a page.
    line = reading.folded[max(0, start - 2) : start].strip(" \t"), reading.folded[end : end + 2].strip(" \t")
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


def _numeric_date(groups: dict[str, str], year: int | None, order: Order | None) -> tuple[bool, str | None]:
    """A day of two numbers. Points are the sign of those who write the day first; any other sign says nothing."""
    mark, first, second = groups["mark"], groups["first"], groups["second"]
    day_first, as_day_first = _date(year, int(second), int(first))
    month_first, as_month_first = _date(year, int(first), int(second))
    if not (day_first and month_first) or as_day_first == as_month_first:
        return (True, as_day_first) if day_first else (month_first, as_month_first)
    if mark == ".":
        return True, None if order == "month" else as_day_first
    if order is None:
        return True, None
    return True, as_day_first if order == "day" else as_month_first


def _date(year: int | None, month: int, day: int) -> tuple[bool, str | None]:
    if year is not None and year not in _YEARS:
        return False, None
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or _LEAP_YEAR, month)[1]:
        return False, None
    return True, f"{year:04d}-{month:02d}-{day:02d}" if year else f"--{month:02d}-{day:02d}"
