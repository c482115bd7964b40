"""Names of persons in the text of a credit: "By Ada Lovelace and Mary Shelley | 3 May 2024", 記者王小明／台北報導."""

from __future__ import annotations

import re
from collections.abc import Iterable

import regex

from handlers.html.reading import PageReadingSection
from handlers.text.patterns import DetailPatterns
from handlers.text.scripts import HAN, KANA, has_han
from handlers.text.words import alternatives

_MAX_NAMES = 20
_MAX_CREDIT_CHARACTERS = 200
_MAX_NAME_CHARACTERS = 60
_FULL_NAME, _MAX_NAME_WORDS = 2, 6
_MAX_BEFORE = 80
_MAX_BEFORE_HAN = 24
_ADDRESS = re.compile("://|@")
_LETTERS = re.compile(r"[^\W\d_]+")
_AND = "and|und|et|y|e|og|och|en|i|with"
# A run of white space before a separator is matched from its beginning only: otherwise the time is quadratic.
_SPACE_BEFORE = r"(?:(?<!\s)\s+)?"
_SPLIT = re.compile(
    rf"{_SPACE_BEFORE}(?:,\s?(?:{_AND})\s|\s(?:{_AND})\s|[,;、，/&•·∙\n]|\s[|+]\s|\|)\s*", re.IGNORECASE
)
_BEFORE_CREDIT = re.compile(r"[|·•∙–—,]|\d[^\s,]*(?:\s[^\W\d_]{1,4}\b){0,2}")
"""What may be before a credit in its line: a separator, or a number with its unit: 17:32 Uhr, 6 min read."""
_BLANKS = re.compile(r"[^\S\n]+")
_EDGE = " \t\n.,:;·∙•-–—|\"'“”„()[]<>*→←»«›‹►▸⁰¹²³⁴⁵⁶⁷⁸⁹†‡§"
_LABEL = re.compile(r"[^\W\d_][^:：,;|/\n]{0,30}[:：]\s{0,3}(?=[^\W\d_a-z])")
"""What is before a colon in a credit, in any language."""
_DOMAIN = re.compile(r"^(?:www\.)?[\w-]{1,60}(?:\.[\w-]{1,60}){0,3}\.[a-z]{2,6}$", re.IGNORECASE)
_SURNAME_FIRST = re.compile(r"^([^\W\d_][\w'’-]{1,40}), ([^\W\d_][\w'’-]{0,40}\.?(?: [^\W\d_]\.){0,3})$")
_BEFORE_DAY = re.compile(r"^(\S+ .+?) [a-zà-ÿ]{1,3}$")
"""A full name and a small word that leads on to a day: Sam Reed on, Juan García el."""
_BEGINS_NAME = regex.compile(rf"(?=[^\W\d_])(?:[{HAN}]|[^a-z])")


class NameWords:
    """Reads names of persons in the text of a credit, under one configuration."""

    def __init__(self, reading: PageReadingSection, patterns: DetailPatterns) -> None:
        """Compiles the words. Words of days and of their parts make no name: "By Monday Evening"."""
        months, times = tuple(patterns.months), (*patterns.date_cues, *patterns.day_parts, *patterns.day_parts_ahead)
        dates = (*reading.published_words, *reading.updated_words)
        labels = (*reading.byline_words, *reading.byline_labels)
        self._occasions = frozenset((*reading.byline_occasions, *reading.byline_labels, *reading.published_words))
        stops = alternatives((*reading.byline_stop_words, *dates))
        places = alternatives(reading.byline_place_words)
        colon = r"\s{0,3}[:：](?!in(?:nen)?\b)\s{0,3}"
        # Text: Jan Maier; Words and pictures: Sam Reed
        label = rf"(?:{alternatives(labels)})(?:\s(?:{_AND}|&)\s[^\W\d_]{{1,20}})?{colon}"
        # Both genders in one word, with a colon, a star, a slash or brackets.
        gender = rf"(?:/(?:{alternatives(reading.byline_words)})|[:*_(](?:in|innen|e|es|s)\)?)?"
        word = rf"(?:{alternatives(reading.byline_words)}){gender}(?:{colon}|\s{{1,3}})"
        occasion = rf"(?:(?:{alternatives(self._occasions)})\s{{1,3}})?"
        self._introduction = re.compile(rf"^\W{{0,5}}(?:{label}|{occasion}{word}){{1,3}}", re.IGNORECASE)
        self._inside = re.compile(rf"(?:^|[\s|·•–—,-]){word}(?=(?-i:[^\W\d_a-z]))", re.IGNORECASE)
        # "Lucie Le Goff" is one name, "Lucie Goff le 3 mai" a name and a day.
        # In a line of capitals, "LE" leads on to a day.
        small, large = (alternatives(map(form, reading.name_particles)) for form in (str.capitalize, str.upper))
        particle = rf"(?-i:(?:{small}|(?<=[^\W\d_A-Z]\s)(?:{large}))\s[^\W\d_a-z])"
        self._stop = re.compile(rf"(?:^|[\s|·•–—,;(])(?!{particle})(?:{stops})(?:[\s:：/]|$)", re.IGNORECASE)
        days = alternatives((*months, *reading.date_line_words))
        # What is behind a name: a bracket, a dash, a place, a number, also with a month or weekday, "Lesezeit: 4 Min."
        behind = (
            *(r"\(", r"\s[-–—|@]", rf"\s(?:{places})\s", rf"(?:(?<=\s)(?:{days})[.,]?\s){{0,2}}(?<!\w)\d"),
            *("https?:", r"(?<=\s)[^\W\d_]{1,30}(?:\s(?-i:[^\W\dA-Z_]{1,15})){0,2}\s?[:：]"),
        )
        self._tail = re.compile(rf"{_SPACE_BEFORE}(?:{'|'.join(behind)}).{{0,200}}$", re.IGNORECASE)
        self._beginnings = frozenset(word.split()[0].lower() for word in labels)
        self._roles = frozenset(reading.role_words)
        lists = (reading.no_names, reading.byline_words, reading.byline_stop_words, dates, self._roles, months, times)
        self._no_names = frozenset(name.casefold() for names in lists for name in names)
        not_given = (*self._no_names, *reading.wire_services, *reading.name_credentials)
        self._not_given = frozenset(word.casefold().rstrip(".") for word in not_given)
        self._organizations = tuple(reading.organization_endings)
        self._particles = frozenset(reading.name_particles)
        self._reporters = _han_credits(reading)

    def names(self, text: str) -> tuple[str, ...]:
        """Names in a text that is known to be a credit."""
        text = _BLANKS.sub(" ", text[:_MAX_CREDIT_CHARACTERS]).strip()
        if "://" in text[:12]:
            return ()
        if found := self.reporters(text):
            return found
        return self._split(text[len(self.label(text)) :])

    def label(self, text: str) -> str:
        """What is before the names in a text that is known to be a credit."""
        found = self._introduction.match(text) or self._inside.search(text[:_MAX_BEFORE]) or _LABEL.match(text)
        return text[: found.end()] if found else ""

    def line_names(self, text: str) -> tuple[str, ...]:
        """Names in a line of running text, if it begins with "By", "A column by", "作者：" or the like."""
        if found := self.reporters(text):
            return found
        if len(text) > _MAX_CREDIT_CHARACTERS or self._beginnings.isdisjoint(_LETTERS.findall(text.lower())):
            return ()
        introduction = self._introduction.match(text)
        for match in [introduction] if introduction else self._inside.finditer(text[:_MAX_BEFORE]):
            # With the sign before the word, if it does not begin the line.
            ahead = text[: match.start() + 1] if match.start() else ""
            before = _LETTERS.findall(_BEFORE_CREDIT.split(ahead)[-1].casefold())
            if _BEGINS_NAME.match(text, match.end()) and not (before and self._occasions.isdisjoint(before)):
                return self._split(text[match.end() :])
        return ()

    def reporters(self, text: str) -> tuple[str, ...]:
        """Names of reporters at the beginning of a Chinese or Japanese line: 記者王小明／台北報導, 文／王小明."""
        head = text[:_MAX_CREDIT_CHARACTERS]
        if has_han(head):
            for pattern in self._reporters:
                match = pattern.search(head)
                if match is not None and len("".join(_LETTERS.findall(head, 0, match.start()))) <= _MAX_BEFORE_HAN:
                    names = tuple(filter(None, re.split(r"[\s、，,&]+", match["names"])))
                    return tuple(name for name in names if self.is_name(name) and not self.is_organization(name))
        return ()

    def whole(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Organisations as they are stated."""
        found = dict.fromkeys(" ".join(text.partition(" (")[0].split()) for text in texts)
        return tuple(
            text
            for text in found
            if 2 <= len(text) <= _MAX_NAME_CHARACTERS
            and not _ADDRESS.search(text)
            and text.casefold() not in self._no_names
        )[:_MAX_NAMES]

    def is_organization(self, text: str) -> bool:
        """Whether a text is a site's address, or ends as the names of organisations do."""
        return _DOMAIN.match(text.strip()) is not None or text.casefold().rstrip(". ").endswith(self._organizations)

    def _split(self, text: str) -> tuple[str, ...]:
        if match := self._stop.search(text):
            text = text[: match.start()]
        parts = [part.strip(_EDGE) for part in _SPLIT.split(self._in_order(text))[:_MAX_NAMES]]
        pieces = [_BEFORE_DAY.sub(r"\1", self._tail.sub("", part)) for part in parts]
        parts = [part for place, piece in enumerate(pieces) if (part := self._person(piece, is_first=place == 0))]
        names = [part for part in parts if self.is_name(part)]
        if any(" " in name for name in names):
            names = [name for name in names if " " in name]
        elif len(names) < len(parts) and len(parts) > 1:
            # Single words among other parts are pieces of a sentence.
            return ()
        return tuple(dict.fromkeys(names))

    def _in_order(self, text: str) -> str:
        """A name with the surname last: "Doe, Jane", "Doe, Jane; Roe, J. R."."""
        matches = [_SURNAME_FIRST.match(part.strip()) for part in text.split(";")]
        parts = [match.groups() for match in matches if match]
        is_list = len(parts) == len(matches) and not any(
            part.islower() or part.casefold().rstrip(".") in self._not_given for pair in parts for part in pair
        )
        return "; ".join(f"{given} {surname}" for surname, given in parts) if is_list else text

    def _person(self, text: str, *, is_first: bool) -> str:
        """A part of a credit without roles; "" for a later part with a role, such as "Senior Health Writer"."""
        words = text.strip(_EDGE).split()
        while len(words) > _FULL_NAME and words[0].casefold() in self._roles:
            words.pop(0)
        count = len(words)
        while words and words[-1].casefold() in self._roles:
            words.pop()
        if len(words) == 1 < count and words[0].isascii():
            # A single word before a role is a paper's name: "Guardian staff reporter".
            return ""
        return " ".join(words) if is_first or len(words) == count else ""

    def is_name(self, text: str) -> bool:
        """Whether a text can be a person's name: capitalised words or particles, or a nickname of one word."""
        words = text.split()
        if not 2 <= len(text) <= _MAX_NAME_CHARACTERS or not 1 <= len(words) <= _MAX_NAME_WORDS:
            return False
        if text.casefold() in self._no_names or all(word.casefold() in self._no_names for word in words):
            return False
        if any(sign in text for sign in "@/<>{}=?!#©»:：") or not _LETTERS.search(text):
            return False
        if len(words) == 1:
            return _DOMAIN.match(text) is None
        return not any(sign.isdigit() for sign in text) and all(self._is_part(word) for word in words)

    def _is_part(self, word: str) -> bool:
        return not word[0].islower() or word in self._particles or word[1:2] in {"'", "’"}


def _han_credits(reading: PageReadingSection) -> tuple[re.Pattern[str], ...]:
    """Credits of Chinese and Japanese newspapers. A name of a picture's source (攝, 提供) is no credit."""
    reporters, words = alternatives(reading.reporter_words_zh), alternatives(reading.byline_words_zh)
    reports = alternatives(reading.report_words_zh)
    given = f"[{HAN}]"
    end = r"(?=[\s／/｜|)）】〕\],，;；·•]|$)"
    names = rf"(?P<names>{given}{{2,4}}(?:\s?[、，,&\s]\s?{given}{{2,4}}){{0,5}})"
    report = rf"{given}{{2,4}}\d{{0,2}}日?(?:{reports})"
    long_name = rf"(?P<names>[{HAN}{KANA}·‧]{{2,8}}(?:[、，,&]{given}{{2,8}}){{0,5}})"
    return tuple(
        regex.compile(expression)
        for expression in (
            # 王小明 記者
            rf"^\s?(?P<names>{given}{{2,4}}?)\s?(?:{reporters}|編輯|编辑|主編|主编)\s?$",
            # 記者王小明／台北報導, 王小明／台北報導
            rf"(?:(?:{reporters})\s?|^|[\s（(〔\[【]){names}\s?[／/]\s?(?:{given}{{2,6}})?(?:{reports})",
            # 記者王小明台北1日電: the place has two characters or more
            rf"(?:{reporters})\s?(?P<names>(?:{given}{{2,4}}、){{0,5}}{given}{{2,3}})(?={report})",
            # 記者王小明 at the end of a line
            rf"(?:{reporters})\s?(?!會|会){names}(?<![攝摄]){end}",
            # 作者：小明, 文／小明
            rf"(?:^|[\s・、（(〔\[【／/]|{given}{{1,6}})(?:{words})(?:\s{{0,3}}[:：／/｜|●]\s{{0,3}}|・(?!{words})){long_name}{end}",
        )
    )
