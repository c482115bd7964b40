"""Clock times in a text (R-033, C-06).

In: a text and a number in it. Out: the time whose hour stands there, in 24 hours. Durations and ratios are none.
"""

from __future__ import annotations

import re

from handlers.results.details import DetailPatterns, Half
from handlers.results.numbers import small_number
from handlers.results.spans import Detail, Reading
from handlers.results.words import is_ideographic

_BARE_HOUR = re.compile(r"\d{1,2}(?![\d:.,%/]*\d)")
_DAY_MINUTES = 24 * 60


def read_time(reading: Reading, start: int, floor: int, patterns: DetailPatterns) -> Detail | None:
    """The clock time whose hour stands at ``start``; None where there is none. The value is ``20:00``.

    A part of the day may stand before it or after it ("7 in the evening", ``下午3:30``). A bare hour needs one, or a
    word such as ``kl.`` before it.

    Args:
        reading: The text.
        start: Where a number begins.
        floor: Where the detail before it ends: nothing before belongs to this one.
        patterns: How times are written.
    """
    before = reading.skip_blanks_back(start)
    if word := patterns.minute_words.before(reading.folded, reading.text, before):
        return _around_the_hour(reading, start, before - len(word), patterns.minute_words[word], patterns)
    if not (found := patterns.times.match(reading.folded, start)):
        return None
    end, groups = found
    after, half_after = _half_after(reading, end, patterns)
    first, half_before, is_cued, has_preposition = _lead(reading, start, floor, patterns)
    is_a_time = half_after or half_before or is_cued or (has_preposition and "minute" in groups)
    if "cued" in groups and not is_a_time:
        return None
    value = _value(groups, half_after or half_before)
    # Times come in ranges: 3-8pm.
    is_end = reading.folded[start - 1 : start] == "-"
    if value is None or not reading.stands_alone(start, after, start if is_end else floor):
        return None
    return Detail("time", first, after, value)


def _half_after(reading: Reading, end: int, patterns: DetailPatterns) -> tuple[int, Half | None]:
    place = reading.skip_blanks(end, 1)
    for words in (patterns.halves_after, patterns.halves):
        word = words.after(reading.folded, reading.text, place)
        # A single letter, as in 8:45p, stands close by; in ideographs the part of the day always comes first.
        if word and (len(word) > 1 or place == end) and not is_ideographic(word[0]):
            return place + len(word), words[word]
    return end, None


def _lead(reading: Reading, start: int, floor: int, patterns: DetailPatterns) -> tuple[int, Half | None, bool, bool]:
    """What stands before a time: where it begins, the part of the day, whether a cue and whether a preposition does."""
    first = start
    end = reading.skip_blanks_back(start)
    cue = patterns.time_cues.before(reading.folded, reading.text, end)
    preposition = "" if cue else patterns.time_prepositions.before(reading.folded, reading.text, end)
    if word := cue or preposition:
        if end - len(word) < floor:
            return start, None, False, False
        first = end - len(word) if cue else start
        end = reading.skip_blanks_back(end - len(word))
    half = patterns.halves.before(reading.folded, reading.text, end)
    if half and end - len(half) >= floor:
        return end - len(half), patterns.halves[half], bool(cue), bool(preposition)
    return first, None, bool(cue), bool(preposition)


def _around_the_hour(reading: Reading, start: int, first: int, minutes: int, patterns: DetailPatterns) -> Detail | None:
    if not (found := _BARE_HOUR.match(reading.folded, start)):
        return None
    after, half = _half_after(reading, found.end(), patterns)
    hour = _hour(int(found.group()), half)
    if hour is None or not reading.stands_alone(start, after, start):
        return None
    total = (hour * 60 + minutes) % _DAY_MINUTES
    return Detail("time", first, after, f"{total // 60:02d}:{total % 60:02d}")


def _value(groups: dict[str, str], half: Half | None) -> str | None:
    minute = small_number(groups.get("minute", "")) + 5 * small_number(groups.get("fives", ""))
    minute += int("half_hour" in groups) * 30
    number = small_number(groups["hour"])
    hour = _hour(number, half)
    if hour is None or minute > 59 or (number == 24 and minute):
        return None
    return f"{hour:02d}:{minute:02d}"


def _hour(hour: int, half: Half | None) -> int | None:
    """The hour of the day; None where there is none, as 19 in the morning."""
    if hour > 24 or (half == "am" and hour > 12):
        return None
    match half:
        case "am":
            return hour % 12
        case "pm":
            return hour + 12 if hour < 12 else hour % 24
        case "night":
            # At night, twelve is midnight and the hours after it are small.
            return hour % 12 if hour == 12 or hour < 6 else hour + 12 if hour < 12 else hour % 24
        case "noon":
            return hour + 12 if hour < 6 else hour % 24
        case None:
            return hour % 24
