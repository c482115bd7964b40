"""The pattern packs of ``config/patterns``, joined and compiled once for a set of rules.

In: packs of month names, expressions, currencies and word lists, one file a language or a domain (R-037). Out: one
``CompiledPatterns`` that the detectors share. Packs are data so that another language needs a file, not code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import compress, count

from pydantic import Field

from handlers.text.details import DetailPack, DetailPatterns, Expression, compile_details
from handlers.text.spans import Kind

# Letters by their ranges: half the time of asking of each character what it is.
_WORD = re.compile(
    r"[a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]+|[\u3400-\u9fff]"
)


class PatternPack(DetailPack):
    """One file of ``config/patterns``: what a language or a domain writes its details and its pages with."""

    listing_words: tuple[str, ...] = Field(default=(), description="Words of addresses that name a listing (R-026).")
    listing_parents: tuple[str, ...] = Field(
        default=(), description="Path segments whose next segment selects from a listing, such as category."
    )
    host_words: tuple[str, ...] = Field(
        default=(), description="Listing words that say as a label of a host what the site is, not what its pages are."
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
    information_words: tuple[str, ...] = Field(
        default=(), description="Words of addresses that name a page about the site, which may answer a question."
    )
    offer_nouns: tuple[str, ...] = Field(default=(), description="Plurals of what listings offer, such as hotels.")
    place_words: tuple[str, ...] = Field(default=(), description="Words between such a plural and a place, such as in.")
    offer_calls: tuple[str, ...] = Field(
        default=(), description="What a sentence begins with that calls on its reader to choose, such as compare."
    )
    offer_phrases: tuple[str, ...] = Field(
        default=(), description="Phrases of a listing anywhere, such as wide range and results for."
    )
    report_phrases: tuple[str, ...] = Field(
        default=(), description="Phrases of a text about one thing: the first person, what others said."
    )
    link_phrases: tuple[str, ...] = Field(default=(), description="Labels of links to an item or a next page (R-027).")
    account_phrases: tuple[str, ...] = Field(default=(), description="Phrases of log-in and registration forms.")
    item_phrases: tuple[str, ...] = Field(default=(), description="Phrases that stand beside one item or article.")
    stop_words: tuple[str, ...] = Field(default=(), description="Words of a query that say nothing of its subject.")
    asked_things: dict[str, tuple[str, ...]] = Field(
        default={}, description="Words of a query for a kind of thing, by a name in thing_details: events, concerts."
    )
    asked_details: dict[Kind, tuple[str, ...]] = Field(
        default={}, description="Words of a query that ask for a detail: price, opening hours, address, today."
    )
    thing_details: dict[str, tuple[tuple[Kind, ...], ...]] = Field(
        default={},
        description="Details that make an item such a thing, whatever it is called: alternatives, each of some kinds.",
    )
    question_fillers: tuple[str, ...] = Field(
        default=(), description="More words of questions that say nothing of their subject; they tell no language."
    )
    definition_words: tuple[str, ...] = Field(
        default=(), description="Words between a thing and what it is, such as is and are."
    )


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
        self.firsts = frozenset(self._by_first)
        """The words that a phrase may begin with."""

    def find(self, words: list[str], places: Iterable[int] | None = None) -> list[tuple[str, ...]]:
        """The phrases in a text's words, in order, the longest at each place.

        Args:
            words: The text's words.
            places: Where to look, if it is known where one of ``firsts`` stands.

        >>> Phrases(["read more", "view event"]).find(split_words("jazz: read more, view-event"))
        [('read', 'more'), ('view', 'event')]
        """
        found: list[tuple[str, ...]] = []
        if places is None:
            places = compress(count(), map(self.firsts.__contains__, words))
        for place in places:
            for phrase in self._by_first.get(words[place], ()):
                if words[place : place + len(phrase)] == phrase:
                    found.append(tuple(phrase))
                    break
        return found


def split_words(text: str) -> list[str]:
    """The words of a lower-case text; an ideograph is a word of its own, numbers are none."""
    return _WORD.findall(text)


@dataclass(frozen=True, slots=True)
class CompiledPatterns:
    """All packs as one. Attributes are named as the fields of a pack; phrases begin with one of ``phrase_begins``.

    Endings are a language's own, so ``plurals`` are kept by the stem of their pack; ``stop_words_of`` tells languages
    apart. ``offer_nouns_before`` has the nouns of the languages in which a word stands before a place.
    """

    details: DetailPatterns
    listing_words: frozenset[str]
    listing_parents: frozenset[str]
    navigation_words: frozenset[str]
    information_words: frozenset[str]
    facet_words: frozenset[str]
    host_words: frozenset[str]
    plurals: Mapping[str, tuple[re.Pattern[str], ...]]
    stop_words_of: Mapping[str, frozenset[str]]
    definition_words: frozenset[str]
    page_parameters: frozenset[str]
    search_parameters: frozenset[str]
    listing_marks: frozenset[str]
    item_marks: frozenset[str]
    listing_titles: tuple[re.Pattern[str], ...]
    navigation_titles: tuple[re.Pattern[str], ...]
    offer_nouns: Phrases
    offer_nouns_before: Mapping[str, Phrases]
    offer_calls: Phrases
    offer_phrases: Phrases
    report_phrases: Phrases
    link_phrases: Phrases
    account_phrases: Phrases
    item_phrases: Phrases
    phrase_begins: frozenset[str]
    stop_words: frozenset[str]


def joined_words(patterns: Patterns, name: str) -> frozenset[str]:
    """The words of one list in all packs, such as ``stop_words``."""
    return frozenset(word for pack in patterns.values() for word in getattr(pack, name))


def compile_patterns(patterns: Patterns) -> CompiledPatterns:
    """Joins the packs and compiles them; done once for a set of rules, never at import."""
    packs = tuple(patterns.values())

    def compiled(name: str) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(text) for pack in packs for text in getattr(pack, name))

    def joined(name: str) -> frozenset[str]:
        return joined_words(patterns, name)

    phrases = {name: Phrases(joined(name)) for name in ("link_phrases", "account_phrases", "item_phrases")}
    return CompiledPatterns(
        details=compile_details(packs),
        listing_words=joined("listing_words"),
        listing_parents=joined("listing_parents"),
        navigation_words=joined("navigation_words"),
        information_words=joined("information_words"),
        facet_words=joined("facet_words"),
        host_words=joined("host_words"),
        plurals={stem: tuple(map(re.compile, pack.plurals)) for stem, pack in patterns.items() if pack.plurals},
        stop_words_of={stem: frozenset(pack.stop_words) for stem, pack in patterns.items() if pack.stop_words},
        definition_words=joined("definition_words"),
        page_parameters=joined("page_parameters"),
        search_parameters=joined("search_parameters"),
        listing_marks=joined("listing_marks"),
        item_marks=joined("item_marks"),
        listing_titles=compiled("listing_titles"),
        navigation_titles=compiled("navigation_titles"),
        offer_nouns=Phrases(joined("offer_nouns")),
        offer_nouns_before={
            word: Phrases(noun for pack in packs if word in pack.place_words for noun in pack.offer_nouns)
            for word in joined("place_words")
        },
        offer_calls=Phrases(joined("offer_calls")),
        offer_phrases=Phrases(joined("offer_phrases")),
        report_phrases=Phrases(joined("report_phrases")),
        **phrases,
        phrase_begins=frozenset().union(*(phrase.firsts for phrase in phrases.values())),
        stop_words=joined("stop_words"),
    )
