"""What a query states or asks for, as a function of a result: how far the result meets it, in [0, 1]."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

from handlers.retrieval.seen_result import SeenResult
from handlers.text.word_match import Unit, WordText, share_met
from handlers.text.words import AskedKind, Kind
from schemas.evidence import DateEvidence, PriceEvidence

Meets = Callable[[SeenResult], float]
Units = tuple[Unit, ...]
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ROUNDING = 1e-9
_LONGEST_DATE = 40
_CLOSED = re.compile(
    r"(?i:\b(?:closed|geschlossen|ruhetag|fermée?s?|cerrad[oa]s?|chius[oaie]|fechad[oa]s?|gesloten|lukket|stängt|zamknięt\w|nieczynn\w|zavřeno))|休|휴무"
)
_NUMBER = re.compile(r"\d+")
_OWN_SIGNS = frozenset(("EUR", "GBP"))
"""Currencies whose sign no other one shares."""


def names(seen: SeenResult, units: Units) -> bool:
    """Whether a result has all of some words."""
    return share_met(units, seen.words) > 1.0 - _ROUNDING


def being(named: tuple[Units, ...], details: tuple[frozenset[Kind], ...]) -> Meets:
    """A thing of a kind: named by one of some words, or with the details of such a thing."""
    return lambda seen: float(
        any(names(seen, units) for units in named) or any(all(map(seen.has, kinds)) for kinds in details)
    )


def having(kind: AskedKind, has_name: Callable[[str, AskedKind], bool], counted: Units) -> Meets:
    """A detail of a kind; a place is also a name ("it is in Alcântara"), and a number one of what is counted."""
    if kind == "number" and counted:
        return lambda seen: float(any(WordText(words).has(unit) for words in seen.counted for unit in counted))
    if kind == "name":
        return lambda seen: float(has_name(seen.text, kind))
    if kind == "place":
        return lambda seen: float(seen.has(kind) or has_name(seen.text, kind))
    return lambda seen: float(seen.has(kind) or (kind == "date" and seen.has("time")))


def identified(name: str) -> Meets:
    """The name of a model, an error or a road."""
    return lambda seen: float(seen.has_identifier(name))


def on_day(day: DateEvidence, units: Units) -> Meets:
    """A day that a query states; a date without a year is that day of any year."""
    days = _orders(day)

    def is_same(other: DateEvidence) -> bool:
        is_year = day.date is None or other.date is None or day.date[:4] == other.date[:4]
        return is_year and not days.isdisjoint(_orders(other))

    return lambda seen: float(any(map(is_same, seen.dates)) if seen.dates else names(seen, units))


def in_month(month: int, units: Units) -> Meets:
    """A month that a query states."""
    return lambda seen: float(any(month == at for day in seen.dates for at, _ in _orders(day)) or names(seen, units))


def in_year(year: int) -> Meets:
    """A year that a query states; days without any year may be of that year."""
    return lambda seen: float(year in seen.years or (bool(seen.dates) and not seen.years))


def in_days(name: str, units: Units, today: date | None) -> Meets:
    """Days that a query names from its own day on: "today", "next week", "saturday".

    Without the day of the query, any date is enough. A result without a date is one of such a day if it says so, or if
    it has hours of opening.
    """
    span = _span(name, today) if today and name not in WEEKDAYS else None

    def meets(seen: SeenResult) -> float:
        if name in WEEKDAYS:
            weekday = WEEKDAYS.index(name)
            dated = [_as_date(day, today) for day in seen.dates]
            named = [part for part in seen.parts if share_met(units, WordText(part)) > 1.0 - _ROUNDING]
            if named and all(_CLOSED.search(part) for part in named):
                return 0.0
            return float(bool(named) or any(day is None or day.weekday() == weekday for day in dated))
        if not seen.dates:
            return float(names(seen, units) or seen.has_hours)
        if span is None or today is None:
            return 1.0
        return float(any((at := _as_date(day, today)) and span[0] <= at <= span[1] for day in seen.dates))

    return meets


def within(price: PriceEvidence, *, is_most: bool) -> Meets:
    """A first price within a bound, in a currency that may be that of the bound; others are of parts or months."""
    bound = Decimal(price.amount)

    def meets(seen: SeenResult) -> float:
        first = next((other for other in seen.prices if _may_be_same(price, other)), None)
        if first is None:
            return 0.0
        return float(Decimal(first.amount) <= bound if is_most else Decimal(first.amount) >= bound)

    return meets


def _may_be_same(one: PriceEvidence, other: PriceEvidence) -> bool:
    """Whether two prices may be in one currency: a sign that several share may be that of a code."""
    units = one.currency or one.unit, other.currency or other.unit
    return (
        units[0] == units[1]
        or not all(units)
        or (None in (one.currency, other.currency) and _OWN_SIGNS.isdisjoint(units) and not (one.unit and other.unit))
    )


def _orders(day: DateEvidence) -> set[tuple[int, int]]:
    """Month and day of a date; both orders where its text leaves that open: 03/04/2026."""
    if day.month and day.day:
        return {(day.month, day.day)}
    numbers = [int(number) for number in _NUMBER.findall(day.text[:_LONGEST_DATE])]
    return {(one, other) for one, other in (numbers[:2], numbers[1::-1])} if len(numbers) > 1 else set()


def _as_date(day: DateEvidence, today: date | None) -> date | None:
    """A day of a result; without a year, that nearest to the day of the query. None if no calendar has it."""
    if not day.month or not day.day:
        return None
    if day.date and len(day.date) == len("2024-11-29"):
        return date.fromisoformat(day.date)
    if today is None:
        return None
    found = []
    for year in (today.year - 1, today.year, today.year + 1):
        try:
            found.append(date(year, day.month, day.day))
        except ValueError:
            continue
    return min(found, key=lambda at: abs(at - today), default=None)


def _span(name: str, today: date) -> tuple[date, date]:
    """The first and the last day that a word means."""
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    after = (following + timedelta(days=31)).replace(day=1)
    day, week = timedelta(days=1), timedelta(days=7)
    return {
        "today": (today, today),
        "tomorrow": (today + day, today + day),
        "weekend": (monday + 4 * day, monday + 6 * day),
        "next weekend": (monday + 4 * day, monday + 13 * day),
        "week": (monday, monday + 6 * day),
        "next week": (monday + week, monday + week + 6 * day),
        "month": (first, following - day),
        "next month": (following, after - day),
    }[name]
