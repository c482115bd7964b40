"""What a query states or asks for, as a function of a result: how far the result meets it, in [0, 1]."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from operator import ge, le

from handlers.retrieval.seen_result import SeenResult
from handlers.retrieval.stated import Choice, StatedWords
from handlers.retrieval.weekdays import WEEKDAYS
from handlers.text.background import LESS_COMMON, RARE, UNKNOWN
from handlers.text.word_match import Unit, WordText, fold_words
from handlers.text.words import TERM, AskedKind, Kind
from schemas.evidence import DateEvidence, PriceEvidence, TimeEvidence

Meets = Callable[[SeenResult], float]
Units = tuple[Unit, ...]
Asked = tuple[Choice, str]
"""A choice, and which of its things a query asks for."""
_LONGEST_DATE = 40
_REACH = 5
"""Words behind the name of a place in which the other one may follow: Oslo (OSL), Norway, to Bergen."""
_SENTENCE = re.compile(r"[.!?;|]\s|\n")
_NUMBER = re.compile(r"\d+")
_GOES_ON = re.compile(r"[ ,(’'-]{1,3}")
_CASED = re.compile(r"[A-Za-zÀ-ÿΑ-ωА-я]{3}")
_BEFORE_AGENT = frozenset(
    ("by", "of", "von", "par", "de", "du", "d", "por", "di", "da", "do", "door", "van", "af", "av", "od")
)
"""Words right before the name of an author or another agent: a novel by, of, von, par …"""
_OWN_SIGNS = frozenset(("EUR", "GBP"))
"""Currencies whose sign no other one shares."""


def names(seen: SeenResult, units: Units) -> bool:
    """Whether a result has all of some words."""
    return bool(units) and all(map(seen.words.has, units))


def being(named: tuple[Units, ...], details: tuple[frozenset[Kind], ...]) -> Meets:
    """A thing of a kind: named by one of some words, or with the details of such a thing."""
    return lambda seen: float(
        any(names(seen, units) for units in named) or any(all(map(seen.has, kinds)) for kinds in details)
    )


def having(
    kind: AskedKind, has_name: Callable[[str, AskedKind], bool], counted: Units, asked: Sequence[Asked]
) -> Meets:
    """A detail of a kind; a place is also a name ("it is in Alcântara"), and a number one of what is counted.

    If another choice is named beside a price, the price does not count: that for adults is not that for children.
    """
    if kind == "price" and asked:
        return lambda seen: float(any(_of_choice(asked, seen, by_period=False)))
    if kind == "number" and counted:
        return lambda seen: float(any(WordText(words).has(unit) for words in seen.counted for unit in counted))
    if kind == "name":
        return lambda seen: float(has_name(seen.text, kind))
    if kind == "place":
        return lambda seen: float(seen.has(kind) or has_name(seen.text, kind))
    return lambda seen: float(seen.has(kind) or (kind == "date" and seen.has("time")))


def names_beside(query: str, stated: StatedWords, verb: Units) -> Callable[[str, AskedKind], bool]:
    """Whether a text has a name that the query lacks; true where a script has no capitals.

    A place is behind a word such as "in"; a person is not, and is no day. In a text without the verb that the query has
    behind "who", a name counts only behind a word such as "by" or a label.
    """
    known = WordText(query)

    def has_name(text: str, kind: AskedKind) -> bool:
        if not _CASED.search(text):
            return True
        has_verb = not verb or all(map(WordText(text).has, verb))
        terms = list(TERM.finditer(text))
        for place, term in enumerate(terms):
            if not term[0][:1].isupper() or known.has_word(term[0]) or stated.name_day(term[0]):
                continue
            before = terms[place - 1][0].lower() if place else ""
            is_first = not place or not _GOES_ON.fullmatch(text, terms[place - 1].end(), term.start())
            after = terms[place + 1] if place + 1 < len(terms) else None
            is_beside = after is not None and _GOES_ON.fullmatch(text, term.end(), after.start()) is not None
            next_word = after[0] if after and is_beside else ""
            follows = next_word[:1].isupper() and not known.has_word(next_word)
            # "Shakespeare wrote Hamlet": a rare word before a verb of the question.
            is_said = next_word[:1].islower() and next_word not in stated.small_words and known.has_word(next_word)
            rarity = stated.background.rarity(fold_words(term[0]))
            # "Read More" has no rare word.
            follows = follows and max(rarity, stated.background.rarity(fold_words(next_word))) >= LESS_COMMON
            is_name = follows or (rarity >= (UNKNOWN if is_first else RARE) and (is_said or not is_first))
            if not is_name or (before in stated.places) != (kind == "place"):
                continue
            # "Author: Jo Reed" and "by Jo Reed", but not the work's own name: "Hamlet: Polonius hides".
            gap = text[terms[place - 1].end() if place else 0 : term.start()]
            is_labelled = gap.rstrip().endswith(":") and not known.has_word(before)
            if has_verb or ((before in _BEFORE_AGENT or is_labelled) and not known.has_word(next_word)):
                return True
        return False

    return has_name


def another(stated: str, meets: Meets) -> Callable[[SeenResult], bool]:
    """Whether a result has another day or year than a stated one; ``stated``: date or year."""
    if stated == "year":
        return lambda seen: len(seen.years) == 1 and bool(seen.dates) and not meets(seen)
    return lambda seen: any(day.month for day in seen.dates) and not meets(seen)


def is_turned(before: Sequence[str], joint: str, after: Sequence[str], seen: SeenResult, *, is_direct: bool) -> bool:
    """Whether a result goes only the other way: from Bergen to Oslo, or Bergen – Oslo, and nowhere from Oslo to Bergen.

    A distance is the same both ways. The names of both ends are the words next to the joint and some beside these; only
    a joint that always leads somewhere may be missing.
    """
    if "length" in seen.measures:
        return False
    goes_back = False
    for words in map(TERM.findall, _SENTENCE.split(fold_words(seen.text))):
        if any(word == before[-1] and after[0] in words[at : at + _REACH] for at, word in enumerate(words, 1)):
            return False
        ways = {(way[0], way[2]) for way in zip(words, words[1:], words[2:], strict=False) if way[1] == joint}
        ways |= set(pairwise(words)) if is_direct else set()
        goes_back |= any((one, other) in ways for one in after for other in before)
    return goes_back


def on_day(day: DateEvidence, units: Units) -> Meets:
    """A day that a query states; a date without a year is that day of any year."""
    days = _orders(day)

    def is_same(other: DateEvidence) -> bool:
        is_year = day.date is None or other.date is None or day.date[:4] == other.date[:4]
        return is_year and not days.isdisjoint(_orders(other))

    def is_inside(first: DateEvidence, last: DateEvidence) -> bool:
        found = [_key(one, day) for one in (first, day, last)]
        return None not in found and found == sorted(found, key=str)

    return lambda seen: float(
        any(map(is_same, seen.dates))
        or any(is_inside(one, last) for one, last in seen.ranges if one.kind == last.kind == "date")
        if seen.dates
        else names(seen, units)
    )


def _key(one: DateEvidence, day: DateEvidence) -> str | None:
    """A day as it is ordered among others, with the year of ``day`` if it has none; None if either is open."""
    if not (one.month and one.day):
        return None
    year = (one.date or day.date or "0000")[:4]
    return f"{year}-{one.month:02}-{one.day:02}"


def at_time(time: TimeEvidence) -> Meets:
    """A time that a query states: a result has it, or hours of opening around it."""
    asked = time.time

    def is_open(begin: str, end: str) -> bool:
        return begin <= asked <= end if begin <= end else asked >= begin or asked <= end

    return lambda seen: float(
        any(other.kind == "time" and other.time == asked for other in seen.details)
        or any(is_open(one.time, last.time) for one, last in seen.ranges if one.kind == last.kind == "time")
    )


def in_month(month: int, units: Units) -> Meets:
    """A month that a query states."""
    return lambda seen: float(any(month == at for day in seen.dates for at, _ in _orders(day)) or names(seen, units))


def in_days(name: str, units: Units, today: date | None, *, or_named: bool) -> Meets:
    """Days that a query names from its own day on: "today", "next week", "saturday".

    With ``or_named`` a weekday's name is enough: "closed on Tuesday" answers whether something is open on Tuesday.
    Without the day of the query, any date is enough. A result without a date is one of such a day if it says so, or if
    it has hours of opening.
    """
    span = _span(name, today) if today and name not in WEEKDAYS else None

    def meets(seen: SeenResult) -> float:
        if name in WEEKDAYS:
            weekday = WEEKDAYS.index(name)
            dated = [at for day in seen.dates for at in _as_dates(day, today)]
            is_named = or_named and names(seen, units)
            return float(is_named or weekday in seen.weekdays or any(day.weekday() == weekday for day in dated))
        if not any(day.month for day in seen.dates) and (names(seen, units) or seen.has_hours):
            return 1.0
        if span is None or today is None:
            return float(bool(seen.dates))
        return float(any(span[0] <= at <= span[1] for day in seen.dates for at in _as_dates(day, today)))

    return meets


def bounding(
    price: PriceEvidence, asked: Sequence[Asked], *, is_most: bool, by_period: bool
) -> tuple[Meets, Callable[[SeenResult], bool]]:
    """Whether the first price of a result is within a bound, for others are of parts or months; and whether none is.

    Only prices count that may be in the currency of the bound, without those of another choice: £9 plus VAT.
    """
    bound, holds = Decimal(price.amount), le if is_most else ge

    def within(seen: SeenResult) -> Iterator[bool]:
        same = (other for other in _of_choice(asked, seen, by_period=by_period) if _may_be_same(price, other))
        return (holds(Decimal(other.amount), bound) for other in same)

    return lambda seen: float(next(within(seen), False)), lambda seen: set(within(seen)) == {False}


def _of_choice(asked: Sequence[Asked], seen: SeenResult, *, by_period: bool) -> Iterator[PriceEvidence]:
    for price, beside in seen.prices(by_period=by_period):
        named = (({found for *_, found in choice.spans(beside)}, value) for choice, value in asked)
        if all(value in (found or {value}) for found, value in named):
            yield price


def measuring(amount: Decimal, unit: str, *, is_most: bool) -> Meets:
    """Whether all measures of a kind that a result states are within a bound: which one is meant is not known."""
    holds = le if is_most else ge

    def meets(seen: SeenResult) -> float:
        found = seen.measures.get(unit, ())
        return float(bool(found) and all(holds(other, amount) for other in found))

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


def _as_dates(day: DateEvidence, today: date | None) -> list[date]:
    """The days that a date may mean: in either open order, and without a year those nearest to the day of the query."""
    if day.month and day.date and len(day.date) == len("2024-11-29"):
        return [date.fromisoformat(day.date)]
    years = [int(day.date[:4])] if day.date else [today.year + more for more in (-1, 0, 1)] if today else []
    found = []
    for month, number in _orders(day):
        near = []
        for year in years:
            try:
                near.append(date(year, month, number))
            except ValueError:
                continue
        found += [min(near, key=lambda at: abs(at - today))] if near and today else near
    return found


def _span(name: str, today: date) -> tuple[date, date] | None:
    """The first and the last day that a word means; None beyond the calendar."""
    day, monday = today.toordinal(), today.toordinal() - today.weekday()
    first = day - today.day + 1
    following = first + monthrange(today.year, today.month)[1]
    after = following + monthrange(today.year + today.month // 12, today.month % 12 + 1)[1]
    start, end = {
        "today": (day, day),
        "tomorrow": (day + 1, day + 1),
        "weekend": (monday + 4, monday + 6),
        "next weekend": (monday + 4, monday + 13),
        "week": (monday, monday + 6),
        "next week": (monday + 7, monday + 13),
        "month": (first, following - 1),
        "next month": (following, after - 1),
    }[name]
    is_known = start >= 1 and end <= date.max.toordinal()
    return (date.fromordinal(start), date.fromordinal(end)) if is_known else None
