"""The facets of a query, and how far a result meets them: the judgement without a model.

The subject is looked up word by word. A kind of thing (events, offers, restaurants) is also met by the details of such
an item: an event's page has a date and a place, and often not the word "event". A question (when, how much, where) is
met by a detail of that kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from handlers.results.batch import RetrievalEvaluationSection
from handlers.text.evidence import find_evidence
from handlers.text.patterns import CompiledPatterns, Patterns, compile_patterns
from handlers.text.scripts import is_ideographic
from handlers.text.word_match import Unit, WordText, fold_words, share_met, units_of
from handlers.text.words import Kind, alternatives, fold
from schemas.evidence import DateEvidence, Evidence
from schemas.retrieval import ClassifiedResult, JudgeScores, ResultType, RetrievedContent

_LONGEST_QUERY = 2000
_LONGEST_TITLE = 500
_ROUNDING = 1e-9
_WORD = re.compile(r"[^\W\d_]+")
_NAMED_ONLY = 0.5
"""Score of a text that only mentions a price, place or time: "price on request"."""


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing that a query asks for.

    Attributes:
        words: Alternatives, each a word or phrase of the query.
        is_subject: Whether only words can meet it; any other facet needs an item and not a listing.
        details: Alternatives; a text that has details of all kinds of one of them meets it.
        dates: Days of which a text must have one; empty if any date is enough.
        month: The month that a text must have a date in, from 1; 0 for any.
        named_is_enough: Whether the words alone meet it.
    """

    words: tuple[tuple[Unit, ...], ...] = ()
    weight: float = 1.0
    is_subject: bool = False
    details: tuple[frozenset[Kind], ...] = ()
    dates: tuple[DateEvidence, ...] = ()
    month: int = 0
    named_is_enough: bool = True


class SeenResult:
    """A result in which facets are looked up. Its details are read on first use."""

    def __init__(self, words: WordText, details: Iterable[Evidence], *, is_listing: bool) -> None:
        """Takes the words and the details of title and text; ``is_listing``: it only leads to items."""
        self.words = words
        self.is_listing = is_listing
        self._details = details

    @cached_property
    def dates(self) -> tuple[DateEvidence, ...]:
        """Its days, without those whose day and month can't be told apart."""
        return tuple(detail for detail in self._evidence if detail.kind == "date" and detail.month)

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of its details."""
        return frozenset(detail.kind for detail in self._evidence)

    @cached_property
    def _evidence(self) -> tuple[Evidence, ...]:
        return tuple(self._details)


class QueryReader:
    """Reads queries and results under one configuration; its word lists are compiled when it is made."""

    def __init__(
        self,
        patterns: Patterns,
        ignored: Iterable[str] = (),
        plain_words: Iterable[str] = (),
        same_words: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Compiles the packs; the words are those of ``units_of``, to which the stop words of the packs are added."""
        self.patterns: CompiledPatterns = compile_patterns(patterns)
        self._ignored: Set[str] = {*self.patterns.stop_words, *ignored}
        self._plain = frozenset(plain_words)
        self._same = same_words or {}
        self._asked: dict[str, Facet] = {}
        packs = patterns.values()
        sets = {name: alternatives for pack in packs for name, alternatives in pack.thing_details.items()}
        for pack in packs:
            for thing, words in pack.asked_things.items():
                details = tuple(frozenset(kinds) for kinds in sets.get(thing, ()))
                self._asked |= {fold_words(word): Facet(details=details) for word in words}
            for kind, words in pack.asked_details.items():
                facet = Facet(details=(frozenset((kind,)),), named_is_enough=kind == "date")
                self._asked |= {fold_words(word): facet for word in words}
        ideographic = [word for word in self._asked if any(map(is_ideographic, word))]
        others = alternatives(word for word in self._asked if word not in ideographic)
        self._phrases = re.compile(rf"(?<!\w)(?:{others})(?!\w)|{alternatives(ideographic)}")

    def read(self, query: str) -> tuple[Facet, ...]:
        """The facets of a query: those of a kind first, then its subject in the order of its words."""
        text = query[:_LONGEST_QUERY]
        found: list[Facet] = []
        for detail in find_evidence(text, self.patterns.details):
            if detail.kind == "date":
                dates = (detail,) if detail.month else ()
                found.append(Facet((self._units(detail.text),), details=(frozenset(("date",)),), dates=dates))
            elif detail.kind == "price":
                found.append(Facet(details=(frozenset(("price",)),), named_is_enough=False))
            if detail.kind in ("date", "price"):
                text = _without(text, detail.start, detail.end)
        for start, end, month in self._months(text):
            found.append(Facet((self._units(text[start:end]),), details=(frozenset(("date",)),), month=month))
            text = _without(text, start, end)
        folded = fold_words(text)
        by_meaning: dict[Facet, tuple[tuple[Unit, ...], ...]] = {}
        for match in self._phrases.finditer(folded):
            facet = self._asked[match.group()]
            by_meaning[facet] = (*by_meaning.get(facet, ()), self._units(match.group()))
            folded = _without(folded, *match.span())
        # One facet for words of one meaning: "concerts and festivals" are both met by an event.
        found += [replace(facet, words=words) for facet, words in by_meaning.items()]
        subject = units_of(folded, self._ignored, self._plain, self._same)
        return (*found, *(Facet(((unit,),), unit.weight, is_subject=True) for unit in subject))

    def see(
        self, title: str | None, text: str, evidence: Iterable[Evidence] | None = None, *, is_listing: bool = False
    ) -> SeenResult:
        """A result to look facets up in; ``evidence``: the details of the text, if they are known."""
        name = (title or "")[:_LONGEST_TITLE]
        return SeenResult(WordText(f"{name}\n{text}"), self._details_of(name, text, evidence), is_listing=is_listing)

    def _details_of(self, title: str, text: str, known: Iterable[Evidence] | None) -> Iterator[Evidence]:
        yield from find_evidence(title, self.patterns.details)
        yield from find_evidence(text, self.patterns.details) if known is None else known

    def _units(self, text: str) -> tuple[Unit, ...]:
        return units_of(text, frozenset(), frozenset(), {})

    def _months(self, text: str) -> Iterator[tuple[int, int, int]]:
        folded, months = fold(text), self.patterns.details.months
        for word in _WORD.finditer(text):
            if name := months.after(folded, text, word.start()):
                yield word.start(), word.start() + len(name), months[name]


def met(facet: Facet, seen: SeenResult) -> float:
    """How far a result meets a facet, in [0, 1]; a listing meets the words of the subject only."""
    named = any(share_met(words, seen.words) > 1.0 - _ROUNDING for words in facet.words)
    if facet.is_subject:
        return float(named)
    if seen.is_listing:
        return 0.0
    if named and facet.named_is_enough:
        return 1.0
    if any(kinds <= seen.kinds for kinds in facet.details) and _is_then(facet, seen):
        return 1.0
    return _NAMED_ONLY * named


def share_of(facets: Sequence[Facet], scores: Sequence[float]) -> float:
    """The weighted mean of the scores; 0 without facets."""
    total = sum(facet.weight for facet in facets)
    return sum(facet.weight * score for facet, score in zip(facets, scores, strict=True)) / total if total else 0.0


def with_missing_weighed(facets: Sequence[Facet], scores: Sequence[Sequence[float]]) -> tuple[Facet, ...]:
    """Facets in which a word of the subject that no result has weighs more, the more results there are.

    If all results are other used things in Berlin, "piano" decides in "used piano Berlin". ``scores`` has a row for
    each result.
    """
    missed = 1 + math.log(len(scores) + 1)
    return tuple(
        replace(facet, weight=facet.weight * missed) if facet.is_subject and not any(of_results) else facet
        for facet, of_results in zip(facets, zip(*scores, strict=True), strict=True)
    )


def answers(facets: Sequence[Facet], scores: Sequence[float], least: float) -> bool:
    """Whether a result meets enough of all facets, and enough of the subject alone."""
    pairs = [(facet, score) for facet, score in zip(facets, scores, strict=True) if facet.is_subject]
    subject = share_of([facet for facet, _ in pairs], [score for _, score in pairs])
    enough = least - _ROUNDING
    return bool(facets) and share_of(facets, scores) >= enough and (not pairs or subject >= enough)


def fallback_scores(
    query: str,
    contents: Sequence[RetrievedContent],
    results: Sequence[ClassifiedResult],
    section: RetrievalEvaluationSection,
    reader: QueryReader,
) -> JudgeScores:
    """Compares the facets of the query with the results, whose texts are ``contents``, in the same order.

    Recall: the share of the facets that a result meets. Precision: the share of results that answer; no listing does.
    Quality: the mean of the trust scores that are known, over 100; the configured value if none is.
    """
    facets = reader.read(query)
    scores: list[list[float]] = []
    items: list[list[float]] = []
    for content, result in zip(contents, results, strict=False):
        if result.actionable_score == 0.0:
            continue  # an error page or a wall
        is_listing = result.result_type is ResultType.AGGREGATOR
        seen = reader.see(content.title, content.content, result.evidence, is_listing=is_listing)
        scores.append([met(facet, seen) for facet in facets])
        if not is_listing:
            items.append(scores[-1])
    best = [max(of_results) for of_results in zip(*scores, strict=True)] or [0.0] * len(facets)
    weighed = with_missing_weighed(facets, scores) if scores else facets
    relevant = sum(answers(weighed, found, section.coverageThreshold) for found in items)
    known = [content.cts_score / 100 for content in contents if content.cts_score is not None]
    quality = sum(known) / len(known) if known else section.unknownSourceQuality
    count = max(1, len(contents))
    return JudgeScores(
        context_recall=round(share_of(facets, best), 4),
        context_precision=round(relevant / count, 4),
        source_quality=round(quality, 4) if contents else 0.0,
    )


def _is_then(facet: Facet, seen: SeenResult) -> bool:
    """Whether a result has one of the days, or the month, that the facet names."""
    if not facet.dates and not facet.month:
        return True
    if facet.month:
        return any(date.month == facet.month for date in seen.dates)
    return any(_same_day(date, wanted) for date in seen.dates for wanted in facet.dates)


def _same_day(one: DateEvidence, other: DateEvidence) -> bool:
    """Whether two dates are the same day; one without a year is that day of any year."""
    same_in_any_year = (one.month, one.day) == (other.month, other.day)
    return same_in_any_year and (one.date is None or other.date is None or one.date == other.date)


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]
