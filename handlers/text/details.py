"""How dates, clock times, prices and places are written: the part of the pattern packs that the detectors share.

In: packs, one a language. Out: ``DetailPatterns``, joined and compiled once. Every expression begins with a number;
what stands before a number is a list of words, since looking at numbers only is much faster than looking everywhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from handlers.text.candidates import NumberFinder
from handlers.text.numbers import NUMERALS
from handlers.text.words import Words, alternatives
from schemas.rules import Section

Half = Literal["am", "pm", "noon", "night"]

_PLACEHOLDERS = ("%month%", "%number%", "%street%")
_HALVES = ("halves", "halves_after")
_LEADS = (
    *("eras", "time_cues", "time_prepositions", "minute_words", "halves", "halves_before", "price_labels"),
    "currencies",
)
_FOLLOWERS = ("currencies", "currency_names", "scales", "scale_letters")
_CUED = "(?P<cued>)"
_GROUP = re.compile(r"\(\?P<(\w+)>")


def _compilable(expression: str) -> str:
    filled = expression
    for placeholder in _PLACEHOLDERS:
        filled = filled.replace(placeholder, "x")
    try:
        re.compile(_with_own_groups(filled))
    except re.error as error:
        raise ValueError(f"not a regular expression: {expression!r}: {error}") from error
    return expression


def _with_own_groups(expression: str) -> str:
    """The expression with a number after each group's name: a name may stand in several of its branches."""
    count = itertools.count()
    return _GROUP.sub(lambda group: f"(?P<{group[1]}_{next(count)}>", expression)


Expression = Annotated[str, AfterValidator(_compilable)]
"""A regular expression; it must run in linear time, since pages are other people's text."""


class DetailPack(Section):
    """What a language writes its details with. Words in capitals count only as written, all others in any case."""

    months: tuple[tuple[str, ...], ...] = Field(
        default=(), max_length=12, description="Names of the twelve months, January first."
    )
    short_months: tuple[tuple[str, ...], ...] = Field(
        default=(),
        max_length=12,
        description="Short names of the twelve months that are words too; they count beside a year only.",
    )
    eras: dict[str, int] = Field(
        default={}, description="Words before a year that is counted from elsewhere: what to add to it."
    )
    dates: tuple[Expression, ...] = Field(
        default=(),
        description="Dates in folded text, from their first number on. Groups: year, month, day, month_name, or first, "
        "mark and second where the order of day and month is open; an empty group cued asks for a date cue before. "
        "Group republic is a year of the Republic of China.",
    )
    days: tuple[Expression, ...] = Field(
        default=(), description="What follows the name of a month, from the day on. Groups: day, year."
    )
    date_cues: tuple[str, ...] = Field(default=(), description="Words before a date that has no year.")
    month_first_regions: tuple[str, ...] = Field(
        default=(), description="Countries where the month comes first in 03/04/2024, ISO 3166-1 in lower case."
    )
    open_regions: tuple[str, ...] = Field(
        default=(), description="Countries where neither order is the only one; in all others the day comes first."
    )
    region_of_domains: dict[str, str] = Field(
        default={}, description="Countries of last labels of host names that are not the country's own code."
    )
    worldwide_domains: tuple[str, ...] = Field(
        default=(), description="Last labels of two letters that sites of every country use."
    )
    day_first_languages: tuple[str, ...] = Field(
        default=(), description="Languages in which the day comes first wherever they are spoken."
    )
    not_dates: tuple[str, ...] = Field(
        default=(), description="Words after which a number is no date (version, phone)."
    )
    times: tuple[Expression, ...] = Field(
        default=(),
        description="What follows the hour of a time, in folded text. Groups: minute, fives and quarters "
        "(minutes by five and fifteen), half_hour; an empty group cued asks for a part of the day beside it, or for a "
        "cue before.",
    )
    time_cues: tuple[str, ...] = Field(default=(), description="Words before an hour that make it a time: kl.")
    time_prepositions: tuple[str, ...] = Field(
        default=(), description="Words that may stand before a time, and before much else: at, um."
    )
    halves: dict[str, Half] = Field(
        default={}, description="Words before or after a time for a part of the day: am, pm, noon or night."
    )
    halves_before: dict[str, Half] = Field(
        default={}, description="The same for words that stand before a time only: evening at 8."
    )
    halves_after: dict[str, Half] = Field(default={}, description="The same for words that follow a time only: p.m.")
    range_words: tuple[str, ...] = Field(default=(), description="What stands between two times of a range: to, bis.")
    minute_words: dict[str, int] = Field(
        default={}, description="Words before an hour that add minutes to it, or take them off: half past, halb."
    )
    currencies: dict[str, str] = Field(
        default={},
        description="Signs and codes before or after an amount: the ISO 4217 code, or the sign where that is open.",
    )
    currency_names: dict[str, str] = Field(default={}, description="Names of currencies, which follow an amount.")
    doubtful_currencies: tuple[str, ...] = Field(
        default=(),
        description="Those of them that are words or codes as well: they need decimals, thousands or a scale.",
    )
    three_decimals: tuple[str, ...] = Field(default=(), description="Currencies with three decimals.")
    scales: dict[str, float] = Field(default={}, description="Words between amount and currency that multiply it.")
    scale_letters: dict[str, float] = Field(default={}, description="The same for letters close to the amount: 5m.")
    price_labels: tuple[str, ...] = Field(default=(), description="Words before the colon of a price.")
    free_of_charge: tuple[str, ...] = Field(default=(), description="Phrases that say admission costs nothing.")
    places: tuple[Expression, ...] = Field(
        default=(), description="Street addresses in text as it stands, from their first number on."
    )
    street_kinds: tuple[str, ...] = Field(
        default=(), description="Kinds of street after a name, %street% in places: street, road."
    )
    street_endings: tuple[str, ...] = Field(
        default=(), description="Endings of street names before a house number, lower case: straße, gade."
    )
    street_words: tuple[str, ...] = Field(
        default=(), description="Words that open a street name with its number behind it: rua, via, ul."
    )
    box_words: tuple[str, ...] = Field(default=(), description="Words before the number of a post office box.")
    towns: tuple[Expression, ...] = Field(
        default=(), description="What stands between a town and the number of a postal code behind it."
    )
    place_labels: tuple[str, ...] = Field(default=(), description="Words before the colon of a named place.")
    no_places: tuple[str, ...] = Field(
        default=(), description="What stands behind such a colon where no place is named yet, or here: tba, see below."
    )


class Shapes:
    """Several expressions tried at one place, the first that matches wins."""

    def __init__(self, expressions: Iterable[str]) -> None:
        """Joins the expressions; each keeps groups of its own."""
        # What needs a cue says least: it is tried last.
        ordered = sorted(expressions, key=lambda expression: _CUED in expression)
        # No expressions at all match nothing, where an empty one would match everywhere.
        self._joined = re.compile(_with_own_groups("|".join(f"(?:{text})" for text in ordered) or r"(?!)"))
        self._groups = {number: group.rpartition("_")[0] for group, number in self._joined.groupindex.items()}
        counts = [text.count("(?P<") for text in ordered]
        # By the number of a group, where its expression's groups begin: a match is in one expression only.
        self._first = [0, *(sum(counts[:n]) + 1 for n, count in enumerate(counts) for _ in range(count))]

    def match(self, text: str, start: int) -> tuple[int, dict[str, str]] | None:
        r"""Where the match ends and its groups; None without a match.

        >>> Shapes([r"(?P<year>\d{4})-(?P<month>\d\d)"]).match("in 2024-11", 3)
        (10, {'year': '2024', 'month': '11'})
        """
        if (match := self._joined.match(text, start)) is None:
            return None
        last, names = match.lastindex or 0, self._groups
        found = ((names[number], match[number]) for number in range(self._first[last], last + 1) if number)
        return match.end(), {name: value for name, value in found if value is not None}


@dataclass(frozen=True, slots=True)
class DetailPatterns:
    """All packs as one. Attributes are named as the fields of a pack.

    ``numbers`` finds those that may be part of a date, time or price; ``all_currencies`` joins signs and names;
    ``followers`` are all words behind an amount, ``all_halves`` those behind a time, ``halves_ahead`` those before it,
    ``place_leads`` what stands before the number of a house or box.
    """

    numbers: NumberFinder
    followers: Words[None]
    all_halves: Words[None]
    place_leads: Words[None]
    months: Words[int]
    short_months: frozenset[str]
    eras: Words[int]
    dates: Shapes
    days: Shapes
    date_cues: Words[None]
    month_first_regions: frozenset[str]
    open_regions: frozenset[str]
    region_of_domains: Mapping[str, str]
    worldwide_domains: frozenset[str]
    day_first_languages: frozenset[str]
    not_dates: re.Pattern[str]
    times: Shapes
    time_cues: Words[None]
    time_prepositions: Words[None]
    halves: Words[Half]
    halves_ahead: Words[Half]
    halves_after: Words[Half]
    range_words: frozenset[str]
    minute_words: Words[int]
    currencies: Words[str]
    all_currencies: Words[str]
    doubtful_currencies: frozenset[str]
    three_decimals: frozenset[str]
    scales: Words[float]
    scale_letters: Mapping[str, float]
    price_labels: Words[None]
    free_of_charge: re.Pattern[str]
    places: Shapes
    street_endings: tuple[str, ...]
    street_openers: frozenset[str]
    street_words: re.Pattern[str]
    box_words: Words[None]
    towns: re.Pattern[str]
    place_labels: Words[None]
    no_places: Words[None]


def compile_details(packs: Sequence[DetailPack]) -> DetailPatterns:
    """Joins the packs and compiles them; done once for a set of rules."""
    named = {name: number for pack in packs for number, names in enumerate(pack.months, 1) for name in names}
    short = {name: number for pack in packs for number, names in enumerate(pack.short_months, 1) for name in names}
    months = short | named
    either_side = _joined_meanings(packs, "currencies")
    fillings = {
        "%month%": alternatives(name.lower() for name in months),
        "%number%": f"[{NUMERALS}]{{1,3}}",
        "%street%": alternatives(_joined_words(packs, "street_kinds")),
    }

    def shapes(name: str) -> Shapes:
        return Shapes([_fill(expression, fillings) for pack in packs for expression in getattr(pack, name)])

    def words(name: str) -> Words[None]:
        return Words(dict.fromkeys(_joined_words(packs, name)))

    def pattern(name: str) -> str:
        return alternatives(_joined_words(packs, name))

    return DetailPatterns(
        numbers=NumberFinder(
            leads=Words(dict.fromkeys([*months, *_words_of(packs, _LEADS)])),
            followers=_words_of(packs, (*_FOLLOWERS, *_HALVES)),
            letters=_joined_words(packs, "scale_letters"),
            beginnings=months,
            expressions=(expression for pack in packs for expression in (*pack.dates, *pack.times)),
        ),
        followers=Words(dict.fromkeys(_words_of(packs, _FOLLOWERS))),
        all_halves=Words(dict.fromkeys(_words_of(packs, _HALVES))),
        place_leads=Words(
            dict.fromkeys([*_joined_words(packs, "street_endings"), *_joined_words(packs, "box_words"), "#", ":", "."])
        ),
        months=Words(months),
        short_months=frozenset(short.keys() - named.keys()),
        eras=Words(_joined_meanings(packs, "eras")),
        dates=shapes("dates"),
        days=shapes("days"),
        date_cues=words("date_cues"),
        month_first_regions=frozenset(_joined_words(packs, "month_first_regions")),
        open_regions=frozenset(_joined_words(packs, "open_regions")),
        region_of_domains=_joined_meanings(packs, "region_of_domains"),
        worldwide_domains=frozenset(_joined_words(packs, "worldwide_domains")),
        day_first_languages=frozenset(_joined_words(packs, "day_first_languages")),
        not_dates=re.compile(rf"(?<!\w)(?:{pattern('not_dates')})[.:#\s]{{0,3}}$"),
        times=shapes("times"),
        time_cues=words("time_cues"),
        time_prepositions=words("time_prepositions"),
        halves=Words(_joined_meanings(packs, "halves")),
        halves_ahead=Words(_joined_meanings(packs, "halves") | _joined_meanings(packs, "halves_before")),
        halves_after=Words(_joined_meanings(packs, "halves_after")),
        range_words=frozenset(_joined_words(packs, "range_words")),
        minute_words=Words(_joined_meanings(packs, "minute_words")),
        currencies=Words(either_side),
        all_currencies=Words(either_side | _joined_meanings(packs, "currency_names")),
        doubtful_currencies=frozenset(_joined_words(packs, "doubtful_currencies")),
        three_decimals=frozenset(_joined_words(packs, "three_decimals")),
        scales=Words(_joined_meanings(packs, "scales")),
        scale_letters=_joined_meanings(packs, "scale_letters"),
        price_labels=words("price_labels"),
        free_of_charge=re.compile(pattern("free_of_charge")),
        places=shapes("places"),
        street_endings=tuple(_joined_words(packs, "street_endings")),
        street_openers=frozenset(word.lower().split()[0] for word in _joined_words(packs, "street_words")),
        street_words=re.compile(alternatives(_capitalised(packs))),
        box_words=words("box_words"),
        towns=re.compile("|".join(f"(?:{expression})$" for pack in packs for expression in pack.towns) or r"(?!)"),
        place_labels=words("place_labels"),
        no_places=words("no_places"),
    )


def _capitalised(packs: Sequence[DetailPack]) -> list[str]:
    words = _joined_words(packs, "street_words")
    return [form for word in words for form in (word, word.capitalize(), word.upper())]


def _joined_words(packs: Sequence[DetailPack], name: str) -> list[str]:
    return list(dict.fromkeys(word for pack in packs for word in getattr(pack, name)))


def _words_of(packs: Sequence[DetailPack], names: Iterable[str]) -> list[str]:
    return [word for name in names for word in _joined_words(packs, name)]


def _joined_meanings(packs: Sequence[DetailPack], name: str) -> dict[str, Any]:
    return {word: meaning for pack in packs for word, meaning in getattr(pack, name).items()}


def _fill(expression: str, fillings: Mapping[str, str]) -> str:
    for placeholder, filling in fillings.items():
        expression = expression.replace(placeholder, filling)
    return expression
