"""Reads a query into facets: kinds of things and details, what it states, and the words of its subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from itertools import islice, pairwise

from handlers.relevance.progress import RelevanceGateSection
from handlers.retrieval import conditions
from handlers.retrieval.conditions import Meets, Units
from handlers.retrieval.facets import Facet
from handlers.retrieval.seen_result import IDENTIFIER, VARIANT, YEAR, SeenResult
from handlers.retrieval.stated import BY_PERIOD, OPEN, StatedWords
from handlers.retrieval.subject import FEW_SMALL, YES_OR_NO, SubjectReader
from handlers.text.background import UNKNOWN, Background, WordFrequenciesSection
from handlers.text.evidence import find_evidence
from handlers.text.measures import MEASURE, measure_of
from handlers.text.patterns import PatternRules, joined_words, meanings_of
from handlers.text.scripts import counts_by_language, is_ideographic
from handlers.text.word_match import fold_words, units_of
from handlers.text.words import LETTERS, TERM, AskedKind, Kind, fold, one_of
from schemas.evidence import Evidence, PriceEvidence

_LONGEST_QUERY = 2000
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)(?!\w)")
_PLACE_WORDS = frozenset(("at", "on", "dans", "nel", "nella", "op", "te", "na", "no"))
"""Words before a place beside those of the packs, which classify results as well."""
_NAMED_YEAR = re.compile(r"[A-Za-z]{5,20}-?(?:19|20)\d\d")
"""Summer2026 names a year, and GTX1660 none."""
_ADVICE = frozenset(("to", "should", "can", "do"))
"""Words behind "who" in questions for advice."""
_AUXILIARIES = frozenset(("has", "have", "had", "hat", "a", "ont", "ha", "han", "heeft", "har"))
_COUNTS = (
    "many", "viele", "mang", "combien d", "cuantos", "cuantas", "quanti", "quante", "quantos", "quantas",
    "hoeveel",
)  # fmt: skip
"""Parts of questions for a number of things, which the next word names."""
_HOW_MUCH = (
    "how much ", "wie viel ", "wieviel ", "combien ", "cuanto ", "quanto ", "hoeveel ", "hvor meget ",
    "hvor mye ", "hur mycket ", "kolik ", "ile ",
)  # fmt: skip
"""Beginnings of questions that ask for a price if a word for costs follows."""
_COSTS = ("cost", "kost", "cout", "cuest", "custa", "fiyat")
_MODEL = re.compile(rf"(?<![\w-])[A-Za-z]{{0,12}}-?\d[\w]{{0,10}}(?:{VARIANT.pattern}){{1,3}}")
"""The number of a model with what names a variant of it: 15 Pro Max."""
_HOMOGRAPHS = frozenset(("sans", "sin", "sem"))
"""Words that mean "without" only in a text of their language: sans serif, sin tax, SEM image."""
_BOUNDED_TIME = re.compile(
    r"(?i:\b(?:before|after|until|till?|by|from|since|vor|nach|bis|ab|avant|après|antes|después|prima|dopo|før|efter))\s\Z"
)
"""Words before a time that do not ask for just this time."""
_MOST_CONDITIONS = 8
"""Measures that are bounded, and words that are excluded."""
_Stated = tuple[int, int, Facet]
"""What a query states, and where."""


class QueryReader:
    """Reads queries and results under one configuration; its word lists are compiled when it is made."""

    def __init__(self, rules: PatternRules, background: Background, same_words: Mapping[str, Sequence[str]]) -> None:
        """Compiles the packs; ``same_words``: other words that meet a word or phrase."""
        patterns, self.patterns = rules.patterns, rules.compiled_patterns
        self._background, self._same = background, same_words
        # In Latin letters, a filler of one language is a subject in another: hay, hat, dove.
        fillers = joined_words(patterns, "question_fillers")
        self._undivided = {word for word in fillers if is_ideographic(word[0])}
        self._ignored = {*self.patterns.stop_words, *self._undivided}
        self._small = self._ignored.union(*self.patterns.details.small_words.values())
        packs = patterns.values()
        sets = {name: tuple(map(frozenset, each)) for pack in packs for name, each in pack.thing_details.items()}
        things, kinds, self._days = (
            {fold_words(word): meaning for word, meaning in meanings_of(patterns, name).items()}
            for name in ("asked_things", "asked_details", "asked_days")
        )
        self._things: dict[str, tuple[frozenset[Kind], ...]] = {
            word: sets.get(kind, ()) for word, kind in things.items()
        }
        self._kinds: dict[str, AskedKind] = kinds
        self._places = _PLACE_WORDS | joined_words(patterns, "place_words")
        bounds = [
            (fold(word), is_most)
            for pack in packs
            for is_most, words in ((True, pack.most_words), (False, pack.least_words))
            for word in words
        ]
        self._bounds = dict(sorted(bounds, key=lambda pair: -len(pair[0])))
        english = patterns.get("en")
        own = {*english.most_words, *english.least_words} if english else set()
        self._english = self.patterns.details.small_words.get("en", frozenset()) - own
        self._questions = frozenset(word for word, kind in self._kinds.items() if kind in ("name", "number", "date"))
        self._phrases = one_of({**self._things, **self._kinds, **self._days})
        self._stated = StatedWords(rules, background, self._days, self._small, self._places)
        self._subject = SubjectReader(self._stated)
        self.see = partial(SeenResult, self._stated)
        """A result to look facets up in."""

    def read(self, query: str, now: datetime | None = None) -> tuple[Facet, ...]:
        """The facets of a query: those of a kind first, then its subject in the order of its words.

        Args:
            query: A question, a goal or search terms.
            now: When it was asked; without it, "today" asks for any day.
        """
        text, language = query[:_LONGEST_QUERY], self._language(query)
        details = find_evidence(text, self.patterns.details)
        spans = [(detail.start, detail.end) for detail in details]
        stated: list[Facet] = []
        paying = ((choice, {value for *_, value in choice.spans(fold(text))}) for choice in self._stated.payers)
        chosen: list[conditions.Asked] = [(choice, values.pop()) for choice, values in paying if len(values) == 1]
        for step in (
            lambda text: self._choices(text, chosen),
            lambda text: self._details(text, details, chosen),
            self._identifiers,
            self._days_and_years,
            lambda text: islice(self._bounds_of_measures(text, spans), _MOST_CONDITIONS),
            lambda text: islice(self._exclusions(text, language), _MOST_CONDITIONS),
        ):
            for start, end, facet in step(text):
                stated.append(facet)
                text = _without(text, start, end)
        ignored = self._ignored_in(language)
        asked, folded = self._asked(_ORDINAL.sub(r"\1", fold_words(text)), query, now, ignored, chosen)
        words = self._subject.read(query, text, units_of(folded, ignored, self._same), folded, language)
        subject = [*(facet for facet in stated if facet.is_subject), *words]
        # What is asked for counts as much as the word that says most.
        most = max((facet.weight for facet in subject), default=1.0)
        others = (facet for facet in (*stated, *asked) if not facet.is_subject)
        return (*(replace(facet, weight=most) for facet in others), *subject)

    def _choices(self, text: str, chosen: list[conditions.Asked]) -> Iterator[_Stated]:
        """What a query chooses of several things; two of one kind are no choice."""
        folded = fold(text)
        is_question = folded.partition(" ")[0] in YES_OR_NO
        for choice in self._stated.choices:
            spans = list(choice.spans(folded)) if choice.is_asked(folded) else []
            values = {value for *_, value in spans}
            if len(values) == 1 and OPEN not in values:
                chosen.append((choice, value := values.pop()))
                meets = partial(choice.is_met, None if is_question else value)
                other = None if is_question else partial(choice.is_contradicted, value)
                for start, end, _ in spans[:_MOST_CONDITIONS]:
                    yield start, end, Facet(text[start:end], meets, is_condition=True, contradicts=other)

    def _details(self, text: str, details: Iterable[Evidence], chosen: list[conditions.Asked]) -> Iterator[_Stated]:
        for detail in details:
            start, end = detail.start, detail.end
            if detail.kind == "date":
                yield start, end, _of_time(detail.text, conditions.on_day(detail, units_of(detail.text)), "date")
            elif detail.kind == "price":
                facet, start = self._price(text, detail, chosen)
                yield start, end, facet
            elif detail.kind == "time" and not _BOUNDED_TIME.search(text[:start]):
                yield start, end, Facet(detail.text, conditions.at_time(detail), is_condition=True)

    def _days_and_years(self, text: str) -> Iterator[_Stated]:
        for start, end, month in self._stated.months(text):
            name = text[start:end]
            yield start, end, _of_time(name, conditions.in_month(month, units_of(name)), "date")
        for match in YEAR.finditer(text):
            yield *match.span(), _of_time(match[0], partial(SeenResult.may_be_of, year=int(match[0])), "year")

    def _identifiers(self, text: str) -> Iterator[_Stated]:
        """Names of versions, of models with variants, and of models, errors and roads."""
        for match in self._stated.versions(text):
            yield *match.span(), _named(match[0], partial(SeenResult.has_identifier, name=f"{match[1]} {match[3]}"))
            text = _without(text, *match.span())
        for match in _MODEL.finditer(text):
            yield *match.span(), _named(match[0], partial(SeenResult.has_variant, name=match[0]))
            text = _without(text, *match.span())
        named = [match for match in IDENTIFIER.finditer(text) if not _NAMED_YEAR.fullmatch(match[0])]
        first = {match[0].casefold(): match for match in reversed(named)}.values()
        for match in islice(reversed(first), _MOST_CONDITIONS):
            yield *match.span(), _named(match[0], partial(SeenResult.has_identifier, name=match[0]))

    def _asked(
        self,
        folded: str,
        query: str,
        now: datetime | None,
        ignored: Set[str],
        chosen: Sequence[conditions.Asked],
    ) -> tuple[list[Facet], str]:
        """The kinds of things, the details and the days that a query asks for, and the rest of the query.

        A word such as "address" is a condition at an end of a query, or before a small word at its beginning: not in
        "address book app". A day is one at the end, or beside a small word: "today in Bergen", not "today show hosts".
        """
        named: dict[tuple[frozenset[Kind], ...], list[str]] = {}
        found: dict[str, Facet] = {}
        is_yes_or_no = folded.partition(" ")[0] in YES_OR_NO
        for match in self._phrases.finditer(folded):
            words = match.group()
            before, after = folded[: match.start()].split(), folded[match.end() :].split()
            is_open = any(map(is_ideographic, words)) or not after
            if words in self._things:
                if named and not self._stated.with_words.isdisjoint(before):
                    continue  # "hotel with restaurant"
                named.setdefault(self._things[words], []).append(words)
            elif words in self._days:
                beside = {*before[-1:], *after[:1]}
                opening = [word for word in before[-2:] if word in self._stated.opening]
                if not (is_open or opening or (self._small | self._places) & beside):
                    continue
                for word in opening:  # It is met by the day.
                    begin = folded.rfind(word, 0, match.start())
                    folded = _without(folded, begin, begin + len(word))
                today = now.date() if now else None
                day = conditions.in_days(self._days[words], units_of(words), today, or_named=is_yes_or_no)
                found[words] = _of_time(words, day, "date")
            else:
                kind = self._kinds[words]
                if kind == "name" and ((before and not is_open) or _ADVICE.intersection(after[:1])):
                    continue  # "the man who …", "who to call"
                is_count = any(sign in words for sign in _COUNTS) and "temp" not in words
                counted = units_of(after[0]) if is_count and after and after[0] not in ignored else ()
                verb = self._verb(query, after, ignored) if kind == "name" else ()
                has_name = conditions.names_beside(query, self._stated, verb)
                meets = conditions.having(kind, has_name, counted, chosen)
                is_question = " " in words or words in self._questions
                is_asked = is_open or is_question or (not before and not self._small.isdisjoint(after[:1]))
                is_cost = folded.startswith(_HOW_MUCH) and words.startswith(_COSTS)
                is_asked |= kind == "price" and (is_cost or bool(chosen))
                found[kind] = Facet(kind, meets, is_condition=is_asked, is_detail=is_asked)
            folded = _without(folded, *match.span())
        # One facet for words of one meaning: "concerts and festivals" are both met by an event.
        things = (
            Facet(words[0], conditions.being(tuple(map(units_of, words)), details)) for details, words in named.items()
        )
        return [*things, *found.values()], folded

    def _verb(self, query: str, after: Sequence[str], ignored: Set[str]) -> Units:
        """What is taken for the verb behind "who": the next word, or that behind "has"; nothing if it has a capital."""
        verb = next((word for word in after[:2] if word not in _AUXILIARIES), "")
        written = next((term[0] for term in TERM.finditer(query) if fold_words(term[0]) == verb), "")
        return units_of(verb, ignored, self._same) if written.islower() else ()

    def _language(self, query: str) -> str | None:
        """The language of a query, by its small words; None if they leave it open."""
        counts = counts_by_language(LETTERS.findall(query.lower()), self.patterns.details.small_words)
        most = max([FEW_SMALL, *(counts.get(language, 0) for language in self._background.languages)])
        known = [language for language in self._background.languages if counts.get(language, 0) == most]
        return known[0] if len(known) == 1 else None

    def _ignored_in(self, language: str | None) -> Set[str]:
        """The words that say nothing of a subject: in its language, if that is known, "war" and "die" say something."""
        own = self.patterns.stop_words_of.get(language or "") or self.patterns.details.small_words.get(language or "")
        return self._ignored if own is None else {*own, *self._undivided}

    def _price(self, text: str, price: PriceEvidence, asked: Sequence[conditions.Asked]) -> tuple[Facet, int]:
        """A stated price and where it begins: any price meets it; beside a word such as "under", only one within it."""
        if (bound := self._bound(text, price.start, price.end)) is None:
            return Facet("price", lambda seen: float(seen.has("price"))), price.start
        is_most, start = bound
        named = f"a price of {'at most' if is_most else 'at least'} {price.text}"
        by_period = BY_PERIOD.search(text) is not None
        meets, outside = conditions.bounding(price, asked, is_most=is_most, by_period=by_period)
        return Facet(named, meets, is_condition=True, contradicts=outside), start

    def _bound(self, text: str, start: int, end: int) -> tuple[bool, int] | None:
        """Whether the amount at a place is the most or the least, and where that begins; None if it is no bound.

        Behind a negation a word means its opposite: not more than.
        """
        before, after = fold(text[:start]).rstrip(), fold(text[end:]).lstrip()
        for word, is_most in self._bounds.items():
            is_whole = any(map(is_ideographic, word))
            begin = len(before) - len(word)
            if before.endswith(word) and (is_whole or not before[:begin][-1:].isalnum()):
                is_denied = self._stated.denies(before[:begin])
                return is_most is not is_denied, before[:begin].rstrip().rfind(" ") + 1 if is_denied else begin
            if is_whole and after.startswith(word):
                return is_most, start
        return None

    def _bounds_of_measures(self, text: str, details: Sequence[tuple[int, int]]) -> Iterator[_Stated]:
        """What a query bounds, beside prices: at most 10 km, at least 16 GB. Times and dates are no measures."""
        for match in MEASURE.finditer(text):
            start, end = match.span()
            if any(start < until and since < end for since, until in details):
                continue
            if (measure := measure_of(match)) is None or (bound := self._bound(text, start, end)) is None:
                continue
            is_most, begin = bound
            word = text[begin:start].strip()
            # "iPhone 15 Pro Max 256 GB" and "what to do 2 days in Oslo" state no bound.
            if (begin and word[:1].isupper()) or word in self._english:
                continue
            named = f"{'at most' if is_most else 'at least'} {match[0]}"
            yield begin, end, Facet(named, conditions.measuring(*measure, is_most=is_most), is_condition=True)

    def _exclusions(self, text: str, language: str | None) -> Iterator[_Stated]:
        """What a query excludes: without eggs. A name such as "Doctors Without Borders" excludes nothing."""
        words = [
            word for word in LETTERS.findall(fold_words(text)) if len(word) > FEW_SMALL and word not in _HOMOGRAPHS
        ]
        is_english = 2 * sum(self._background.rarity(word, "en") >= UNKNOWN for word in words) <= len(words)
        for term, other in pairwise(TERM.finditer(text)):
            own = self._stated.exclusions.get(term[0].lower())
            is_homograph = is_english and term[0].lower() in _HOMOGRAPHS
            is_other = own != language and (language is not None or is_homograph)
            if own is None or is_other or (term.start() and term[0][0].isupper() and not other[0][0].isupper()):
                continue
            start, end = term.start(), other.end()
            for unit in units_of(other[0]):
                yield start, end, Facet(text[start:end], partial(SeenResult.lacks, unit=unit), is_condition=True)


class QueryRules(PatternRules):
    """Rules of a handler that reads queries."""

    relevance_gate: RelevanceGateSection
    word_frequencies: WordFrequenciesSection

    @cached_property
    def queries(self) -> QueryReader:
        """Reads queries and results under these rules; its word lists are compiled once."""
        return QueryReader(self, self.word_frequencies.compiled, self.relevance_gate.synonyms)


def _of_time(text: str, meets: Meets, stated: str) -> Facet:
    return Facet(text, meets, is_condition=True, contradicts=conditions.another(stated, meets))


def _named(text: str, meets: Meets) -> Facet:
    return Facet(text, meets, is_subject=True, is_condition=True)


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]
