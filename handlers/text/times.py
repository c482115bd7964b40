"""Clock times in a text (R-033, C-06). Durations and ratios are no times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from handlers.text.numbers import small_number
from handlers.text.scripts import is_ideographic
from handlers.text.words import Detail, Reading

if TYPE_CHECKING:
    from handlers.text.patterns import DetailPatterns

DayPart = Literal["am", "pm", "noon", "night"]

_BARE_HOUR = re.compile(r"\d{1,2}(?![:.,%/]*+\d)")
_GOES_ON = re.compile(r"[:.,/]?\d|\s?[点點时時]")
# An hour with nothing behind it that makes it a time.
_BARE = {"cued": ""}
_DAY_MINUTES = 24 * 60


def read_time(
    reading: Reading, start: int, hour_end: int, floor: int, patterns: DetailPatterns, *, has_lead: bool
) -> Detail | None:
    """The clock time whose hour stands at ``start``; the value is ``20:00``.

    A part of the day may stand before it or after it ("7 in the evening", ``下午3:30``). A bare hour needs one, or a
    word such as ``kl.`` before it.

    Args:
        reading: The text.
        start: Where a number begins.
        hour_end: Where it ends.
        floor: Where the detail before it ends: nothing before belongs to this one.
        patterns: How times are written.
        has_lead: Whether a word may stand before the time.
    """
    if has_lead:
        before = reading.skip_blanks_back(start)
        if word := patterns.minute_words.before(reading.folded, reading.text, before):
            return _around_the_hour(reading, start, before - len(word), patterns.minute_words[word], patterns)
    end, groups = patterns.times.match(reading.folded, hour_end) or (hour_end, _BARE)
    after, half = _half_after(reading, end, patterns)
    lead = _lead(reading, start, floor, patterns) if has_lead else _Lead(start)
    is_said = bool(half or lead.has_cue or (lead.half and (groups is not _BARE or lead.is_joined)))
    if "cued" in groups and not is_said and not (lead.has_preposition and "minute" in groups):
        return None
    if groups is _BARE and _GOES_ON.match(reading.folded, end):
        return None
    value = _value(reading.folded[start:hour_end], groups, half or lead.half)
    # Times come in ranges: 3-8pm.
    is_end = reading.folded[start - 1 : start] == "-"
    if value is None or not reading.stands_alone(start, after, start if is_end else floor):
        return None
    return Detail("time", lead.start, after, value)


def join_range(reading: Reading, first: Detail, second: Detail, patterns: DetailPatterns) -> tuple[Detail, Detail]:
    """Two times of a range, where only a word such as "to" stands between them; what one leaves out the other says.

    "From 10 to 4 o'clock" ends in the afternoon, and so does 午後5時から6時: an end without a half of the day lies
    behind its beginning. In "8:30 to 9 pm" the half is that of both. Hours that are counted to 24 stay as they are.
    """
    between = reading.folded[first.end : second.start].strip()
    if between not in patterns.range_words:
        return first, second
    begin, end = int(str(first.value)[:2]), int(str(second.value)[:2])
    if _has_half(reading, second, patterns):
        if not _has_half(reading, first, patterns) and begin < 12 <= end and begin + 12 <= end:
            first = _later(first, begin + 12)
        return first, second
    counts_to_24 = (begin > 12 and not _has_half(reading, first, patterns)) or reading.folded[second.start] == "0"
    if not counts_to_24 and end < begin < end + 12 < 24:
        second = _later(second, end + 12)
    return first, second


def _later(time: Detail, hour: int) -> Detail:
    return Detail("time", time.start, time.end, f"{hour:02d}{str(time.value)[2:]}")


def _has_half(reading: Reading, time: Detail, patterns: DetailPatterns) -> bool:
    folded, text = reading.folded, reading.text
    ends = (patterns.day_parts.before(folded, text, time.end), patterns.day_parts_after.before(folded, text, time.end))
    return any(ends) or bool(patterns.day_parts_ahead.after(folded, text, time.start))


def _half_after(reading: Reading, end: int, patterns: DetailPatterns) -> tuple[int, DayPart | None]:
    place = reading.skip_blanks(end, 1)
    for words in (patterns.day_parts_after, patterns.day_parts):
        word = words.after(reading.folded, reading.text, place)
        # A single letter, as in 8:45p, stands close by; in ideographs the part of the day always comes first.
        if word and (len(word) > 1 or place == end) and not is_ideographic(word[0]):
            return place + len(word), words[word]
    return end, None


@dataclass(frozen=True, slots=True)
class _Lead:
    """What stands before a time.

    Attributes:
        start: Where the time begins with it.
        half: The part of the day.
        has_cue: A word stands there that makes any hour a time.
        has_preposition: A word stands there that may also stand before other numbers.
        is_joined: The part of the day belongs to the hour: through a preposition, or without a blank.
    """

    start: int
    half: DayPart | None = None
    has_cue: bool = False
    has_preposition: bool = False
    is_joined: bool = False


def _lead(reading: Reading, start: int, floor: int, patterns: DetailPatterns) -> _Lead:
    end = reading.skip_blanks_back(start)
    cue = patterns.time_cues.before(reading.folded, reading.text, end)
    preposition = "" if cue else patterns.time_prepositions.before(reading.folded, reading.text, end)
    word = cue or preposition
    first = end - len(word) if cue else start
    if word:
        end = reading.skip_blanks_back(end - len(word))
    half = patterns.day_parts_ahead.before(reading.folded, reading.text, end)
    if not half or end - len(half) < floor:
        return _Lead(first, None, bool(cue), bool(preposition))
    return _Lead(
        end - len(half), patterns.day_parts_ahead[half], bool(cue), bool(preposition), bool(word) or end == start
    )


def _around_the_hour(reading: Reading, start: int, first: int, minutes: int, patterns: DetailPatterns) -> Detail | None:
    if not (found := _BARE_HOUR.match(reading.folded, start)):
        return None
    after, half = _half_after(reading, found.end(), patterns)
    hour = _hour(int(found.group()), half)
    if hour is None or not reading.stands_alone(start, after, start):
        return None
    total = (hour * 60 + minutes) % _DAY_MINUTES
    return Detail("time", first, after, f"{total // 60:02d}:{total % 60:02d}")


def _value(hour_text: str, groups: dict[str, str], half: DayPart | None) -> str | None:
    minute = small_number(groups.get("minute", "")) + 5 * small_number(groups.get("fives", ""))
    minute += 15 * small_number(groups.get("quarters", "")) + 30 * ("half_hour" in groups)
    number = small_number(hour_text)
    hour = _hour(number, half)
    if hour is None or minute > 59 or (number == 24 and minute):
        return None
    return f"{hour:02d}:{minute:02d}"


def _hour(hour: int, half: DayPart | None) -> int | None:
    """The hour of the day; None where there is none, as 19 in the morning."""
    if hour > 24 or (half == "am" and hour > 12):
        return None
    if half == "am" or (half == "night" and (hour == 12 or hour < 6)):
        # At night, twelve is midnight and the hours after it are small.
        return hour % 12
    if (half in ("pm", "night") and hour < 12) or (half == "noon" and hour < 6):
        return hour + 12
    return hour % 24
