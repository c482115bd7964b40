"""The pattern packs of ``config/patterns``, joined and compiled once for a set of rules.

In: packs of month names, expressions, currencies and word lists, one file a language or a domain (R-037). Out: one
``CompiledPatterns`` that the detectors share. Packs are data so that another language needs a file, not code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.rules import Section

NUMERALS = "〇零一二三四五六七八九十廿卅"
"""The characters that ideographic numbers below a hundred are written with."""

_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+|[\u3400-\u9fff]")
_GROUP_DEPTH = 3
_PLACEHOLDERS = ("%month%", "%half%", "%currency%", "%amount%", "%number%")
# Grouped by thousands, the Indian way, or plain; a group of fixed length never runs into the number after it.
_AMOUNT = r"\d(?:\d{0,2}(?:[.,’' \u00a0]\d{3}){1,4}(?:[.,]\d{1,2})?|\d?(?:,\d\d){1,3},\d{3}|\d{0,8}(?:[.,]\d{1,2})?)"


def _compilable(expression: str) -> str:
    filled = expression
    for placeholder in _PLACEHOLDERS:
        filled = filled.replace(placeholder, "x")
    try:
        re.compile(filled)
    except re.error as error:
        raise ValueError(f"not a regular expression: {expression!r}: {error}") from error
    return expression


Expression = Annotated[str, AfterValidator(_compilable)]
"""A regular expression; it must run in linear time, since pages are other people's text."""


class PatternPack(Section):
    """One file of ``config/patterns``: what a language or a domain writes its details and its pages with."""

    ideographic: bool = Field(
        default=False,
        description="Whether every detail of the pack has an ideograph: other texts are spared the search.",
    )
    months: tuple[tuple[str, ...], ...] = Field(
        default=(), max_length=12, description="Names of the twelve months, January first, lower case."
    )
    dates: tuple[Expression, ...] = Field(
        default=(),
        description="Dates in lower-cased text. Groups: year, month, day, month_name, "
        "republic_year (years since 1911), "
        "or first and second where the order of day and month is open.",
    )
    times: tuple[Expression, ...] = Field(
        default=(), description="Clock times in lower-cased text. Groups: hour, minute, half."
    )
    halves: dict[str, str] = Field(default={}, description="Words for the half of the day: am or pm.")
    prices: tuple[Expression, ...] = Field(
        default=(), description="Prices in lower-cased text. Groups: amount, currency, scale."
    )
    free_of_charge: tuple[str, ...] = Field(default=(), description="Phrases that say admission costs nothing.")
    currencies: dict[str, str] = Field(
        default={}, description="How a currency is written: its ISO 4217 code, or the sign itself where that is open."
    )
    places: tuple[Expression, ...] = Field(
        default=(), description="Street addresses and postal places, in text as it stands."
    )
    place_labels: tuple[str, ...] = Field(
        default=(), description="Words before the colon of a named place, lower case."
    )
    not_dates: tuple[str, ...] = Field(
        default=(), description="Words after which a number is no date (version, phone)."
    )
    listing_words: tuple[str, ...] = Field(default=(), description="Words of addresses that name a listing (R-026).")
    listing_parents: tuple[str, ...] = Field(
        default=(), description="Path segments whose next segment selects from a listing, such as category."
    )
    navigation_words: tuple[str, ...] = Field(
        default=(), description="Words of addresses that name an account, help or home page."
    )
    facet_words: tuple[str, ...] = Field(
        default=(), description="Words of addresses that only narrow a listing or name a language or file type."
    )
    plurals: tuple[Expression, ...] = Field(
        default=(), description="Endings of a noun in the plural, which names a listing rather than one thing."
    )
    page_parameters: tuple[str, ...] = Field(default=(), description="Query parameters that number a listing's pages.")
    search_parameters: tuple[str, ...] = Field(default=(), description="Query parameters that hold a search.")
    listing_marks: tuple[str, ...] = Field(default=(), description="Classes that content systems put on listings.")
    item_marks: tuple[str, ...] = Field(default=(), description="Classes that content systems put on single items.")
    listing_titles: tuple[Expression, ...] = Field(default=(), description="Titles of listings, lower case (R-028).")
    navigation_titles: tuple[Expression, ...] = Field(default=(), description="Titles of home and account pages.")
    link_phrases: tuple[str, ...] = Field(default=(), description="Labels of links to an item or a next page (R-027).")
    account_phrases: tuple[str, ...] = Field(default=(), description="Phrases of log-in and registration forms.")
    item_phrases: tuple[str, ...] = Field(default=(), description="Phrases that stand beside one item or article.")
    stop_words: tuple[str, ...] = Field(default=(), description="Words of a query that say nothing of its subject.")


Patterns = dict[str, PatternPack]
"""The ``patterns`` section: every file of ``config/patterns`` under its stem."""


class Phrases:
    """Phrases to be found in a list of words; what stands between words, such as a hyphen, makes no difference."""

    def __init__(self, phrases: Iterable[str]) -> None:
        """Sorts the phrases by their first word, the longest first."""
        self._by_first: dict[str, list[list[str]]] = {}
        for phrase in sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase)):
            if words := split_words(phrase.lower()):
                self._by_first.setdefault(words[0], []).append(words)

    def find(self, words: list[str]) -> list[tuple[str, ...]]:
        """The phrases in a text's words, in order, the longest at each place.

        >>> Phrases(["read more", "view event"]).find(split_words("jazz: read more, view-event"))
        [('read', 'more'), ('view', 'event')]
        """
        found: list[tuple[str, ...]] = []
        for place in [place for place, word in enumerate(words) if word in self._by_first]:
            for phrase in self._by_first[words[place]]:
                if words[place : place + len(phrase)] == phrase:
                    found.append(tuple(phrase))
                    break
        return found


def split_words(text: str) -> list[str]:
    """The words of a lower-case text; an ideograph is a word of its own, numbers are none."""
    return _WORD.findall(text)


@dataclass(frozen=True, slots=True)
class DetailExpressions:
    """How concrete details are written."""

    dates: tuple[re.Pattern[str], ...]
    times: tuple[re.Pattern[str], ...]
    prices: tuple[re.Pattern[str], ...]
    places: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class CompiledPatterns:
    """All packs as one. Attributes are named as the fields of a pack.

    ``details_in_letters`` are the expressions that a text without ideographs can match.
    """

    months: Mapping[str, int]
    halves: Mapping[str, str]
    currencies: Mapping[str, str]
    details: DetailExpressions
    details_in_letters: DetailExpressions
    free_of_charge: re.Pattern[str]
    place_label: re.Pattern[str]
    not_dates: re.Pattern[str]
    listing_words: frozenset[str]
    listing_parents: frozenset[str]
    navigation_words: frozenset[str]
    facet_words: frozenset[str]
    plurals: tuple[re.Pattern[str], ...]
    page_parameters: frozenset[str]
    search_parameters: frozenset[str]
    listing_marks: frozenset[str]
    item_marks: frozenset[str]
    listing_titles: tuple[re.Pattern[str], ...]
    navigation_titles: tuple[re.Pattern[str], ...]
    link_phrases: Phrases
    account_phrases: Phrases
    item_phrases: Phrases
    stop_words: frozenset[str]


def compile_patterns(patterns: Patterns) -> CompiledPatterns:
    """Joins the packs and compiles them; done once for a set of rules, never at import."""
    packs = tuple(patterns.values())
    months = {name: number for pack in packs for number, names in enumerate(pack.months, 1) for name in names}
    halves = {word: half for pack in packs for word, half in pack.halves.items()}
    currencies = {word: code for pack in packs for word, code in pack.currencies.items()}
    words = {
        "%month%": _alternatives(months),
        "%half%": _alternatives(halves),
        "%currency%": _alternatives(currencies),
        "%amount%": _AMOUNT,
        "%number%": f"[{NUMERALS}]{{1,3}}",
    }

    def compiled(name: str, among: Sequence[PatternPack] = packs) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(_fill(text, words)) for pack in among for text in getattr(pack, name))

    def details(among: Sequence[PatternPack]) -> DetailExpressions:
        return DetailExpressions(*(compiled(name, among) for name in ("dates", "times", "prices", "places")))

    def joined(name: str) -> frozenset[str]:
        return frozenset(word for pack in packs for word in getattr(pack, name))

    return CompiledPatterns(
        months=months,
        halves=halves,
        currencies=currencies,
        details=details(packs),
        details_in_letters=details([pack for pack in packs if not pack.ideographic]),
        free_of_charge=re.compile(rf"(?:{_alternatives(joined('free_of_charge'))})(?![a-zæøåäöüß])"),
        place_label=re.compile(rf"(?<![a-zæøåäöüß])(?:{_alternatives(joined('place_labels'))})\s{{0,2}}$"),
        not_dates=re.compile(rf"(?<!\w)(?:{_alternatives(joined('not_dates'))})[.:#\s]{{0,3}}$"),
        listing_words=joined("listing_words"),
        listing_parents=joined("listing_parents"),
        navigation_words=joined("navigation_words"),
        facet_words=joined("facet_words"),
        plurals=compiled("plurals"),
        page_parameters=joined("page_parameters"),
        search_parameters=joined("search_parameters"),
        listing_marks=joined("listing_marks"),
        item_marks=joined("item_marks"),
        listing_titles=compiled("listing_titles"),
        navigation_titles=compiled("navigation_titles"),
        link_phrases=Phrases(joined("link_phrases")),
        account_phrases=Phrases(joined("account_phrases")),
        item_phrases=Phrases(joined("item_phrases")),
        stop_words=joined("stop_words"),
    )


def _fill(expression: str, words: Mapping[str, str]) -> str:
    for placeholder, alternatives in words.items():
        expression = expression.replace(placeholder, alternatives)
    return expression


def _alternatives(words: Iterable[str]) -> str:
    """An expression for any of the words, the longest first, so that "nt$" is not read as "nt".

    Words are grouped by their first characters: the engine then looks at a few of them at each place, not at all.
    """
    known = sorted(set(words), key=lambda word: (-len(word), word))
    # No words at all match nothing, where an empty expression would match everywhere.
    return _grouped(known, 0) if known else r"(?!)"


def _grouped(words: list[str], depth: int) -> str:
    if len(words) == 1 or depth == _GROUP_DEPTH:
        return "|".join(re.escape(word[depth:]) for word in words)
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[depth : depth + 1], []).append(word)
    ends = groups.pop("", None)
    branches = [f"{re.escape(first)}(?:{_grouped(group, depth + 1)})" for first, group in groups.items()]
    # A word that ends here is tried after those that go on.
    return "|".join([*branches, ""] if ends else branches)
