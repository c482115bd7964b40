"""The days of the week on which a text says that something is open or takes place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from handlers.text.word_match import fold_words
from handlers.text.words import one_of

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TO = re.compile(
    r"\.?\s?(?:[-–—~～〜至到]|to|through|thru|until|bis|til|till|au|al|à|tot|t/m|do|a|até|hasta|から)\s?"
    r"(?:den |the |zum |il |le |la |de )?"
)
"""What joins the ends of a range."""
PARTS = re.compile(r"[.!?;,][ \n]|,(?=[\u3040-\u9fff])|[\n。！？；，、()（）]")
_HOUR = re.compile(r"\.?,?\s?\d{1,2}\s?(?:[:.h]\d\d|[ap]m\b|uhr|h\b|[-–])")
"""What is behind a short name of a weekday, which may be another word elsewhere."""
_BETWEEN = re.compile(r"\W*(?:[^\W\d]+\W+){0,2}|\W*(?:[^\W\d]+\W+)?[^\W\d]+")
"""What may be between a day and the word that says that something is closed: two words, and no hours."""


class _Days(NamedTuple):
    """Some days, where they are named, and whether as exceptions."""

    start: int
    end: int
    days: frozenset[int]
    is_exception: bool


class Week:
    """Reads days of the week: names and ranges of them, every day, exceptions, and days of closing."""

    def __init__(self, names: Mapping[str, str], short: Mapping[str, str], denies: Callable[[str], bool]) -> None:
        """Takes folded words.

        Args:
            names: Of days, with the English ones.
            short: Shorter names, and words for "daily", "except" and "closed".
            denies: Whether a text ends with a denial.
        """
        self._short = {word for word, meaning in short.items() if meaning in WEEKDAYS}
        self._meanings = {**short, **{word: name for word, name in names.items() if name in WEEKDAYS}}
        self._pattern, self._denies = one_of(self._meanings, ending="s?"), denies

    def open_in(self, text: str) -> frozenset[int]:
        """The days of a text, Monday is 0; neither those of which it says only that something is closed."""
        found: set[int] = set()
        shut: set[int] = set()
        is_daily = False
        for part in map(fold_words, PARTS.split(text)):
            marks = [(*match.span(), self._meaning(match[0])) for match in self._pattern.finditer(part)]
            is_daily |= any(meaning == "daily" for _, _, meaning in marks)
            closed = [at for *at, meaning in marks if meaning == "closed" and not self._denies(part[: at[0]])]
            for start, end, days, is_exception in self._days(part, marks):
                gaps = (part[min(end, until) : max(start, since)] for since, until in closed)
                is_shut = is_exception or any(_BETWEEN.fullmatch(gap) for gap in gaps)
                (shut if is_shut else found).update(days)
        return frozenset(found | (set(range(7)) - shut if is_daily else set()))

    def _meaning(self, word: str) -> str:
        return self._meanings.get(word) or self._meanings[word.removesuffix("s")]

    def _days(self, part: str, marks: list[tuple[int, int, str]]) -> list[_Days]:
        found: list[_Days] = []
        is_exception = False
        for (start, end, meaning), following in zip(marks, [*marks[1:], None], strict=False):
            is_exception |= meaning == "except"
            if meaning not in WEEKDAYS:
                continue
            last = WEEKDAYS.index(meaning)
            if found and TO.fullmatch(part, found[-1].end, start):
                first = max(found[-1].days) if len(found[-1].days) == 1 else last
                days = frozenset(at % 7 for at in range(first, first + (last - first) % 7 + 1))
                found[-1] = _Days(found[-1].start, end, found[-1].days | days, is_exception)
                continue
            begins = following is not None and following[2] in WEEKDAYS and TO.fullmatch(part, end, following[0])
            if part[start:end] not in self._short or begins or (part[start] < "\u3040" and _HOUR.match(part, end)):
                found.append(_Days(start, end, frozenset((last,)), is_exception))
        return found
