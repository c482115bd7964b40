"""The concrete details of a text: dates, clock times, places and prices (R-022, R-031 to R-035).

A page that answers a question has such details; a page that only leads to answers mostly has not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeGuard, TypeVar

from handlers.text.dates import UNKNOWN, Origin, read_day
from handlers.text.patterns import DetailPatterns
from handlers.text.places import find_addresses, labelled_places
from handlers.text.prices import read_price
from handlers.text.reading import AnyDetail, Clock, Day, Detail, Place, Price, Reading, is_currency_code, read_text
from handlers.text.scripts import is_ideographic
from handlers.text.times import join_range, read_time
from handlers.text.words import Number
from schemas.evidence import DateEvidence, DatePrecision, Evidence, PlaceEvidence, PriceEvidence, TimeEvidence

_Some = TypeVar("_Some", bound=AnyDetail)


def find_evidence(
    text: str, patterns: DetailPatterns, limit: int = 20, origin: Origin = UNKNOWN
) -> tuple[Evidence, ...]:
    """The details of a text, in its order; ``text[e.start:e.end] == e.text`` holds for each.

    Days that no calendar has, version numbers, IP addresses and phone numbers are no dates (C-06).

    At most ``limit`` details of each kind are kept. The origin of the text decides what comes first in 03/04/2024.
    """
    if not text:
        return ()
    reading = read_text(text, patterns)
    numbers = reading.numbers()
    found = [*_moments_and_prices(reading, numbers, origin), *_free_admissions(reading)]
    known = _joined(found)
    addresses = [_behind(address, known, text) for address in find_addresses(reading, numbers)]
    places = [*addresses, *labelled_places(reading)]
    return _as_evidence(text, [*_outside(known, addresses), *_joined(places)], limit)


def _moments_and_prices(reading: Reading, numbers: Sequence[Number], origin: Origin) -> list[AnyDetail]:
    floor, last_date = 0, 0
    found: list[AnyDetail] = []
    for number in numbers:
        if not reading.is_free(number, floor):
            continue
        start, end, has_lead = number
        may_be_hour = end - start < 3 or not reading.folded[start].isdecimal()
        detail: AnyDetail | None = (
            read_day(reading, number, floor, last_date, origin)
            or read_price(reading, start, floor, has_lead=has_lead)
            or (read_time(reading, start, end, floor, has_lead=has_lead) if may_be_hour else None)
        )
        if detail:
            if found and _is_time(found[-1]) and _is_time(detail):
                found[-1], detail = join_range(reading, found[-1], detail)
            found.append(detail)
            floor = detail.end
            last_date = floor if isinstance(detail.value, Day) else last_date
    return found


def _free_admissions(reading: Reading) -> Iterator[Detail[Price]]:
    folded = reading.folded
    for match in reading.patterns.free_of_charge.finditer(folded):
        start, end = match.span()
        begins_inside = bool(start) and folded[start - 1].isalpha() and not is_ideographic(folded[start])
        if not begins_inside and not (folded[end : end + 1].isalpha() and not is_ideographic(folded[end])):
            yield Detail(start, end, Price("0", ""))


def _is_time(detail: AnyDetail) -> TypeGuard[Detail[Clock]]:
    return isinstance(detail.value, Clock)


def _joined(details: Sequence[_Some]) -> list[_Some]:
    """The details in order; of those that overlap the longest."""
    kept: list[_Some] = []
    for detail in sorted(details, key=lambda detail: (detail.start, -detail.end)):
        if not kept or detail.start >= kept[-1].end:
            kept.append(detail)
        elif detail.end - detail.start > kept[-1].end - kept[-1].start:
            kept[-1] = detail
    return kept


def _behind(address: Detail[Place], details: list[AnyDetail], text: str) -> Detail[Place]:
    """An address without the day and time before it: in ideographs, no blank shows its beginning."""
    if not any(map(is_ideographic, text[address.start : address.end])):
        return address
    inside = [detail.end for detail in details if detail.start < address.end and address.start < detail.end]
    start = max((end for end in inside if end < address.end), default=address.start)
    if start == address.start:
        return address
    return Detail(start, address.end, Place(" ".join(text[start : address.end].split())))


def _outside(details: list[AnyDetail], addresses: list[Detail[Place]]) -> Iterator[AnyDetail]:
    """The details that are no part of an address: in "Hauptstraße 12a" the house is no time, "12 a.m."."""
    waiting = iter([*addresses, None])
    address = next(waiting)
    for detail in details:
        while address is not None and address.end <= detail.start:
            address = next(waiting)
        if address is None or not (address.start <= detail.start and detail.end <= address.end):
            yield detail


def _as_evidence(text: str, details: list[AnyDetail], limit: int) -> tuple[Evidence, ...]:
    counts: Counter[type] = Counter()
    found: list[Evidence] = []
    for detail in sorted(details, key=lambda detail: (detail.start, detail.end)):
        kind = type(detail.value)
        counts[kind] += 1
        if counts[kind] <= limit:
            found.append(_evidence(text[detail.start : detail.end], detail))
    return tuple(found)


def _evidence(text: str, detail: AnyDetail) -> Evidence:
    start, end = detail.start, detail.end
    match detail.value:
        case Price(amount, unit):
            currency, shared = (unit, None) if is_currency_code(unit) else (None, unit or None)
            return PriceEvidence(text=text, start=start, end=end, amount=amount, currency=currency, unit=shared)
        case Day(year, month, day):
            date, precision = _certain_date(year, month, day)
            return DateEvidence(text=text, start=start, end=end, date=date, precision=precision, month=month, day=day)
        case Clock(hour, minute):
            return TimeEvidence(text=text, start=start, end=end, time=f"{hour:02d}:{minute:02d}")
        case Place(name):
            return PlaceEvidence(text=text, start=start, end=end, name=name)


def _certain_date(year: int | None, month: int | None, day: int | None) -> tuple[str | None, DatePrecision | None]:
    if year is None:
        return None, None
    if month is None or day is None:
        return f"{year:04d}", "year"
    return f"{year:04d}-{month:02d}-{day:02d}", "day"
