"""The days of the week on which a text says that something is open or takes place."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from handlers.text.word_match import fold_words
from handlers.text.words import one_of

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TO = re.compile(
    r"\.?\s?(?:[-–—~～〜至到]|to|through|thru|until|bis|til|till|au|al|à|tot|t/m|do|a|até|hasta|から)\s?"
    r"(?:den |the |zum |il |le |la |de )?"
)
"""What joins the ends of a range."""
JOIN = re.compile(r"\.?\s?(?:[,&+/、・]|,?\s?(?:and|und|et|y|e|ed|og|och|en|i|a)\s)\s?(?:on |am |le |el |il )?")
"""What joins days that are named one by one."""
PARTS = re.compile(r"[.!?;,][ \n]|,(?=[\u3040-\u9fff])|[\n。！？；，、()（）]")
_HOUR = re.compile(r"\.?,?:?\s?(?:\|\s)?\d{1,2}\s?(?:[:.h]\d\d|[ap]m\b|uhr|h\b|[-–])")
"""What is behind a short name of a weekday, which may be another word elsewhere."""
_DATED_BEFORE = re.compile(r"(?:(?<![\d:.h–-])\d{1,2}|(?:19|20)\d\d)\.?\s\Z")
_YEAR_BEHIND = re.compile(r"\.?\s(?:19|20)\d\d(?!\d)")
_BETWEEN = re.compile(r"\W*(?:[^\W\d]+\W+){0,3}|\W*(?:[^\W\d]+\W+){0,2}[^\W\d]+")
"""What may be between a day and the word that says that something is closed: three words, and no hours."""
_REACH, _BESIDE, _FARTHEST_LINK = 50, 8, 16
"""Characters between a word and its denial or day, before a short name where a date may be, and between joined days."""


class _Mark(NamedTuple):
    """A word of the week, what it means, and the number of its clause."""

    start: int
    end: int
    meaning: str
    clause: int = 0


class _Days(NamedTuple):
    """Some days, where they are named, their clause, whether as exceptions, and those of a list that came before."""

    start: int
    end: int
    days: frozenset[int]
    clause: int
    is_exception: bool
    first: frozenset[int]


class Week:
    """Reads days of the week: names and ranges of them, every day, exceptions, and days of closing."""

    def __init__(self, names: Mapping[str, str], short: Mapping[str, str], denies: Callable[[str], bool]) -> None:
        """Takes folded words.

        Args:
            names: Of days, with the English ones.
            short: Shorter names, and words for "daily", "except", "open" and "closed".
            denies: Whether a text ends with a denial.
        """
        self._short = {word for word, meaning in short.items() if meaning in WEEKDAYS}
        self._meanings = {**short, **{word: name for word, name in names.items() if name in WEEKDAYS}}
        self._pattern, self._denies = one_of(self._meanings, ending="s?"), denies

    def open_in(self, text: str) -> frozenset[int]:
        """The days of a text, Monday is 0; neither those of which it says only that something is closed."""
        text = fold_words(text)
        marks = self._marks(text)
        groups = self._groups(text, marks)
        starts = [group.start for group in groups]
        shut = {place: group.days for place, group in enumerate(groups) if group.is_exception}
        for mark in marks:
            before = text[max(0, mark.start - _REACH) : mark.start]
            if mark.meaning in ("open", "closed") and self._denies(before) == (mark.meaning == "open"):
                behind = bisect(starts, mark.start)
                near = [place for place in (behind - 1, behind) if _belongs(text, mark, groups, place)]
                # "Sunday closed Monday 10-18" closes the day before it, and "Closed Monday, Tuesday 10-18" the first.
                has_hours = near[-1:] == [behind] and _HOUR.match(text, groups[behind].end)
                for place in near[:1] if has_hours else near:
                    days = groups[place].first if has_hours and place == behind else groups[place].days
                    shut[place] = shut.get(place, frozenset()) | days
        found = frozenset().union(*(group.days - shut.get(place, frozenset()) for place, group in enumerate(groups)))
        is_daily = any(mark.meaning == "daily" for mark in marks)
        return found | (frozenset(range(7)).difference(*shut.values()) if is_daily else frozenset())

    def _marks(self, text: str) -> list[_Mark]:
        """The words of the week. A point behind a short name, and a comma in a list of days, divide no clauses."""
        found: list[_Mark] = []
        for match in self._pattern.finditer(text):
            meaning = self._meanings.get(match[0]) or self._meanings[match[0].removesuffix("s")]
            clause, before = (found[-1].clause, found[-1]) if found else (0, None)
            if before is not None:
                since = before.end + (before.meaning in WEEKDAYS and text[before.start : before.end] in self._short)
                is_list = {before.meaning, meaning}.issubset(WEEKDAYS) and _link(text, before.end, match.start())
                clause += not is_list and PARTS.search(text, min(since, match.start()), match.start() + 1) is not None
            found.append(_Mark(*match.span(), meaning, clause))
        return found

    def _groups(self, text: str, marks: list[_Mark]) -> list[_Days]:
        """The days and the lists of days."""
        known = self._known(text, marks)
        found: list[_Days] = []
        exceptions: set[int] = set()
        for mark in marks:
            if mark.meaning == "except":
                exceptions.add(mark.clause)
            if mark.end not in known:
                continue
            last = WEEKDAYS.index(mark.meaning)
            days = frozenset((last,))
            link = _link(text, found[-1].end, mark.start) if found else None
            if link is None:
                found.append(_Days(*mark[:2], days, mark.clause, mark.clause in exceptions, days))
                continue
            before = found[-1]
            if link is TO:
                begin = known[before.end]
                days = frozenset(at % 7 for at in range(begin, begin + (last - begin) % 7 + 1))
            first = days if link is TO and before.days == before.first else before.first
            found[-1] = before._replace(end=mark.end, days=before.days | days, first=first)
        return found

    def _known(self, text: str, marks: list[_Mark]) -> dict[int, int]:
        """The days that are meant, by the ends of names: a short name is one in a range or before hours or closing."""
        days = [mark for mark in marks if mark.meaning in WEEKDAYS]
        links = [None, *(_link(text, one.end, other.start) for one, other in pairwise(days)), None]
        short = [text[day.start : day.end] in self._short for day in days]
        pairs = ((one, other) for one, other in pairwise(marks) if other.meaning == "closed")
        shut = {one.end for one, other in pairs if not text[one.end : other.start].strip(" .:|\n")}
        known: dict[int, int] = {}
        for place in range(len(days) - 1, -1, -1):
            start, end, meaning, _ = days[place]
            is_told = text[start] < "\u3040" and (end in shut or _HOUR.match(text, end) is not None)
            is_listed = links[place + 1] is JOIN and short[place + 1] and days[place + 1].end in known
            is_date = _DATED_BEFORE.search(text[max(0, start - _BESIDE) : start]) or _YEAR_BEHIND.match(text, end)
            if not short[place] or ((TO in links[place : place + 2] or is_told or is_listed) and not is_date):
                known[end] = WEEKDAYS.index(meaning)
        # "man 12-15 years", "sex 18-25": another word, beside no other day.
        return known if len(set(known.values())) > 1 or not all(short) else {}


def _belongs(text: str, mark: _Mark, groups: list[_Days], place: int) -> bool:
    """Whether "closed" is said of some days: in one clause, or behind them as a clause of its own."""
    if not 0 <= place < len(groups):
        return False
    group = groups[place]
    since, until = (group.end, mark.start) if group.start < mark.start else (mark.end, group.start)
    if until - since > _REACH:
        return False
    if group.clause == mark.clause:
        return _BETWEEN.fullmatch(text, since, until) is not None
    is_alone = PARTS.match(f"{text[mark.end : mark.end + 2]}\n") is not None
    return until == mark.start and is_alone and not any(map(str.isalnum, text[since:until]))


def _link(text: str, end: int, start: int) -> re.Pattern[str] | None:
    """What joins two days, if anything does."""
    if start - end > _FARTHEST_LINK:
        return None
    return next((link for link in (TO, JOIN) if link.fullmatch(text, end, start)), None)
