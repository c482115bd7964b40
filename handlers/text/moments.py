"""A date that somebody states: a day, or an instant in its own zone.

A text goes in, a ``date`` or ``datetime`` comes out. This module reads what machines write (ISO 8601, seconds since
1970); ``handlers.text.dates`` reads what people write. A day, a time or a zone that does not exist gives None. There
is no clock here, so "yesterday" is not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone

from handlers.text.dates import written_days
from handlers.text.day_order import UNKNOWN, Origin
from handlers.text.details import DetailPatterns

Moment = date | datetime

_ISO = re.compile(
    r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s?(Z|UTC|GMT|[+-]\d{1,2}:?\d{2}(?!\d))?)?",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=T|\d{4,6}Z?$|\D|$)")
_EPOCH = re.compile(r"^(\d{10}|\d{13})$")
_DIGIT = re.compile(r"\d")
_MAX_CHARACTERS = 300
_FULL_DAY = len("2024-05-03")
_EARLIEST_ZONE, _LATEST_ZONE = timedelta(hours=-12), timedelta(hours=14)
_END_OF_TIME = date(2100, 1, 1)


@dataclass(frozen=True, slots=True)
class Span:
    """A date in a text: where it stands, and its value; None where day and month can't be told apart."""

    start: int
    end: int
    value: Moment | None


class MomentReader:
    """Reads dates under one set of patterns."""

    def __init__(self, patterns: DetailPatterns) -> None:
        self.patterns = patterns

    def read(self, text: str, origin: Origin = UNKNOWN) -> Moment | None:
        """The first date that a text holds; None where there is none, or where it can't be told which.

        Args:
            text: A stated or visible date; what stands around it is ignored.
            origin: Where the text comes from.
        """
        text = text[:_MAX_CHARACTERS]
        if _DIGIT.search(text) is None:
            return None
        if _ISO.search(text) is not None:
            return stated_moment(text)
        spans = self.spans(text, origin)
        return spans[0].value if spans else stated_moment(text)

    def spans(self, text: str, origin: Origin = UNKNOWN) -> list[Span]:
        """The days of a text that have a year, in order."""
        found = []
        for day in written_days(text, self.patterns, origin):
            if day.value is None:
                found.append(Span(day.start, day.end, None))
            elif len(day.value) == _FULL_DAY:
                found.append(Span(day.start, day.end, date.fromisoformat(day.value)))
        return found


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
        return calendar_day(int(match[1]), int(match[2]), int(match[3]))
    if match := _EPOCH.search(text.strip()):
        return datetime.fromtimestamp(int(match[1][:10]), UTC)
    return None


def may_be_date(text: str) -> bool:
    """Whether a text may be a date, without the words that dates are written with: for those who check a form.

    >>> may_be_date("3 May 2024"), may_be_date("2024-13-01"), may_be_date("yesterday")
    (True, False, False)
    """
    text = text[:_MAX_CHARACTERS]
    match = _ISO.search(text)
    return _DIGIT.search(text) is not None and (match is None or _iso(match) is not None)


def instant_at(text: str, start: int) -> Moment | None:
    """The instant or day in ISO 8601 that begins at a place of a text; None where none does."""
    match = _ISO.match(text, start)
    return None if match is None else _iso(match)


def calendar_day(year: int, month: int, day: int) -> date | None:
    """A day of the calendar; None where it has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def day_of(moment: Moment) -> date:
    """The day of a date in its own zone."""
    return moment.date() if isinstance(moment, datetime) else moment


def is_plausible(moment: Moment, earliest_year: int, fetched_at: datetime | None) -> bool:
    """Whether a page can have been published then: not before the earliest year, and not after its fetch anywhere.

    Args:
        moment: When it is said to have been published.
        earliest_year: Days before it are taken for mistakes.
        fetched_at: When it was fetched, None where that is not known.
    """
    latest = _END_OF_TIME
    if fetched_at is not None and fetched_at.year < earliest_year:
        return False
    if fetched_at is not None and fetched_at.year < _END_OF_TIME.year:
        universal = fetched_at.astimezone(UTC) if fetched_at.tzinfo else fetched_at
        latest = (universal + _LATEST_ZONE).date()
    return earliest_year <= day_of(moment).year and day_of(moment) <= latest


def _iso(match: re.Match[str]) -> Moment | None:
    day = calendar_day(int(match[1]), int(match[2]), int(match[3]))
    if day is None or match[4] is None:
        return day
    try:
        return datetime(
            day.year, day.month, day.day, int(match[4]), int(match[5]), int(match[6] or 0), tzinfo=_zone(match[7])
        )
    except ValueError:
        return None


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    ahead = timedelta(hours=int(digits[:-2]), minutes=int(digits[-2:])) * (-1 if text[0] == "-" else 1)
    if not _EARLIEST_ZONE <= ahead <= _LATEST_ZONE or int(digits[-2:]) >= 60:
        raise ValueError(f"no country has the zone {text}")
    return timezone(ahead)
