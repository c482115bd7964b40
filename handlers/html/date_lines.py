"""Lines that date a page: "By Jane Doe | Published 3 May 2024, updated 9 June". Sentences are not among them.

A line goes in; its dates of publication and of change come out. The line may have dates, labels and names, and a few
words apart from them (a place, a section, the time that reading takes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from handlers.html.names import NameWords
from handlers.html.reading import PageReadingSection
from handlers.text.dates import Moment, MomentReader, Origin, Span, instant_at
from handlers.text.words import alternatives

MAX_CHARACTERS = 160
"""A longer line is running text."""
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(
    r"\d{1,2}\s?[:.h時时시点點]\s?\d{2}(?:\s?[:分]\s?\d{2})?(?:[.,]\d{1,9})?\s?[分秒분]?\s?(?:z|[+-]\d{2}:?\d{2})?(?!\d)"
    r"|(?<!\d)\d{1,2}\s?(?:[ap]\.?m\b\.?|uhr\b|時|시)|t(?=\d{2}:)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[|·•‧∙–—/／,，;；()（）\[\]【】<>«»\n]|\s-\s|\s{2,}")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*", re.UNICODE)
_HAN_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_SENTENCE_END = (".", "!", "?", "。", "！", "？", "…")
_RANGE = re.compile(r"\d\.?\s?[-–]\s?\d")
_BETWEEN_DAYS = re.compile(r"^[\s.]*(?:[-–—~〜至]|to|until|bis|au|al|a|til|t/m|tot)[\s.]*$", re.IGNORECASE)
# A place in capitals or of few words, before a day in brackets or behind a comma.
_DATELINE_BEFORE = re.compile(r"(?:[^\W\d_a-z][^\s,()]{1,30}[ /]?){0,4}(?:(?<=\w)\s?,\s?)?[(（]?")
_DATELINE_AFTER = re.compile(r"[)）]?(?:\s?[.:–—-]\s(?!\d)|(?<=[)）])\s(?=[^\W\d_a-z]))")
_APART_WORDS = 4
_APART_SEGMENTS = 4
_TOUCHING_LABELLED = 3
_TOUCHING_NAMED = 8
_SENTENCE_WORDS = 2


@dataclass(frozen=True, slots=True)
class LineDates:
    """What a line dates.

    Attributes:
        published: The day of publication; None where it says none, or not which.
        updated: The day of a change.
        labelled: Whether it says of a date what it is.
    """

    published: Moment | None
    updated: Moment | None
    labelled: bool


class DateLines:
    """Reads lines under one configuration; the words are compiled once."""

    def __init__(self, reading: PageReadingSection, moments: MomentReader, names: NameWords) -> None:
        self._moments = moments
        self._names = names
        self._labels = _any_of((*reading.published_words, *reading.updated_words))
        self._published = _any_of(reading.published_words)
        self._updated = _any_of(reading.updated_words)
        self._fillers = _any_of(reading.date_line_words)
        self._has_label = tuple(word.lower() for word in (*reading.published_words, *reading.updated_words))

    def may_be_labelled(self, line: str) -> bool:
        """Whether a line has a number and one of the words; a look that costs little."""
        if len(line) > MAX_CHARACTERS or _DIGIT.search(line) is None:
            return False
        lower = line.lower()
        return any(word in lower for word in self._has_label)

    def is_label(self, text: str) -> bool:
        """Whether a text says of a date what it is, and nothing else: "Published"."""
        return len(text) <= MAX_CHARACTERS and self._labels.search(text) is not None and not self._left(text)

    def is_short(self, line: str) -> bool:
        """Whether a line says little beside what goes with dates, and is no sentence."""
        words = _size(self._left(line)) if len(line) <= MAX_CHARACTERS else MAX_CHARACTERS
        return words <= _TOUCHING_NAMED and not (words >= _SENTENCE_WORDS and line.endswith(_SENTENCE_END))

    def dateline(self, head: str, origin: Origin) -> Moment | None:
        """The day that a story is dated with before its first sentence: "(18.1.2018) Farmers", "Oslo, 3 May 2024 –".

        Nothing but a place stands before it, and a sign parts it from the sentence. The day of a sentence is none.
        """
        days = self._moments.spans(head, origin)
        if not days or not (before := _DATELINE_BEFORE.match(head, 0, days[0].start)) or before.end() != days[0].start:
            return None
        return days[0].value if _DATELINE_AFTER.match(head, days[0].end) else None

    def read(
        self, line: str, origin: Origin, *, named: bool = False, apart: bool = False, heading: bool = False
    ) -> LineDates | None:
        """The dates of a line; None where it has none, or where it says more than a line of dates does.

        Args:
            line: A line of the page.
            origin: Where the page comes from.
            named: Whether the markup calls it a date: then a few more words may stand beside it.
            apart: Whether the line is away from the heading: then no other words may.
            heading: Whether the line is a heading itself: then no other number stands in it, as versions do.
        """
        if len(line) > MAX_CHARACTERS or _DIGIT.search(line) is None:
            return None
        days = self._moments.spans(line, origin)
        if not days or "©" in line:
            return None
        pieces = [
            line[start:end]
            for start, end in zip(
                [0, *(day.end for day in days)], [*(day.start for day in days), len(line)], strict=True
            )
        ]
        if any(_BETWEEN_DAYS.match(piece) for piece in pieces[1:-1]) or any(
            _is_range(line[day.start : day.end]) for day in days
        ):
            return None
        labelled = any(self._labels.search(piece) for piece in pieces)
        if heading and any(_DIGIT.search(self._left(piece)) for piece in pieces):
            return None
        if not self._is_bare(pieces, named=named, apart=apart):
            return None
        return self._told(line, days, pieces, labelled=labelled)

    def _told(self, line: str, days: list[Span], pieces: list[str], *, labelled: bool) -> LineDates:
        published = updated = None
        first = None
        for number, day in enumerate(days):
            before, after = pieces[number], pieces[number + 1]
            is_updated = _last(self._updated, before) > _last(self._published, before)
            if len(days) == 1 and not self._labels.search(before):
                is_updated = self._updated.search(after) is not None
            value = day.value
            if value is not None:
                # With its clock time and zone, where the line has both as machines write them.
                value = instant_at(line, day.start) or value
            if is_updated:
                updated = updated or value
            else:
                first = first or day
                published = published or (value if first is day else None)
        return LineDates(published, updated, labelled)

    def _is_bare(self, pieces: list[str], *, named: bool, apart: bool) -> bool:
        """Whether what stands around the dates is names, and few words apart from them."""
        segments = words = 0
        for number, piece in enumerate(pieces):
            if _HAN_SIGNS.search(piece) and self._names.line_names(piece.strip()):
                continue
            parts = _SEPARATOR.split(_CLOCK.sub(" ", piece))
            for place, part in enumerate(parts):
                if not (left := self._left(part)) or self._names.line_names(part.strip()):
                    continue
                words += (size := _size(left))
                touches = (place == len(parts) - 1 and number < len(pieces) - 1) or (place == 0 and number > 0)
                if touches:
                    if size > (_TOUCHING_NAMED if named else 0 if apart else self._most_beside(part)):
                        return False
                    continue
                segments += 1
                if size > _APART_WORDS or segments > _APART_SEGMENTS:
                    return False
        # A short sentence ends as one.
        return words < _SENTENCE_WORDS or not pieces[-1].rstrip().endswith(_SENTENCE_END)

    def _most_beside(self, part: str) -> int:
        """Words that may touch a date: a few where a label opens them ("Posted in News on"), otherwise none."""
        label = self._labels.search(part)
        return 0 if label is None or self._left(part[: label.start()]) else _TOUCHING_LABELLED

    def _left(self, segment: str) -> str:
        """What is left of a segment without labels, clock times and what goes with dates."""
        return " ".join(_WORD.findall(self._fillers.sub(" ", self._labels.sub(" ", segment))))


def _is_range(day: str) -> bool:
    """Whether a date is of several days: 12-14 June 2024."""
    return any(sign.isalpha() for sign in day) and _RANGE.search(day) is not None


def _size(left: str) -> int:
    """Words of what is left over; ideographs count for a third of one."""
    han = len(_HAN_SIGNS.findall(left))
    return (han + 2) // 3 if han else len(left.split())


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in pattern.finditer(text)), default=-1)


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words as whole ones; those of scripts without blanks anywhere."""
    spaced = [word for word in words if not _HAN_SIGNS.search(word)]
    joined = [word for word in words if _HAN_SIGNS.search(word)]
    whole = rf"(?<![^\W\d_])(?:{alternatives(spaced)})(?![^\W\d_])"
    return re.compile(rf"{whole}|{alternatives(joined)}", re.IGNORECASE)
