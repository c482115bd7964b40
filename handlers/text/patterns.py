"""The pattern packs of ``config/patterns``, joined and compiled once for a set of rules.

A pack is a file, one for a language or a domain (R-037). An expression for details begins with a number. Words before a
number are in lists: a search that looks at numbers only is much faster than one that looks everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import regex
from pydantic import AfterValidator, Field

from handlers.text.scripts import HAN, simplified
from handlers.text.words import (
    NUMERALS,
    AskedKind,
    DayPart,
    Kind,
    Phrases,
    Shapes,
    Words,
    alternatives,
    with_own_groups,
)
from schemas.rules import Rules, Section

_PLACEHOLDERS = ("%month%", "%number%", "%street%")
_LEADS = ("eras", "time_cues", "time_prepositions", "minute_words", "price_labels")
_CHOICE = re.compile(r"\(([^()]*)\)")
_CLASS_OR_HAN = regex.compile(rf"\[[^\[\]]*+\]|[{HAN}]")
_BRACKET = re.compile(r"[()]")


@lru_cache(maxsize=1024)
def spelled_out(words: tuple[str, ...]) -> tuple[str, ...]:
    """Writes out every word of a list.

    ``(s)`` may be left out, and of ``(y|ies)`` one is chosen. A traditional Chinese word is also meant in simplified
    characters.

    >>> spelled_out(("event(s)", "find (jobs|cars)", "價格"))
    ('event', 'events', 'find jobs', 'find cars', '價格', '价格')
    """
    spelled: list[str] = []
    for word in words:
        # Every other piece is a choice.
        first, *pieces = _CHOICE.split(word) if "(" in word else (word,)
        forms = [first]
        for choice, following in zip(pieces[::2], pieces[1::2], strict=True):
            some = choice.split("|") if "|" in choice else ("", choice)
            forms = [f"{form}{one}{following}" for form in forms for one in some]
        if any(not form.strip() or _BRACKET.search(form) for form in forms):
            raise ValueError(f"{word!r}: brackets are (ending) behind a word or (one|other), not nested and not empty")
        spelled += forms if word.isascii() else (script for form in forms for script in (form, simplified(form)))
    return tuple(dict.fromkeys(spelled))


def _keys_spelled_out(meanings: dict[str, Any]) -> dict[str, Any]:
    return {form: meaning for word, meaning in meanings.items() for form in spelled_out((word,))}


def _in_both_scripts(expression: str) -> str:
    """The expression with the simplified character beside each traditional one."""
    return str(_CLASS_OR_HAN.sub(_with_simplified, expression))


def _with_simplified(found: regex.Match[str]) -> str:
    text = str(found[0])
    signs = "".join(sign if simplified(sign) in text else sign + simplified(sign) for sign in text)
    return f"[{signs}]" if len(text) == 1 < len(signs) else signs


def _compilable(expression: str) -> str:
    filled = expression
    for placeholder in _PLACEHOLDERS:
        filled = filled.replace(placeholder, "x")
    try:
        re.compile(with_own_groups(filled))
    except re.error as error:
        raise ValueError(f"not a regular expression: {expression!r}: {error}") from error
    return expression


Expression = Annotated[str, AfterValidator(_in_both_scripts), AfterValidator(_compilable)]
"""A regular expression. It must run in linear time, since others write the pages."""
WordList = Annotated[tuple[str, ...], AfterValidator(spelled_out)]
DayName = Literal[
    "today", "tomorrow", "weekend", "next weekend", "week", "next week", "month", "next month",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
]  # fmt: skip
Counts = Annotated[dict[str, int], AfterValidator(_keys_spelled_out)]
Factors = Annotated[dict[str, float], AfterValidator(_keys_spelled_out)]
Months = Annotated[tuple[WordList, ...], Field(max_length=12)]


def _words(description: str) -> Any:
    return Field(default=(), description=description)


def _meanings(description: str) -> Any:
    return Field(default={}, description=description)


class PatternPack(Section):
    """One file of ``config/patterns``. Words in capitals count only as written, all others in any case."""

    months: Months = _words("Names of the twelve months, January first.")
    short_months: Months = _words("Short names of the months that are words too; they count beside a year only.")
    eras: Counts = _meanings("Words before a year that is counted from elsewhere: what to add to it.")
    dates: tuple[Expression, ...] = _words(
        "Dates in folded text, from their first number on. Groups: year, month, day, month_name, or first, mark and "
        "second where the order of day and month is open; an empty group cued asks for a date cue before. Group "
        "republic is a year of the Republic of China."
    )
    days: tuple[Expression, ...] = _words("What follows the name of a month, from the day on. Groups: day, year.")
    date_cues: WordList = _words("Words before a date that has no year.")
    month_first_regions: WordList = _words("Countries where the month comes first in 03/04/2024, ISO 3166-1.")
    open_regions: WordList = _words("Countries that use both orders; in all others the day comes first.")
    region_of_domains: dict[str, str] = _meanings("Countries of top-level domains that are not the country's code.")
    worldwide_domains: WordList = _words("Top-level domains of two letters that sites of every country use.")
    day_first_languages: WordList = _words("Languages in which the day comes first wherever they are spoken.")
    not_dates: WordList = _words("Words after which a number is no date (version, phone).")
    times: tuple[Expression, ...] = _words(
        "What follows the hour of a time, in folded text. Groups: minute, fives and quarters (minutes by five and "
        "fifteen), half_hour; an empty group cued asks for a part of the day beside it, or for a cue before."
    )
    time_cues: WordList = _words("Words before an hour that make it a time: kl.")
    time_prepositions: WordList = _words("Words before a time that are also before much else: at, um.")
    day_parts: dict[DayPart, WordList] = _meanings("Words before or after a time for a part of the day.")
    day_parts_before: dict[DayPart, WordList] = _meanings(
        "The same for words that are before a time only: evening at 8."
    )
    day_parts_after: dict[DayPart, WordList] = _meanings("The same for words that follow a time only: p.m.")
    range_words: WordList = _words("Words between two times of a range: to, bis.")
    minute_words: Counts = _meanings("Words before an hour that add minutes to it: half past, halb.")
    currencies: dict[str, WordList] = _meanings(
        "Spellings before or after an amount, by the ISO 4217 code (one too), or by the sign that several share."
    )
    currency_names: dict[str, WordList] = _meanings("Names of currencies, which follow an amount.")
    doubtful_currencies: WordList = _words("Those of them that need decimals or a scale, for they are words as well.")
    scales: Factors = _meanings("Words between amount and currency that multiply it.")
    price_labels: WordList = _words("Words before the colon of a price.")
    free_of_charge: WordList = _words("Phrases that say admission costs nothing.")
    places: tuple[Expression, ...] = _words("Street addresses in text as written, from their first number on.")
    street_kinds: WordList = _words("Kinds of street after a name, %street% in places: street, road.")
    street_endings: WordList = _words("Endings of street names before a house number: straße, gade.")
    street_words: WordList = _words("Words that open a street name with its number behind it: rua, via, ul.")
    box_words: WordList = _words("Words before the number of a post office box.")
    towns: tuple[Expression, ...] = _words("What is between a town and the number of a postal code behind it.")
    place_labels: WordList = _words("Words before the colon of a named place.")
    no_places: WordList = _words("Words behind such a colon that name no place: tba, see below.")

    small_words: dict[str, WordList] = _meanings("The most frequent words of a language, which tell it from others.")
    listing_words: WordList = _words("Words of addresses that name a listing (R-026).")
    listing_parents: WordList = _words("Path segments whose next segment selects from a listing, such as category.")
    navigation_words: WordList = _words("Words of addresses that name an account, help or home page.")
    facet_words: WordList = _words("Words of addresses that narrow a listing, or name a language or file type.")
    plurals: tuple[Expression, ...] = _words("Endings of a noun in the plural, which names a listing.")
    page_parameters: WordList = _words("Query parameters that number a listing's pages.")
    search_parameters: WordList = _words("Query parameters that hold a search.")
    listing_marks: WordList = _words("Classes that content systems put on listings.")
    item_marks: WordList = _words("Classes that content systems put on single items.")
    listing_titles: tuple[Expression, ...] = _words("Titles of listings, lower case (R-028).")
    navigation_titles: tuple[Expression, ...] = _words("Titles of home and account pages.")
    information_words: WordList = _words("Words of addresses of a page about the site, which may answer a question.")
    offer_nouns: WordList = _words("Plurals of what listings offer, such as hotels.")
    place_words: WordList = _words("Words between such a plural and a place, such as in.")
    offer_calls: WordList = _words("First words of a sentence that calls on its reader to choose, such as compare.")
    offer_phrases: WordList = _words("Phrases of a listing anywhere, such as wide range and results for.")
    report_phrases: WordList = _words("Phrases of a text about one thing: the first person, what others said.")
    link_phrases: WordList = _words("Labels of links to an item or a next page (R-027).")
    account_phrases: WordList = _words("Phrases of log-in and registration forms.")
    item_phrases: WordList = _words("Phrases that accompany one item or article.")
    stop_words: WordList = _words("Words of a query that say nothing of its subject.")
    question_fillers: WordList = _words("More words of questions that say nothing of their subject.")
    asked_things: dict[str, WordList] = _meanings("Words of a query for a kind of thing, by a name in thing_details.")
    asked_details: dict[AskedKind, WordList] = _meanings(
        "Words of a query that ask for a detail: price, who, how many."
    )
    asked_days: dict[DayName, WordList] = _meanings("Words of a query for days as seen from its own day, and weekdays.")
    most_words: WordList = _words("Words before a price, or ideographs behind it, that make it the highest one: under.")
    least_words: WordList = _words("The same for the lowest one: over.")
    choices: dict[str, dict[str, Expression]] = _meanings(
        "Things of which a query may state one, by kind, each with an expression. A text that names none of a kind is "
        "taken for the first; 'open' is what is named and not understood."
    )
    payers: dict[str, Expression] = _meanings("Payers of a price, such as adult and child, each with an expression.")
    languages: dict[str, WordList] = _meanings("Names of languages, by their code.")
    language_cues: WordList = _words("Words before a language in which something is: in, auf.")
    language_cues_behind: WordList = _words("Words behind such a language: edition.")
    week: dict[str, WordList] = _meanings("Short weekdays, and words for all of them, for exceptions and closing.")
    exclusions: dict[str, str] = _meanings("Words that exclude what follows, each with its language: without.")
    denials: dict[str, WordList] = _meanings("Words before what is not so, by language.")
    no_denials: WordList = _words("Words behind these that make it so: not only, not far.")
    with_words: WordList = _words("Words before what a thing has: with.")
    direction_words: WordList = _words("Words between where a way begins and where it leads, such as to.")
    origin_words: WordList = _words("Words before where a way begins: from.")
    destination_words: WordList = _words("Words between the ends of a way, if one of origin_words is before: da A a B.")
    needs: WordList = _words("Words beside a denial that say that something is not needed, which is no lack of it.")
    opposed: WordList = _words("Words behind a denial after which nothing is denied any more: but.")
    admitted: WordList = _words("Words behind a denial that deny what is before it: not allowed.")
    other_prices: WordList = _words("Words before a price that is not to be paid now, or not for the thing: rrp.")
    other_prices_behind: WordList = _words("Words behind such a price: off.")
    number_words: WordList = _words("Numbers from two on in words.")
    one_words: WordList = _words("Words for one, which are a number before a unit of time: a day.")
    thing_details: dict[str, tuple[tuple[Kind, ...], ...]] = _meanings(
        "Details that make an item such a thing, whatever it is called: alternatives, each of some kinds."
    )


Patterns = dict[str, PatternPack]
"""The ``patterns`` section: every file of ``config/patterns`` under its stem."""


class DetailPatterns:
    """How all packs write details. Attributes are named as the fields of a pack.

    ``leads`` are all words that say what the number behind them is; ``all_currencies`` joins signs and names, and
    ``day_parts_ahead`` the words for a part of the day before a time.
    """

    def __init__(self, patterns: Patterns) -> None:
        """Joins and compiles the fields of all packs that describe details; done once for a set of rules."""
        packs = tuple(patterns.values())

        def shapes(name: str) -> Shapes:
            return Shapes(_fill(expression, fillings) for expression in _all_of(packs, name))

        def words(name: str) -> Words[None]:
            return Words(dict.fromkeys(_all_of(packs, name)))

        def values(name: str) -> dict[str, Any]:
            return {word: value for pack in packs for word, value in getattr(pack, name).items()}

        named = {name: number for pack in packs for number, names in enumerate(pack.months, 1) for name in names}
        short = {name: number for pack in packs for number, names in enumerate(pack.short_months, 1) for name in names}
        months = short | named
        codes = {code: code for pack in packs for code in pack.currencies if len(code) == 3 and code.isalpha()}
        currencies: dict[str, str] = codes | meanings_of(patterns, "currencies")
        day_parts: dict[str, DayPart] = meanings_of(patterns, "day_parts")
        day_parts_ahead = day_parts | meanings_of(patterns, "day_parts_before")
        fillings = {
            "%month%": alternatives(name.lower() for name in months),
            "%number%": f"[{NUMERALS}]{{1,3}}",
            "%street%": alternatives(_all_of(packs, "street_kinds")),
        }
        leads = [*months, *currencies, *day_parts_ahead, *(word for name in _LEADS for word in _all_of(packs, name))]
        opening = [form for word in _all_of(packs, "street_words") for form in (word, word.capitalize(), word.upper())]
        self.leads = Words(dict.fromkeys(leads))
        self.months = Words(months)
        self.short_months = frozenset(short.keys() - named.keys())
        self.eras: Words[int] = Words(values("eras"))
        self.dates, self.days, self.times, self.places = map(shapes, ("dates", "days", "times", "places"))
        self.date_cues = words("date_cues")
        self.month_first_regions = joined_words(patterns, "month_first_regions")
        self.open_regions = joined_words(patterns, "open_regions")
        self.region_of_domains: dict[str, str] = values("region_of_domains")
        self.worldwide_domains = joined_words(patterns, "worldwide_domains")
        self.day_first_languages = joined_words(patterns, "day_first_languages")
        self.not_dates = re.compile(rf"(?<!\w)(?:{alternatives(_all_of(packs, 'not_dates'))})[.:#\s]{{0,3}}$")
        self.time_cues = words("time_cues")
        self.time_prepositions = words("time_prepositions")
        self.day_parts = Words(day_parts)
        self.day_parts_ahead = Words(day_parts_ahead)
        self.day_parts_after: Words[DayPart] = Words(meanings_of(patterns, "day_parts_after"))
        self.range_words = joined_words(patterns, "range_words")
        self.minute_words: Words[int] = Words(values("minute_words"))
        self.currencies = Words(currencies)
        self.all_currencies = Words(currencies | meanings_of(patterns, "currency_names"))
        self.doubtful_currencies = joined_words(patterns, "doubtful_currencies")
        self.scales: Words[float] = Words(values("scales"))
        self.price_labels = words("price_labels")
        self.free_of_charge = re.compile(alternatives(_all_of(packs, "free_of_charge")))
        self.street_endings = tuple(_all_of(packs, "street_endings"))
        self.street_words = re.compile(alternatives(opening))
        self.box_words = words("box_words")
        self.towns = re.compile("|".join(f"(?:{expression})$" for expression in _all_of(packs, "towns")) or r"(?!)")
        self.place_labels = words("place_labels")
        self.no_places = words("no_places")
        self.small_words = {language: frozenset(listed) for language, listed in values("small_words").items()}


class CompiledPatterns:
    """All packs as one. Attributes are named as the fields of a pack; phrases begin with one of ``phrase_begins``.

    Endings are a language's own, so ``plurals`` are kept by the stem of their pack; ``stop_words_of`` tells languages
    apart. ``offer_nouns_before`` has the nouns of the languages in which a word is before a place.
    """

    def __init__(self, patterns: Patterns, details: DetailPatterns) -> None:
        """Joins the packs and compiles them; done once for a set of rules, never at import."""
        packs = tuple(patterns.values())

        def phrases(name: str) -> Phrases:
            return Phrases(_all_of(packs, name))

        self.details = details
        self.listing_words = joined_words(patterns, "listing_words")
        self.listing_parents = joined_words(patterns, "listing_parents")
        self.navigation_words = joined_words(patterns, "navigation_words")
        self.information_words = joined_words(patterns, "information_words")
        self.facet_words = joined_words(patterns, "facet_words")
        self.plurals = {stem: tuple(map(re.compile, pack.plurals)) for stem, pack in patterns.items() if pack.plurals}
        self.stop_words = joined_words(patterns, "stop_words")
        self.stop_words_of = {stem: frozenset(pack.stop_words) for stem, pack in patterns.items() if pack.stop_words}
        self.page_parameters = joined_words(patterns, "page_parameters")
        self.search_parameters = joined_words(patterns, "search_parameters")
        self.listing_marks = joined_words(patterns, "listing_marks")
        self.item_marks = joined_words(patterns, "item_marks")
        self.listing_titles = tuple(map(re.compile, _all_of(packs, "listing_titles")))
        self.navigation_titles = tuple(map(re.compile, _all_of(packs, "navigation_titles")))
        self.offer_nouns = phrases("offer_nouns")
        self.offer_nouns_before = {
            word: Phrases(noun for pack in packs if word in pack.place_words for noun in pack.offer_nouns)
            for word in joined_words(patterns, "place_words")
        }
        self.offer_calls = phrases("offer_calls")
        self.offer_phrases = phrases("offer_phrases")
        self.report_phrases = phrases("report_phrases")
        of_pages = self.link_phrases, self.account_phrases, self.item_phrases = (
            phrases("link_phrases"), phrases("account_phrases"), phrases("item_phrases"),
        )  # fmt: skip
        self.phrase_begins = frozenset().union(*(listed.firsts for listed in of_pages))


class PatternRules(Rules):
    """Rules of a handler that reads texts."""

    patterns: Patterns

    @cached_property
    def details(self) -> DetailPatterns:
        """How the packs write details."""
        return DetailPatterns(self.patterns)

    @cached_property
    def compiled_patterns(self) -> CompiledPatterns:
        """All packs as one."""
        return CompiledPatterns(self.patterns, self.details)


def joined_words(patterns: Patterns, name: str) -> frozenset[str]:
    """The words of one list in all packs, such as ``stop_words``."""
    return frozenset(_all_of(tuple(patterns.values()), name))


def meanings_of(patterns: Patterns, name: str) -> dict[str, Any]:
    """The meaning of each word, from a field that lists the words by their meaning."""
    return {w: meaning for pack in patterns.values() for meaning, words in getattr(pack, name).items() for w in words}


def _all_of(packs: Sequence[PatternPack], name: str) -> list[str]:
    """The entries of one field in all packs, each once, in order."""
    return list(dict.fromkeys(word for pack in packs for word in getattr(pack, name)))


def _fill(expression: str, fillings: Mapping[str, str]) -> str:
    for placeholder, filling in fillings.items():
        expression = expression.replace(placeholder, filling)
    return expression
