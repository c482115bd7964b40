"""The concrete details of a text: dates, clock times, places and prices (R-022, R-031 to R-035).

In: text and the compiled pattern packs. Out: details with their character offsets and a normalised value, in the
order they stand. A page that answers a question has such details; a page that only leads to answers mostly has not.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from handlers.results.patterns import CompiledPatterns
from schemas.retrieval import Evidence

Kind = Literal["date", "time", "place", "price"]

_YEARS = range(1800, 2101)
_LEAP_YEAR = 2024
_REPUBLIC_OFFSET = 1911
_WIDEN_BY = 16
_REACH = 40
_LABEL_REACH = 24
# Ideographic numbers are too common in prose to look at each; dates and times that use them have one of these signs.
_NUMBER = re.compile(r"\d[\d.,:/ -]*|[月点點时時]")
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
_AFTER_COLON = re.compile(r"[:：](?=\s{0,3}([^\s,，;；|·•。、:：][^\n\r,，;；|·•。、:：]{0,79}))")
_SCALES = {"千": 1_000, "万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}
# Longer matches win; where two are of one length, the kind that says more of itself does.
_RANK: dict[Kind, int] = {"date": 0, "price": 1, "time": 2}


@dataclass(frozen=True, slots=True)
class _Candidate:
    kind: Kind
    start: int
    end: int
    value: str | None


def find_evidence(text: str, patterns: CompiledPatterns, limit: int = 20) -> tuple[Evidence, ...]:
    """The details of a text, in the order they stand; ``text[e.start:e.end] == e.text`` holds for each.

    Values are ``2024-11-29`` or ``--11-29`` for dates (null where day and month can't be told apart), ``20:00`` for
    times, ``25 $`` or ``199.50 DKK`` for prices (``0`` for free admission), and the words themselves for places. Days
    that no calendar has, version numbers, IP addresses and phone numbers are no dates (C-06).

    Args:
        text: Any text; never raises.
        patterns: The packs that say how details are written.
        limit: How many details of each kind are kept at most.
    """
    if not text:
        return ()
    folded = fold(text)
    numbered = _numbered_spans(folded)
    details = patterns.details if _IDEOGRAPH.search(text) else patterns.details_in_letters
    candidates = [
        *_dates(folded, _matches(details.dates, folded, numbered), patterns),
        *_prices(folded, _matches(details.prices, folded, numbered), patterns),
        *_free_admissions(folded, patterns),
        *_times(folded, _matches(details.times, folded, numbered), patterns),
    ]
    places = [*_labelled_places(text, folded, patterns), *_addresses(text, _matches(details.places, text, numbered))]
    return _as_evidence(text, [*_without_overlaps(candidates), *_without_overlaps(places)], limit)


def fold(text: str) -> str:
    """Lower case of the same length, so that offsets hold in both.

    >>> fold("8 PM"), len(fold("İzmir"))
    ('8 pm', 5)
    """
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def _numbered_spans(text: str) -> list[tuple[int, int]]:
    """The parts of a text that numbers stand in: nearly all details have one, and most prose has few."""
    spans: list[tuple[int, int]] = []
    for match in _NUMBER.finditer(text):
        start, end = max(0, match.start() - _REACH), match.end() + _REACH
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _matches(
    expressions: tuple[re.Pattern[str], ...], text: str, spans: list[tuple[int, int]]
) -> Iterator[re.Match[str]]:
    for expression in expressions:
        for start, end in spans:
            yield from expression.finditer(text, start, end)


def _dates(text: str, matches: Iterator[re.Match[str]], patterns: CompiledPatterns) -> Iterator[_Candidate]:
    for match in matches:
        start, end = match.span()
        if _stands_alone(text, start, end) and not patterns.not_dates.search(text, max(0, start - 24), start):
            found, value = _date_value(match, patterns)
            if found:
                yield _Candidate("date", start, end, value)


def _date_value(match: re.Match[str], patterns: CompiledPatterns) -> tuple[bool, str | None]:
    groups = match.groupdict()
    year = _year(groups)
    if year is not None and year not in _YEARS:
        return False, None
    if groups.get("first"):
        return _numeric_date(match, int(groups["first"]), int(groups["second"]), year)
    name = groups.get("month_name")
    month = patterns.months.get(name, 0) if name else _number(groups.get("month") or "0")
    return _date(year, month, _number(groups.get("day") or "0"))


def _year(groups: dict[str, str | None]) -> int | None:
    if republic := groups.get("republic_year"):
        return int(republic) + _REPUBLIC_OFFSET
    if not (text := groups.get("year")):
        return None
    year = int(text) if text.isdigit() else int("".join(str(_number(numeral)) for numeral in text))
    if len(text) == 2:
        return year + (2000 if year < 70 else 1900)
    return year


def _numeric_date(match: re.Match[str], first: int, second: int, year: int | None) -> tuple[bool, str | None]:
    if match["mark"] == "." and len(match["year"]) == 2 and min(len(match["first"]), len(match["second"])) < 2:
        # 1.2.34 is a version far more often than a day; written out as 01.02.34 it is a day.
        return False, None
    day_first, as_day_first = _date(year, second, first)
    month_first, as_month_first = _date(year, first, second)
    if day_first and month_first and first != second and match["mark"] == "/":
        return True, None
    return (True, as_day_first) if day_first else (month_first, as_month_first)


def _date(year: int | None, month: int, day: int) -> tuple[bool, str | None]:
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or _LEAP_YEAR, month)[1]:
        return False, None
    return True, f"{year:04d}-{month:02d}-{day:02d}" if year else f"--{month:02d}-{day:02d}"


def _number(text: str) -> int:
    """A number below a hundred in digits or ideographs; 0 where it is neither."""
    if text.isdecimal():
        return int(text)
    total = 0
    for character in text:
        if character in "十廿卅":
            tens = {"十": 1, "廿": 2, "卅": 3}[character]
            total = (total or 1) * 10 if character == "十" else tens * 10
        else:
            total += max(0, "〇一二三四五六七八九".find(character.replace("零", "〇")))
    return total


def _times(text: str, matches: Iterator[re.Match[str]], patterns: CompiledPatterns) -> Iterator[_Candidate]:
    for match in matches:
        groups = match.groupdict()
        value = _time_value(groups, patterns)
        if value and _stands_alone(text, *match.span()):
            yield _Candidate("time", *match.span(), value)


def _time_value(groups: dict[str, str | None], patterns: CompiledPatterns) -> str | None:
    hour, minute = _number(groups["hour"] or "0"), _number(groups.get("minute") or "0")
    half = patterns.halves.get(groups.get("half") or "")
    if minute > 59 or hour > 24 or (hour == 24 and minute):
        return None
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    return f"{hour % 24:02d}:{minute:02d}"


def _prices(text: str, matches: Iterator[re.Match[str]], patterns: CompiledPatterns) -> Iterator[_Candidate]:
    for match in matches:
        groups = match.groupdict()
        start, end = match.span()
        if _stands_alone(text, start, end):
            currency = patterns.currencies.get(groups.get("currency") or "", "")
            amount = _amount(groups["amount"] or "", groups.get("scale") or "")
            if amount is not None:
                yield _Candidate("price", start, end, f"{amount} {currency}".rstrip())


def _amount(text: str, scale: str) -> str | None:
    """A plain decimal number; the last mark is the decimal one where one or two digits follow it."""
    digits = re.sub(r"[’'\s]", "", text)
    head, mark, tail = digits, "", ""
    if found := re.search(r"[.,](\d{1,2})$", digits):
        head, mark, tail = digits[: found.start()], ".", found.group(1)
    head = re.sub(r"[.,]", "", head)
    if not head.isdecimal():
        return None
    if scale:
        return f"{float(f'{int(head)}.{tail or 0}') * _SCALES[scale]:.0f}"
    return f"{int(head)}{mark}{tail}"


def _free_admissions(text: str, patterns: CompiledPatterns) -> Iterator[_Candidate]:
    for match in patterns.free_of_charge.finditer(text):
        if _stands_alone(text, *match.span()):
            yield _Candidate("price", *match.span(), "0")


def _labelled_places(text: str, folded: str, patterns: CompiledPatterns) -> Iterator[_Candidate]:
    for match in _AFTER_COLON.finditer(text):
        label = patterns.place_label.search(folded, max(0, match.start() - _LABEL_REACH), match.start())
        if label and any(character.isalnum() for character in match[1]):
            yield _Candidate("place", label.start(), match.end(1), " ".join(match[1].split()))


def _addresses(text: str, matches: Iterator[re.Match[str]]) -> Iterator[_Candidate]:
    for match in matches:
        start = _widened(text, match.start())
        yield _Candidate("place", start, match.end(), " ".join(text[start : match.end()].split()))


def _widened(text: str, start: int) -> int:
    # An address in ideographs has no capital to begin with: take in the ideographs before its street sign.
    if not "\u3400" <= text[start] <= "\u9fff":
        return start
    first = start
    while first > 0 and start - first < _WIDEN_BY and "\u3400" <= text[first - 1] <= "\u9fff":
        first -= 1
    return first


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a match is no part of a longer word or number, such as an IP address or a product code."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    if first.isdecimal() and (_joins(before) or (before in set(".,:/-+") and text[start - 2 : start - 1].isdecimal())):
        return False
    if first.isascii() and first.isalpha() and before.isascii() and before.isalpha():
        return False
    if last.isdecimal() and (after.isdecimal() or (after in set(".,:/-") and text[end + 1 : end + 2].isdecimal())):
        return False
    return not (last.isascii() and last.isalpha() and after.isalpha() and after.isascii())


def _joins(character: str) -> bool:
    return character.isdecimal() or (character.isascii() and (character.isalpha() or character == "_"))


def _without_overlaps(candidates: list[_Candidate]) -> list[_Candidate]:
    kept: list[_Candidate] = []
    covered_until = -1
    # By start; of those that begin together the longest. A later overlap only wins when it is longer.
    for candidate in sorted(candidates, key=lambda c: (c.start, -c.end, _RANK.get(c.kind, 3))):
        if candidate.start >= covered_until:
            kept.append(candidate)
            covered_until = candidate.end
        elif candidate.end - candidate.start > kept[-1].end - kept[-1].start:
            kept[-1] = candidate
            covered_until = candidate.end
    return kept


def _as_evidence(text: str, candidates: list[_Candidate], limit: int) -> tuple[Evidence, ...]:
    counts: dict[Kind, int] = {}
    found: list[Evidence] = []
    for candidate in sorted(candidates, key=lambda c: (c.start, c.end)):
        counts[candidate.kind] = counts.get(candidate.kind, 0) + 1
        if counts[candidate.kind] <= limit:
            found.append(
                Evidence(
                    kind=candidate.kind,
                    text=text[candidate.start : candidate.end],
                    start=candidate.start,
                    end=candidate.end,
                    value=candidate.value,
                )
            )
    return tuple(found)
