"""The days of the week on which a text says that something is open or takes place.

Each word of the week is replaced by a sign; what is said of days is between their signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from handlers.text.scripts import is_ideographic
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
_DAY, _SHORT, _IDEOGRAPH, _OTHERS = 0xE000, 0xE010, 0xE020, 0xE030
"""Where the signs of days begin: with their names, with short ones, with ideographs; those of the other words."""
_OTHER_WORDS = ("daily", "except", "open", "closed")
_DAILY, _EXCEPT, _OPEN, _CLOSED = (chr(_OTHERS + place) for place in range(len(_OTHER_WORDS)))
_SHUT, _DAYS = re.compile(_CLOSED), re.compile("([\ue000-\ue026])")
_HOUR = re.compile(r"\.?,?:?\s?(?:\|\s)?\d{1,2}\s?(?:[:.h]\d\d|[ap]m\b|uhr|h\b|[-–])")
_TOLD = re.compile(rf"{_HOUR.pattern}|[ .:|\n]{{0,5}}{_CLOSED}")
"""What is behind a short name of a weekday, which may be another word elsewhere."""
_DATED_BEFORE = re.compile(r"(?:(?<![\d:.h–-])\d{1,2}|(?:19|20)\d\d)\.?\s\Z")
_YEAR_BEHIND = re.compile(r"\.?\s(?:19|20)\d\d(?!\d)")
_BETWEEN = re.compile(r"\W*(?:[^\W\d]+\W+){0,3}|\W*(?:[^\W\d]+\W+){0,2}[^\W\d]+")
"""What may be between a day and the word that says that something is closed: three words, and no hours."""
_REACH, _BESIDE, _FARTHEST_LINK = 50, 8, 16
"""Characters between a word and its denial or day, before a short name where a date may be, and between joined days."""


class Week:
    """Reads days of the week: names and ranges of them, every day, exceptions, and days of closing."""

    def __init__(self, names: Mapping[str, str], short: Mapping[str, str], denies: Callable[[str], bool]) -> None:
        """Takes folded words.

        Args:
            names: Of days, with the English ones.
            short: Shorter names, and words for "daily", "except", "open" and "closed".
            denies: Whether a text ends with a denial.
        """
        signs = {name: _DAY + day for day, name in enumerate(WEEKDAYS)}
        others = {name: _OTHERS + place for place, name in enumerate(_OTHER_WORDS)}
        self._signs = {
            word: chr(others.get(name) or signs[name] + (_IDEOGRAPH if is_ideographic(word[0]) else _SHORT) - _DAY)
            for word, name in short.items()
        } | {word: chr(signs[name]) for word, name in names.items() if name in signs}
        self._pattern, self._denies = one_of(self._signs, ending="s?"), denies

    def open_in(self, text: str) -> frozenset[int]:
        """The days of a text, Monday is 0; neither those of which it says only that something is closed."""
        text = self._coded(fold_words(text))
        groups, between = _groups_of(text)
        shut = [set[int]() for _ in groups]
        is_exception = False
        for place, part in enumerate(between):
            has_next = place < len(groups)
            for mark in _SHUT.finditer(part):
                before, behind = part[: mark.start()], part[mark.end() :]
                near = [place - 1] if place and (_is_near(before) or _is_alone(before, behind)) else []
                # "Sunday closed Monday 10-18" closes the day before it, and "Closed Monday, Tuesday 10-18" the first.
                is_next = has_next and _is_near(behind)
                if is_next and not _HOUR.match(between[place + 1]):
                    near.append(place)
                elif is_next and not near:
                    shut[place] |= groups[place][0]
                for at in near:
                    shut[at].update(*groups[at])
            *earlier, clause = PARTS.split(part)
            is_exception = _EXCEPT in clause or (is_exception and not earlier)
            if has_next and is_exception:
                shut[place].update(*groups[place])
        found = (set[int]().union(*days) - closed for days, closed in zip(groups, shut, strict=True))
        daily = set(range(7)).difference(*shut) if _DAILY in text else set[int]()
        return frozenset(daily.union(*found))

    def _coded(self, text: str) -> str:
        """The text with signs for the words of the week: what is not open is closed, and no short name is doubtful."""
        words = list[str]()

        def sign(match: re.Match[str]) -> str:
            found = self._signs.get(match[0]) or self._signs[match[0].removesuffix("s")]
            words.extend([match[0]] if _DAYS.match(found) else [])
            is_denied = found in (_OPEN, _CLOSED) and self._denies(text[max(0, match.start() - _REACH) : match.start()])
            return found if not is_denied else _CLOSED if found == _OPEN else " "

        # A point behind a short name divides no clauses.
        parts = _DAYS.split(re.sub("([\ue010-\ue016])\\.", r"\1", self._pattern.sub(sign, text)))
        days, links = parts[1::2], [None, *map(_link, parts[2:-1:2]), None]
        shorts = [ord(day) >= _SHORT for day in days]
        known: set[int] = set()
        for place in range(len(days) - 1, -1, -1):
            before, day, behind = parts[2 * place : 2 * place + 3]
            is_told = ord(day) < _IDEOGRAPH and _TOLD.match(behind) is not None
            is_listed = links[place + 1] is JOIN and place + 1 in known and shorts[place + 1]
            is_date = _DATED_BEFORE.search(before[-_BESIDE:]) or _YEAR_BEHIND.match(behind)
            if not shorts[place] or ((TO in links[place : place + 2] or is_told or is_listed) and not is_date):
                known.add(place)
        # "man 12-15 years", "sex 18-25": another word, beside no other day.
        if all(shorts) and len({days[place] for place in known}) < 2:
            known = set()
        parts[1::2] = (chr(_DAY + ord(day) % 16) if at in known else words[at] for at, day in enumerate(days))
        return "".join(parts)


def _groups_of(text: str) -> tuple[list[list[set[int]]], list[str]]:
    """The lists of days, each with its days and ranges, and the texts between them."""
    first, *parts = _DAYS.split(text)
    groups, between, last = list[list[set[int]]](), [first], 0
    for sign, behind in zip(parts[::2], parts[1::2], strict=True):
        day, link = ord(sign) - _DAY, _link(between[-1]) if groups else None
        if link is None:
            groups.append([])
            between.append("")
        if link is TO:
            groups[-1][-1] |= {at % 7 for at in range(last, last + (day - last) % 7 + 1)}
        else:
            groups[-1].append({day})
        between[-1], last = behind, day
    return groups, between


def _is_near(between: str) -> bool:
    """Whether "closed" is said of a day in the same clause."""
    return len(between) <= _REACH and not PARTS.search(between) and _BETWEEN.fullmatch(between) is not None


def _is_alone(before: str, behind: str) -> bool:
    """Whether "closed" is a clause of its own right behind a day."""
    is_clause = len(before) <= _REACH and PARTS.match(f"{behind[:2]}\n") is not None
    return is_clause and not any(map(str.isalnum, before))


def _link(between: str) -> re.Pattern[str] | None:
    """What joins two days, if anything does."""
    return next((link for link in (TO, JOIN) if len(between) <= _FARTHEST_LINK and link.fullmatch(between)), None)
