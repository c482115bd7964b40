"""Names of persons out of a line that credits them: "By Jane Doe and John Roe, PhD | 3 May", "記者王小明／台北報導".

A text goes in, names come out, in the order given. What introduces them, roles, dates and what follows a bar are left
out; so is what is no name at all: an address, a sentence, "Staff". The words are the configuration's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from handlers.html.han_names import HAN, HanNames
from handlers.html.reading import PageReadingSection

_MAX_CHARACTERS = 400
_MAX_NAMES = 20
_MAX_NAME_CHARACTERS = 60
_MAX_NAME_WORDS = 6
_MAX_HAN = 16
_HAN_SIGNS = frozenset("（）()「」【】，。、：:；！？／")
_MAX_BEFORE = 80
_MAX_LINE_CHARACTERS = 120
_AND = "and|und|et|y|e|og|och|en|i|with"
# White space before a separator is matched from the beginning of its run only: otherwise a run takes quadratic time.
_SPACE_BEFORE = r"(?:(?<!\s)\s+)?"
_SPLIT = re.compile(
    rf"{_SPACE_BEFORE}(?:,\s?(?:{_AND})\s|\s(?:{_AND})\s|[,;、，/&•·∙\n]|\s[|+]\s|\|)\s*", re.IGNORECASE
)
_BAR = re.compile(r"\s[|·•∙–—-]\s")
_WORD = re.compile(r"[^\W\d_]+")
_BLANKS = re.compile(r"[^\S\n]+")
_EDGE = " \t\n.,:;·∙•-–—|\"'“”„()[]<>*"
_DOMAIN = re.compile(r"^(?:www\.)?[\w-]{1,60}(?:\.[\w-]{1,60}){0,3}\.[a-z]{2,6}$", re.IGNORECASE)
_SURNAME_FIRST = re.compile(r"^([^\W\d_][\w'’-]{1,40}), ([^\W\d_][\w'’-]{0,40}\.?(?: [^\W\d_]\.){0,3})$")
_BEGINS_NAME = re.compile(rf"(?=[^\W\d_])(?:[{HAN}]|[^a-z])")
_HAS_HAN = re.compile(f"[{HAN}]")


class NameWords:
    """The configured words around names, compiled once."""

    def __init__(self, reading: PageReadingSection, months: Collection[str]) -> None:
        """Compiles the words.

        Args:
            reading: The configured words.
            months: Names of months, in lower case.
        """
        words = _any(reading.byline_words)
        labels, stops = _any(reading.byline_labels), _any(reading.byline_stop_words)
        colon = r"\s{0,3}[:：]\s{0,3}"
        label = rf"(?:{labels})(?:\s{{1,3}}(?:{_AND}|&)\s{{1,3}}(?:{labels}))?{colon}"
        word = rf"(?:{words})(?:{colon}|\s{{1,3}})"
        self._introduction = re.compile(rf"^\W{{0,5}}(?:{label}|{word}){{1,3}}", re.IGNORECASE)
        self._inside = re.compile(rf"(?:^|[\s|·•–—,-]){word}(?=(?-i:[^\W\d_a-z]))", re.IGNORECASE)
        self._others = re.compile(rf"(?:^|[\s|·•–—,;(])(?:{stops})(?:[\s:：/]|$)", re.IGNORECASE)
        month = "|".join(sorted(map(re.escape, months), key=len, reverse=True))
        self._tail = re.compile(
            rf"{_SPACE_BEFORE}(?:\(.{{0,200}}|\s[-–—|].{{0,200}}"
            r"|(?<!\d)\d{1,2}(?:[:./]|(?:st|nd|rd|th)?\s)\s?\w.{0,200}|(?:19|20)\d{2}.{0,200}"
            rf"|\s(?:{month})\.?\s\d.{{0,200}}|\s@.{{0,100}}|https?:.{{0,200}})$",
            re.IGNORECASE,
        )
        self._han = HanNames(reading)
        no_names = (reading.no_names, reading.name_credentials, reading.byline_words, reading.byline_stop_words, months)
        self._no_names = frozenset(name.casefold() for names in no_names for name in names)
        beginnings = (*reading.byline_words, *reading.byline_labels)
        self._beginnings = frozenset(word.split()[0].lower() for word in beginnings)
        self._roles = frozenset(reading.role_words)
        # After a comma, none of these is a given name.
        not_given = (reading.wire_services, reading.role_words, reading.name_credentials)
        self._no_turned = self._no_names.union(word.casefold().rstrip(".") for words in not_given for word in words)
        self._occasions = frozenset(reading.byline_occasions)
        self._organizations = tuple(reading.organization_endings)
        self._place_words = frozenset(reading.byline_place_words)
        self._particles = frozenset(reading.name_particles)

    def names(self, text: str) -> tuple[str, ...]:
        """Names in a text that is known to credit somebody; () where it holds none."""
        if "://" in text[:12] or text.startswith("www."):
            return ()
        text = _BLANKS.sub(" ", text[:_MAX_CHARACTERS]).strip()
        if _HAS_HAN.search(text) and (found := self._han.reporters(text)):
            return found
        return self._split(self._without_introduction(text))

    def line_names(self, text: str) -> tuple[str, ...]:
        """Names in a line of running text, which must say that it credits somebody.

        Only what begins with "By", "A column by", "作者：" and the like, and goes on with names, is believed.
        """
        head = text[:200]
        if _HAS_HAN.search(head) and (found := self._han.reporters(head)):
            return found
        if len(text) > _MAX_LINE_CHARACTERS or self._beginnings.isdisjoint(_WORD.findall(head.lower())):
            return ()
        for start in (0, *(match.end() for match in _BAR.finditer(head))):
            if names := self._introduced(head[start:]):
                return names
        return ()

    def _introduced(self, text: str) -> tuple[str, ...]:
        match = self._introduction.match(text) or self._inside.search(text[:_MAX_BEFORE])
        if match is None or not _BEGINS_NAME.match(text, match.end()):
            return ()
        before = {word.casefold() for word in text[: match.start()].split()}
        if before and self._occasions.isdisjoint(before):
            return ()
        return self._split(self._without_introduction(text))

    def whole(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Organisations as they are stated, not taken apart."""
        found = dict.fromkeys(" ".join(text.partition(" (")[0].split()) for text in texts)
        return tuple(
            text
            for text in found
            if 2 <= len(text) <= _MAX_NAME_CHARACTERS and "://" not in text and text.casefold() not in self._no_names
        )[:_MAX_NAMES]

    def is_address(self, text: str) -> bool:
        """Whether a text is a site's address without more: ``example.com``."""
        return _DOMAIN.match(text.strip()) is not None

    def is_organization(self, text: str) -> bool:
        """Whether a text ends as the names of organisations do."""
        if _HAS_HAN.search(text) and self._han.reporters(text):
            return False
        return text.casefold().rstrip(". ").endswith(self._organizations)

    def _without_introduction(self, text: str) -> str:
        if match := self._introduction.match(text) or self._inside.search(text[:_MAX_BEFORE]):
            text = text[match.end() :]
        if match := self._others.search(text):
            text = text[: match.start()]
        return text

    def _in_order(self, text: str) -> str:
        """A name with the surname last, where it is written as lists do: "Doe, Jane", "Doe, Jane; Roe, J. R."."""
        parts = [_SURNAME_FIRST.match(part.strip()) for part in text.split(";")]
        if not all(
            part and part[1][0].isupper() and part[2][0].isupper() and self._is_list_name(part) for part in parts
        ):
            return text
        return "; ".join(f"{part[2]} {part[1]}" for part in parts if part)

    def _is_list_name(self, match: re.Match[str]) -> bool:
        return not any(word.casefold().rstrip(".") in self._no_turned for word in match.groups())

    def _split(self, text: str) -> tuple[str, ...]:
        text = self._in_order(text)
        pieces = (self._tail.sub("", part.strip(_EDGE)) for part in _SPLIT.split(text)[:_MAX_NAMES])
        parts = [part for place, piece in enumerate(pieces) if (part := self._person(piece, is_first=place == 0))]
        if len(parts) == 2 and "\n" in text and not any(" " in part for part in parts):
            # A given name and a surname in elements of their own.
            parts = [" ".join(parts)]
        names = [part for part in parts if self._is_name(part)]
        if any(" " in name for name in names):
            names = [name for name in names if " " in name]
        elif len(parts) > 1 and (len(names) < len(parts) or any(name.islower() for name in names)):
            # Among several parts, single words are names if all are: else they are pieces of a sentence.
            names = []
        return tuple({name.casefold(): name for name in reversed(names)}.values())[::-1]

    def _person(self, text: str, *, is_first: bool) -> str:
        """A part of a credit without what the person is and where: "Jane Doe in Berlin", "Jane Doe Reporter"."""
        all_words = words = text.strip(_EDGE).split()
        place = next((index for index, word in enumerate(words) if word in self._place_words), 0)
        if place > 1:
            all_words = words = words[:place]
        while words and words[-1].casefold() in self._roles:
            words = words[:-1]
        if words == all_words:
            return " ".join(words)
        if not words or words[0].lower() == words[0].upper():
            # Scripts without capitals write names as one word, and have no long titles.
            return " ".join(words)
        # "Guardian staff reporter" and the "Senior Health Writer" after a name name nobody.
        return " ".join(words) if is_first and len(words) > 1 else ""

    def _is_name(self, text: str) -> bool:
        """Whether a text can be the name of somebody.

        Words are capitalised or particles, unless there are one or two; a nickname of one word may hold digits.
        """
        words = text.split()
        if not 2 <= len(text) <= _MAX_NAME_CHARACTERS or not 1 <= len(words) <= _MAX_NAME_WORDS:
            return False
        if (
            text.casefold() in self._no_names
            or all(word.casefold() in self._no_names for word in words)
            or any(sign in text for sign in "@/<>{}=?!#©»›")
        ):
            return False
        if not any(sign.isalpha() for sign in text):
            return False
        if _HAS_HAN.search(text) and (len(text.replace(" ", "")) > _MAX_HAN or not _HAN_SIGNS.isdisjoint(text)):
            return False
        if len(words) == 1:
            return not self.is_address(text)
        if any(sign.isdigit() for sign in text):
            return False
        if text.islower():
            return len(words) == 2
        return all(self._is_part(word) for word in words)

    def _is_part(self, word: str) -> bool:
        return not word[0].islower() or word in self._particles or word[1:2] in {"'", "’"}


def _any(words: tuple[str, ...]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
