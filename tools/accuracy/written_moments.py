"""Whether a labelled day or time is written in a text, so that it can be found there without knowing what day it is.

The input is a mention's words and its value in TIMEX form, as its set has them. The result is the absolute days and
clock times in it, or why it has no such value.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TIMEX_DAY = re.compile(r"(\d{4}|XXXX|XX\d\d)-(\d\d)-(\d\d)")
_TIMEX_TIME = re.compile(r"T(\d\d)(?::(\d\d))?(?::\d\d)?$")
_RANGE = re.compile(r"\(([^,()]+),([^,()]+),")
_MONTHS = [
    "jan|january|januar", "feb|february|februar", "mar|march|märz", "apr|april", "may|mai", "jun|june|juni",
    "jul|july|juli", "aug|august", "sep|sept|september", "oct|october|okt|oktober", "nov|november",
    "dec|december|dez|dezember",
]  # fmt: skip
_IDEOGRAPHS = {"〇": 0, "零": 0, **{sign: n for n, sign in enumerate("一二三四五六七八九十", 1)}, "两": 2, "兩": 2}
_HOUR_MARK = r"\s?(?:[:：.]\s?\d\d|[ap]\.?m|[ap]\b|uhr|[点點时時]|o['’]clock)"
_VAGUE = re.compile(r"^(?:at|around|about|by|um|gegen|after|before|from)?\s*\d{1,2}$")


@dataclass(frozen=True, slots=True)
class Expected:
    """Something labelled: its kind, its value as ``value_of`` writes it, and its position (if known).

    Attributes:
        currency: An ISO code or a sign; "" without a label.
        currency_text: The currency as written.
    """

    kind: str
    value: str
    start: int = 0
    end: int = 10**9
    currency: str = ""
    currency_text: str = ""


def moments(span: dict[str, Any], written: str, start: int, end: int) -> tuple[list[Expected], str]:
    """The days and times of a labelled mention that are in scope, or the reason why there is no such value."""
    kind = span["type"].rpartition(".")[2]
    values = (span.get("resolution") or {}).get("values") or [{}]
    timex = values[0].get("timex") or ""
    if kind in ("duration", "set", "timezone"):
        return [], kind
    if values[0].get("isLunar"):
        return [], "lunar calendar"
    if kind.endswith("range"):
        return _range_ends(timex, written, start, end, kind)
    if expected := [*_parts(timex, written, start, end)]:
        return expected, ""
    if day := _TIMEX_DAY.match(timex):
        return [], "relative day" if _is_day(day) else "no such day"
    if kind in ("date", "datetime"):
        return [], "relative day"
    return [], "hour in words or bare" if _TIMEX_TIME.search(timex) else "part of the day"


def _range_ends(timex: str, written: str, start: int, end: int, kind: str) -> tuple[list[Expected], str]:
    ends = _RANGE.match(timex)
    moments = (ends[1], ends[2]) if ends else (timex,)
    found = [part for moment in moments for part in _parts(moment, written, start, end, bool(ends), strict_time=True)]
    return list(dict.fromkeys(found)), "" if found else f"{kind} without days or times in full"


def _parts(
    moment: str, written: str, start: int, end: int, strict_day: bool = False, strict_time: bool = False
) -> Iterator[Expected]:
    """The day and the time of a moment that are written."""
    day, time = _TIMEX_DAY.match(moment), _TIMEX_TIME.search(moment)
    if day and _is_day(day) and _has_day(written, int(day[2]), int(day[3]), strictly=strict_day):
        yield Expected("date", f"-{day[0][4:]}" if day[1] == "XXXX" else day[0], start, end)
    if time and _has_time(written, int(time[1]), strictly=strict_time):
        yield Expected("time", f"{int(time[1]) % 24:02d}:{time[2] or '00'}", start, end)


def _is_day(day: re.Match[str]) -> bool:
    year = int(day[1]) if day[1].isdigit() else 2024
    return 1 <= int(day[2]) <= 12 and 1 <= int(day[3]) <= monthrange(year, int(day[2]))[1]


def _has_day(written: str, month: int, day: int, *, strictly: bool = False) -> bool:
    """Whether day and month are both written; of a range with two ends, side by side."""
    folded = unicodedata.normalize("NFKC", written).lower()
    names = f"(?:{_MONTHS[month - 1]})"
    number = rf"(?<!\d)0?{day}(?!\d)"
    if not strictly:
        return day in numbers(folded) and (month in numbers(folded) or bool(re.search(rf"\b{names}", folded)))
    written_month = rf"(?<!\d)0?{month}"
    shapes = (
        rf"{number}(?:st|nd|rd|th|\.)?(?:\sof)?[\s/-]{{0,2}}{names}\b",
        rf"\b{names}\.?[\s-]{{1,2}}{number}",
        rf"{written_month}[/.-]{number}|{number}[/.-]{written_month}(?!\d)|{written_month}\s?月\s?{number}",
    )
    return any(re.search(shape, folded) for shape in shapes)


def _has_time(written: str, hour: int, *, strictly: bool = False) -> bool:
    """Whether the hour is written as a number with what makes it a time; beside a part of the day outside of ranges."""
    folded = unicodedata.normalize("NFKC", written).lower()
    hours = {hour, hour % 12 or 12, hour % 12, 24 if hour == 0 else hour}
    if any(re.search(rf"(?<!\d)0?{number}(?!\d){_HOUR_MARK}", folded) for number in hours):
        return True
    if re.search(r"[点點时時]", folded) and hours & numbers(folded):
        return True
    if re.search(r"\b(?:halb|halv)\b", folded) and {(h % 12) + 1 for h in hours} & numbers(folded):
        return True
    return not strictly and bool(hours & numbers(folded)) and not _VAGUE.match(folded) and "now" not in folded


def numbers(text: str) -> set[int]:
    """The numbers of a text, also those in ideographs below a hundred."""
    folded = unicodedata.normalize("NFKC", text)
    found = {int(digits) for digits in re.findall(r"\d{1,9}", folded)}
    for run in re.findall(f"[{''.join(_IDEOGRAPHS)}廿]{{1,4}}", folded):
        tens, mark, ones = run.replace("廿", "二十").rpartition("十")
        found.add((_IDEOGRAPHS[tens[-1]] if tens else 1) * 10 * bool(mark) + (_IDEOGRAPHS[ones[-1]] if ones else 0))
    return found
