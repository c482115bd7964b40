"""The words of a title and of the beginning of a text: what they name, offer or report.

A search engine shows little of a page. A listing says there how many things it has ("1,203 jobs"), calls on its reader
to choose ("find and compare", "entdecke") and names their kind and a place ("hotels in Rome"). A text about one thing
speaks in the first person, or reports what others said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from handlers.text.patterns import CompiledPatterns, split_words
from handlers.text.sentences import sentences
from handlers.text.words import fold

_PART = re.compile(r"\s[|·•—–»-]\s|[|:]")
_NAMED_PART = re.compile(r"\s[|·•—–»-]\s|[|｜丨_]")
_HEADLINE_WORDS = 5
_IDEOGRAPHS = range(0x3400, 0xA000)
_NUMBER = re.compile(r"\d[\d.,]{0,12}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_COUNT_END = re.compile(r"[.!?:;。！？]\s|\d")
_ONLY_DIGITS = str.maketrans("", "", ".,")
_AFTER_CHARACTERS, _AFTER_WORDS = 60, 4
_CALL_CHARACTERS = 40
_CHARACTERS, _WORDS = 400, 80
_MOST_NUMBERS = 12
_LEAST_COUNTED, _LEAST_IN_TITLE = 20, 5
"""Of fewer things a text may well tell one by one; a title has room for none of them."""


@dataclass(frozen=True, slots=True)
class Title:
    """A title that was read once.

    Attributes:
        text: As it came.
        folded: In lower case, with narrow signs.
        words: Its words.
        first: Its part before the site's name.
        name: The words of that part.
        headline: Words of its longest part.
        listing, navigation: What reads as a title of a listing or of navigation, "" where nothing does.
    """

    text: str = ""
    folded: str = ""
    words: tuple[str, ...] = ()
    first: str = ""
    name: tuple[str, ...] = ()
    headline: float = 0.0
    listing: str = ""
    navigation: str = ""


def read_title(title: str, patterns: CompiledPatterns) -> Title:
    """Reads a title; an empty one has nothing of all this."""
    folded = fold(" ".join(title.split()))
    first = first_part(folded)
    # What stands behind a headline is the name of a site or of a section.
    named = first if len(first.split()) >= _HEADLINE_WORDS else folded
    return Title(
        text=title,
        folded=folded,
        words=tuple(split_words(folded)),
        first=first,
        name=tuple(split_words(first)),
        headline=headline_words(folded),
        listing=_first_match(patterns.listing_titles, named),
        navigation=_first_match(patterns.navigation_titles, named),
    )


def first_part(title: str) -> str:
    """The part of a title before the site's name.

    >>> first_part("running shoes | the shoe shop")
    'running shoes'
    """
    return _PART.split(title, maxsplit=1)[0].strip()


def headline_words(title: str) -> float:
    """Words of the longest part of a title, since names of sites are short; two ideographs count as a word.

    >>> headline_words("sitting pretty: five porches that will transform your home | the house")
    9.0
    >>> headline_words("running shoes | the shoe shop")
    3.0
    """
    found = 0.0
    for part in _NAMED_PART.split(title):
        words = split_words(part)
        ideographs = sum(ord(word[0]) in _IDEOGRAPHS for word in words)
        found = max(found, len(words) - ideographs / 2)
    return found


def _first_match(expressions: tuple[re.Pattern[str], ...], title: str) -> str:
    return next((match.group().strip() for expression in expressions if (match := expression.search(title))), "")


@dataclass(frozen=True, slots=True)
class Offers:
    """What a title and the beginning of a text offer.

    Attributes:
        calls: Sentences that call on the reader to choose ("Compare …"), and different phrases such as "wide range".
        counted: A number with the kind of things that it counts; "" where none is there.
        placed: The kind of things that the title has in or near a place; "" where none is there.
        reports: Different phrases in the first person, or of a report.
    """

    calls: int = 0
    counted: str = ""
    placed: str = ""
    reports: int = 0


def find_offers(title: Title, text: str, words: Sequence[str], patterns: CompiledPatterns) -> Offers:
    """Looks through a title and the beginning of a folded text and its words."""
    text, both = text[:_CHARACTERS], [list(title.words), list(words[:_WORDS])]
    calls = sum(
        bool(patterns.offer_calls.find(begin, (0,)))
        for sentence in sentences(text, is_folded=True)
        if (begin := split_words(sentence[:_CALL_CHARACTERS]))
    )
    return Offers(
        calls=calls + len({phrase for found in both for phrase in patterns.offer_phrases.find(found)}),
        counted=_counted(title.folded, _LEAST_IN_TITLE, patterns) or _counted(text, _LEAST_COUNTED, patterns),
        placed=_placed(title.words, patterns),
        reports=len({phrase for found in both for phrase in patterns.report_phrases.find(found)}),
    )


def _counted(text: str, least: int, patterns: CompiledPatterns) -> str:
    for place, number in enumerate(_NUMBER.finditer(text)):
        if place == _MOST_NUMBERS:
            break
        after = text[number.end() : number.end() + _AFTER_CHARACTERS]
        if int(number.group().translate(_ONLY_DIGITS)) < least or _YEAR.fullmatch(number.group()):
            continue
        words = split_words(_COUNT_END.split(after, maxsplit=1)[0])[:_AFTER_WORDS]
        if found := patterns.offer_nouns.find(words):
            return f"{number.group()} {_joined(found[0])}"
    return ""


def _placed(title: Sequence[str], patterns: CompiledPatterns) -> str:
    """A kind of things right before a word such as "in"."""
    for before, word in pairwise(title):
        if (nouns := patterns.offer_nouns_before.get(word)) is not None and nouns.find([before]):
            return f"{before} {word}"
    return ""


def _joined(words: Sequence[str]) -> str:
    return ("" if words[0] > "\u2fff" else " ").join(words)
