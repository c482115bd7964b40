"""The concrete details of a text: dates, clock times, places and prices (R-022, R-031 to R-035).

A page that answers a question has such details; a page that only leads to answers mostly has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handlers.text.dates import UNKNOWN, Origin, read_day
from handlers.text.patterns import DetailPatterns
from handlers.text.places import find_addresses, labelled_places
from handlers.text.prices import read_price
from handlers.text.reading import Reading, read_text
from handlers.text.scripts import is_ideographic
from handlers.text.times import join_range, read_time
from handlers.text.words import Detail, Kind, Number
from schemas.retrieval import Evidence


def find_evidence(
    text: str, patterns: DetailPatterns, limit: int = 20, origin: Origin = UNKNOWN
) -> tuple[Evidence, ...]:
    """The details of a text, in its order; ``text[e.start:e.end] == e.text`` holds for each.

    Values are ``2024-11-29`` or ``--11-29`` for dates (null where day and month can't be told apart), ``20:00`` for
    times, ``25 $`` or ``199.50 DKK`` for prices (``0`` for free admission), and the words themselves for places. Days
    that no calendar has, version numbers, IP addresses and phone numbers are no dates (C-06).

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


def _moments_and_prices(reading: Reading, numbers: Sequence[Number], origin: Origin) -> list[Detail]:
    floor, last_date = 0, 0
    found: list[Detail] = []
    for number in numbers:
        if not reading.is_free(number, floor):
            continue
        start, end, has_lead = number
        may_be_hour = end - start < 3 or not reading.folded[start].isdecimal()
        detail = (
            read_day(reading, number, floor, last_date, origin)
            or read_price(reading, start, floor, has_lead=has_lead)
            or (read_time(reading, start, end, floor, has_lead=has_lead) if may_be_hour else None)
        )
        if detail:
            if found and detail.kind == found[-1].kind == "time":
                found[-1], detail = join_range(reading, found[-1], detail)
            found.append(detail)
            floor = detail.end
            last_date = floor if detail.kind == "date" else last_date
    return found


def _free_admissions(reading: Reading) -> Iterator[Detail]:
    folded = reading.folded
    for match in reading.patterns.free_of_charge.finditer(folded):
        start, end = match.span()
        begins_inside = bool(start) and folded[start - 1].isalpha() and not is_ideographic(folded[start])
        if not begins_inside and not (folded[end : end + 1].isalpha() and not is_ideographic(folded[end])):
            yield Detail("price", start, end, "0")


def _joined(details: list[Detail]) -> list[Detail]:
    """The details in order; of those that overlap the longest."""
    kept: list[Detail] = []
    for detail in sorted(details, key=lambda detail: (detail.start, -detail.end)):
        if not kept or detail.start >= kept[-1].end:
            kept.append(detail)
        elif detail.end - detail.start > kept[-1].end - kept[-1].start:
            kept[-1] = detail
    return kept


def _behind(address: Detail, details: list[Detail], text: str) -> Detail:
    """An address without the day and time before it: in ideographs, no blank shows its beginning."""
    if not any(map(is_ideographic, text[address.start : address.end])):
        return address
    inside = [detail.end for detail in details if detail.start < address.end and address.start < detail.end]
    start = max((end for end in inside if end < address.end), default=address.start)
    if start == address.start:
        return address
    return Detail("place", start, address.end, " ".join(text[start : address.end].split()))


def _outside(details: list[Detail], addresses: list[Detail]) -> Iterator[Detail]:
    """The details that are no part of an address: in "Hauptstraße 12a" the house is no time, "12 a.m."."""
    waiting = iter([*addresses, None])
    address = next(waiting)
    for detail in details:
        while address is not None and address.end <= detail.start:
            address = next(waiting)
        if address is None or not (address.start <= detail.start and detail.end <= address.end):
            yield detail


def _as_evidence(text: str, details: list[Detail], limit: int) -> tuple[Evidence, ...]:
    counts: dict[Kind, int] = {}
    found: list[Evidence] = []
    for detail in sorted(details, key=lambda detail: (detail.start, detail.end)):
        counts[detail.kind] = counts.get(detail.kind, 0) + 1
        if counts[detail.kind] <= limit:
            start, end = detail.start, detail.end
            found.append(Evidence(kind=detail.kind, text=text[start:end], start=start, end=end, value=detail.value))
    return tuple(found)
