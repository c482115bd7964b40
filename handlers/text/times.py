"""Clock times in a text (R-033, C-06). Durations and ratios are no times."""

from __future__ import annotations

import re
from typing import NamedTuple

from handlers.text.reading import Clock, Detail, Reading
from handlers.text.scripts import is_ideographic
from handlers.text.words import DayPart, small_number

_BARE_HOUR = re.compile(r"\d{1,2}(?![:.,%/]*+\d)")
_GOES_ON = re.compile(r"[:.,/]?\d|\s?[点點时時]")
# An hour without anything behind it that makes it a time.
_BARE = {"cued": ""}
_DAY_MINUTES = 24 * 60


def read_time(reading: Reading, start: int, hour_end: int, floor: int, *, has_lead: bool) -> Detail[Clock] | None:
    """The clock time whose hour begins at ``start``; nothing before ``floor`` belongs to it.

    A part of the day may be before it or after it ("7 in the evening", ``下午3:30``). A bare hour needs one, or a
    word such as ``kl.`` before it.
    """
    patterns = reading.patterns
    if has_lead:
        before = reading.skip_blanks_back(start)
        if word := reading.before(patterns.minute_words, before):
            return _around_the_hour(reading, start, before - len(word), patterns.minute_words[word])
    end, groups = patterns.times.match(reading.folded, hour_end) or (hour_end, _BARE)
    after, part = _part_after(reading, end)
    lead = _lead(reading, start, floor) if has_lead else _Lead(start)
    is_said = bool(part or lead.has_cue or (lead.part and (groups is not _BARE or lead.is_joined)))
    if "cued" in groups and not is_said and not (lead.has_preposition and "minute" in groups):
        return None
    if groups is _BARE and _GOES_ON.match(reading.folded, end):
        return None
    value = _value(reading.folded[start:hour_end], groups, part or lead.part)
    # Times come in ranges: 3-8pm.
    is_end = reading.folded[start - 1 : start] == "-"
    if value is None or not reading.stands_alone(start, after, start if is_end else floor):
        return None
    return Detail(lead.start, after, value)


def join_range(reading: Reading, first: Detail[Clock], second: Detail[Clock]) -> tuple[Detail[Clock], Detail[Clock]]:
    """Two times of a range, if only a word such as "to" is between them; one completes the other.

    "From 10 to 4 o'clock" ends in the afternoon, and so does 午後5時から6時: an end without a part of the day is after
    its beginning. In "8:30 to 9 pm" the part is that of both. Hours that are counted to 24 stay as they are.
    """
    between = reading.folded[first.end : second.start].strip()
    if between not in reading.patterns.range_words:
        return first, second
    begin, end = first.value.hour, second.value.hour
    if _has_part(reading, second):
        if not _has_part(reading, first) and begin < 12 <= end and begin + 12 <= end:
            first = _later(first, begin + 12)
        return first, second
    counts_to_24 = (begin > 12 and not _has_part(reading, first)) or reading.folded[second.start] == "0"
    if not counts_to_24 and end < begin < end + 12 < 24:
        second = _later(second, end + 12)
    return first, second


def _later(time: Detail[Clock], hour: int) -> Detail[Clock]:
    return Detail(time.start, time.end, Clock(hour, time.value.minute))


def _has_part(reading: Reading, time: Detail[Clock]) -> bool:
    patterns = reading.patterns
    ends = (reading.before(words, time.end) for words in (patterns.day_parts, patterns.day_parts_after))
    return any(ends) or bool(reading.after(patterns.day_parts_ahead, time.start))


def _part_after(reading: Reading, end: int) -> tuple[int, DayPart | None]:
    place = reading.skip_blanks(end, 1)
    for words in (reading.patterns.day_parts_after, reading.patterns.day_parts):
        word = reading.after(words, place)
        # A single letter, as in 8:45p, has no blank before it; in ideographs the part of the day always comes first.
        if word and (len(word) > 1 or place == end) and not is_ideographic(word[0]):
            return place + len(word), words[word]
    return end, None


class _Lead(NamedTuple):
    """The words before a time, which begins at ``start`` with them.

    A cue makes any hour a time; a preposition may also be before other numbers. The part of the day is joined if it
    belongs to the hour: through a preposition, or without a blank.
    """

    start: int
    part: DayPart | None = None
    has_cue: bool = False
    has_preposition: bool = False
    is_joined: bool = False


def _lead(reading: Reading, start: int, floor: int) -> _Lead:
    patterns = reading.patterns
    end = reading.skip_blanks_back(start)
    cue = reading.before(patterns.time_cues, end)
    preposition = "" if cue else reading.before(patterns.time_prepositions, end)
    word = cue or preposition
    first = end - len(word) if cue else start
    if word:
        end = reading.skip_blanks_back(end - len(word))
    part = reading.before(patterns.day_parts_ahead, end)
    if not part or end - len(part) < floor:
        return _Lead(first, None, bool(cue), bool(preposition))
    meaning = patterns.day_parts_ahead[part]
    return _Lead(end - len(part), meaning, bool(cue), bool(preposition), bool(word) or end == start)


def _around_the_hour(reading: Reading, start: int, first: int, minutes: int) -> Detail[Clock] | None:
    """The time of "half past eight"."""
    if not (found := _BARE_HOUR.match(reading.folded, start)):
        return None
    after, part = _part_after(reading, found.end())
    hour = _hour(int(found.group()), part)
    if hour is None or not reading.stands_alone(start, after, start):
        return None
    total = (hour * 60 + minutes) % _DAY_MINUTES
    return Detail(first, after, Clock(*divmod(total, 60)))


def _value(hour_text: str, groups: dict[str, str], part: DayPart | None) -> Clock | None:
    minute = small_number(groups.get("minute", "")) + 5 * small_number(groups.get("fives", ""))
    minute += 15 * small_number(groups.get("quarters", "")) + 30 * ("half_hour" in groups)
    number = small_number(hour_text)
    hour = _hour(number, part)
    if hour is None or minute > 59 or (number == 24 and minute):
        return None
    return Clock(hour, minute)


def _hour(hour: int, part: DayPart | None) -> int | None:
    """The hour of the day; None if there is no such hour, as 19 in the morning."""
    if hour > 24 or (part == "am" and hour > 12):
        return None
    if part == "am" or (part == "night" and (hour == 12 or hour < 6)):
        # At night, twelve is midnight and the hours after it are small.
        return hour % 12
    if (part in ("pm", "night") and hour < 12) or (part == "noon" and hour < 6):
        return hour + 12
    return hour % 24
