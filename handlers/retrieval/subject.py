"""The subject of a query: a facet for each word that says what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, pairwise

from handlers.retrieval.conditions import is_turned
from handlers.retrieval.facets import ANOTHER, DENIED, Facet
from handlers.retrieval.seen_result import FREE, SeenResult
from handlers.retrieval.stated import BE, StatedWords
from handlers.text.background import RARE, UNKNOWN
from handlers.text.scripts import counts_by_language
from handlers.text.word_match import Unit, WordText, fold_words, stem_of, units_of
from handlers.text.words import LETTERS, TERM

YES_OR_NO = BE | {"czy"}
"""Beginnings of questions that either thing of a choice answers."""
_AND = frozenset(("and", "e", "et", "och", "og", "und", "y"))
"""Words that join two things that are asked for."""
_ARTICLES = frozenset((
    "a", "an", "as", "das", "de", "dem", "den", "der", "die", "een", "ein", "eine", "einem", "einen", "einer",
    "en", "ett", "gli", "het", "il", "la", "las", "le", "les", "lo", "los", "o", "os", "the", "um", "uma",
    "un", "una", "une",
))  # fmt: skip
"""Small words that begin no question."""
_NAME_WORDS, _BEGINNING = 3, 5
"""Words of the name of a place; letters that two forms of a name share."""
_LEAST_WEIGHT, _LEAST_DENIED, _IN_PHRASE, FEW_SMALL = 0.05, 0.2, 0.5, 2
_MOST_CAPITALS = 0.6
"""Share of words with capitals, from which on they show no names, as in titles."""


class SubjectReader:
    """Reads the words of queries that none of their conditions has."""

    def __init__(self, stated: StatedWords) -> None:
        """Takes the compiled words of the packs."""
        self._stated, self._small, self._background = stated, stated.small_words, stated.background
        self._between = stated.small_words | stated.direction_words | stated.origin_words | stated.destination_words

    def read(self, query: str, text: str, units: Sequence[Unit], folded: str, language: str | None) -> Iterator[Facet]:
        """A facet for each of some words.

        Args:
            query: The whole query.
            text: The query without what it states.
            units: The words.
            folded: The text without what it asks for, folded.
            language: The language of the query, if its small words show one.
        """
        # "Can dogs eat grapes" is answered by "no".
        whole = fold_words(query)
        opening = next(iter(TERM.findall(whole)), "")
        is_question = "?" in query or opening in self._small - _ARTICLES
        free = [] if is_question else FREE.findall(whole)
        denied = WordText(" ".join((*self._stated.divide(text)[1:], *free)))
        names = set(self._names(text, language))
        had = list(self._had(folded, names))
        # "Egg-free" is met without eggs, and denied by "not egg-free".
        features = {*chain.from_iterable(had), *(["free"] if free else [])} if opening not in YES_OR_NO else set()
        # Of several, which one counts is open.
        names.update(of_one[0] for of_one in had if len(of_one) == 1 and not denied.has_word(of_one[0]))
        shown = {stem_of(fold_words(word)): word for word in TERM.findall(query)}
        before, known = _before(query), WordText(query)
        ways = dict(self._ways(whole))

        def is_new_name(name: str) -> bool:
            return self._background.rarity(name, language) >= UNKNOWN and not known.has_word(name)

        for unit in units:
            stem = min(unit.forms)
            is_feature = not unit.forms.isdisjoint(features)
            is_open = denied.has(unit) or (is_question and not is_feature)
            word = self._word(unit, names, language, shown, is_feature=is_feature, is_open=is_open)
            if (beside := before.get(stem)) and self._background.rarity(stem, language) >= UNKNOWN:
                word = _replaced(word, stem, beside, is_new_name)
            if stem in ways:
                way, goes_back = ways[stem]
                word = _unless(goes_back, replace(word, text=way, contradicts=goes_back))
            yield word

    def _word(
        self,
        unit: Unit,
        names: Set[str],
        language: str | None,
        shown: Mapping[str, str],
        *,
        is_feature: bool,
        is_open: bool,
    ) -> Facet:
        text = min(unit.forms)
        is_number = text.isdecimal()
        weight = unit.weight * max(_LEAST_WEIGHT, 1.0 if is_number else self._background.rarity(text, language) ** 2)

        def meets(seen: SeenResult) -> float:
            if is_open or (weight < _LEAST_DENIED and not is_feature) or not seen.denies(unit):
                return float(seen.words.has(unit) and not (is_number and seen.has_variant_only(text)))
            return DENIED if is_feature or seen.denies(unit, is_alone=True) else _IN_PHRASE

        is_condition = is_number or not names.isdisjoint(unit.forms)
        return Facet(shown.get(text, text), meets, weight, is_subject=True, is_condition=is_condition)

    def _had(self, text: str, names: Set[str]) -> Iterator[list[str]]:
        """The stems of what a query wants a thing to have, one list for each: with a pool and a gym."""
        is_had, had = False, list[str]()
        for term in (*TERM.findall(text), ""):
            if term and term not in self._small and term not in self._stated.with_words:
                had += [stem_of(term)] * (is_had and not (had and stem_of(term) in names))
                continue
            # "With price and" names no feature.
            goes_on = term in _AND if had else term not in _AND or term in _ARTICLES
            is_had = term in self._stated.with_words or (is_had and goes_on)
            if had:
                yield had
                had = []

    def _ways(self, folded: str) -> Iterator[tuple[str, tuple[str, Callable[[SeenResult], bool]]]]:
        """The stems of where a query leads to, with the whole way and whether a result goes only the other one."""
        runs = [["", ""], *(list(run) for _, run in groupby(TERM.findall(folded), self._between.__contains__))]
        for origin, before, joint, after in zip(runs, runs[1:], runs[2:], runs[3:], strict=False):
            is_direct = joint[0] in self._stated.direction_words
            is_from = origin[-1] in self._stated.origin_words and joint[0] in self._stated.destination_words
            if len(joint) == 1 and (is_direct or is_from):
                near, far = before[-_NAME_WORDS:], after[:_NAME_WORDS]
                way = " ".join((*near, *joint, far[0]))
                yield stem_of(far[0]), (way, partial(is_turned, near, joint[0], far, is_direct=is_direct))

    def _names(self, text: str, language: str | None) -> Iterator[str]:
        """The stems of the words of a query that are names: with a capital, or unknown and behind "in"."""
        terms = TERM.findall(text)
        capitals = [term[:1].isupper() for term in terms]
        counts = counts_by_language(LETTERS.findall(text.lower()), self._stated.details.small_words)
        # In a language without known words, each is unknown.
        own = max(counts, key=counts.__getitem__, default="")
        is_known = not counts or own in self._background.languages or counts[own] < FEW_SMALL
        # Every noun of German has a capital.
        shows = sum(capitals) <= _MOST_CAPITALS * len(terms) and counts.get("de", 0) <= counts.get("en", 0)
        for place, term in enumerate(terms[1:], 1):
            rarity = self._background.rarity(fold_words(term), language)
            is_placed = (is_known or capitals[place]) and terms[place - 1].lower() in self._stated.places
            if rarity >= (RARE if capitals[place] else UNKNOWN) and (is_placed or (shows and capitals[place])):
                yield from (form for unit in units_of(term) for form in unit.forms)


def _before(text: str) -> dict[str, str]:
    """By the stem of each word with a capital amid a text, that of the word before it."""
    terms = TERM.findall(text)
    return {stem_of(fold_words(word)): stem_of(fold_words(last)) for last, word in pairwise(terms) if word[0].isupper()}


def _replaced(word: Facet, stem: str, before: str, is_new_name: Callable[[str], bool]) -> Facet:
    """The facet of a name that no capital shows, as in German; another name behind the same word replaces it.

    A result with a word that begins as the name does may have it in another form.
    """

    def is_replaced(seen: SeenResult) -> bool:
        return not seen.words.begins(stem[:_BEGINNING]) and any(map(is_new_name, seen.behind.get(before, ())))

    return _unless(is_replaced, word)


def _unless(is_another: Callable[[SeenResult], bool], word: Facet) -> Facet:
    """The facet of a word, with another score where a result has another thing in its place."""
    return replace(word, meets=lambda seen: ANOTHER if is_another(seen) else word.meets(seen))
