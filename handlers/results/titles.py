"""The title of a result: its words, the part before the site's name, and whether it reads as a listing's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.text.patterns import CompiledPatterns, split_words
from handlers.text.words import fold

_PART = re.compile(r"\s[|·•—–»-]\s|[|:]")
_NAMED_PART = re.compile(r"\s[|·•—–»-]\s|[|｜丨_]")
_HEADLINE_WORDS = 5
_IDEOGRAPHS = range(0x3400, 0xA000)


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
