"""The facets of a query, and how far results meet them: the judgement of a batch without a model.

The subject is looked up word by word; rare words count more. A kind of thing (events, offers, restaurants) is also met
by the details of such an item: an event's page has a date and a place, and often not the word "event".

What a query states (a day, a year, a bound of a price, a number, a name) and the kind of detail that it asks for (how
much, when, where, who) are conditions: a result that contradicts or lacks one does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress

from handlers.results.batch import RetrievalEvaluationSection
from handlers.retrieval.conditions import Meets
from handlers.retrieval.copies import group_copies
from handlers.retrieval.seen_result import SeenResult
from handlers.text.word_match import stems_of
from schemas.retrieval import ClassifiedResult, JudgeScores, ResultType, RetrievedContent
from schemas.states import State

_ROUNDING = 1e-9
DENIED, ANOTHER = -1.0, -0.5
_BESIDE = 0.2
"""Share of a query up to which a result has nothing to do with it."""


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing that a query asks for.

    Attributes:
        text: How the query, or a sentence about what is missing, calls it.
        meets: How far a result meets it, in [0, 1]; ``DENIED`` if it says that it is not so, ``ANOTHER`` if it names
            another in its place, or goes the other way.
        is_subject: Whether only words can meet it; any other facet needs an item and not a listing.
        is_condition: Whether a result that does not meet it can't answer.
        is_detail: Whether it asks for a kind of detail: how much, when, who.
        contradicts: Whether a result states something else, where the query states a day, a year, a bound of a price or
            a direction.
    """

    text: str
    meets: Meets
    weight: float = 1.0
    is_subject: bool = False
    is_condition: bool = False
    is_detail: bool = False
    contradicts: Callable[[SeenResult], bool] | None = None


def met(facet: Facet, seen: SeenResult) -> float:
    """How far a result meets a facet, as ``Facet.meets`` says; a listing meets the words of the subject only."""
    return 0.0 if seen.is_listing and not facet.is_subject else facet.meets(seen)


def told(facet: Facet, seen: SeenResult) -> float:
    """How far a result says something of a facet: what denies it tells as much as what meets it."""
    score = met(facet, seen)
    return 1.0 if score == DENIED else max(0.0, score)


def repeats(facets: Sequence[Facet], seen: SeenResult) -> bool:
    """Whether a result only repeats what is asked for."""
    return seen.repeats(frozenset(chain.from_iterable(stems_of(facet.text) for facet in facets if not facet.is_detail)))


def share_of(facets: Sequence[Facet], scores: Sequence[float]) -> float:
    """The weighted mean of the scores; 0 without facets."""
    total = sum(facet.weight for facet in facets)
    met_by = sum(facet.weight * max(0.0, score) for facet, score in zip(facets, scores, strict=True))
    return met_by / total if total else 0.0


def share_where(keep: Callable[[Facet], bool], facets: Sequence[Facet], scores: Sequence[float]) -> float:
    """The same over some of the facets."""
    kept = [keep(facet) for facet in facets]
    return share_of(list(compress(facets, kept)), list(compress(scores, kept)))


def _of_subject(facet: Facet) -> bool:
    return facet.is_subject


def is_about(facets: Sequence[Facet], scores: Sequence[float], least: float) -> bool:
    """Whether a result meets enough of all facets, and enough of the subject alone."""
    enough = least - _ROUNDING
    if not facets or share_of(facets, scores) < enough:
        return False
    return not any(map(_of_subject, facets)) or share_where(_of_subject, facets, scores) >= enough


def is_named(facets: Sequence[Facet], scores: Sequence[float]) -> bool:
    """Whether a result has more of the subject than names with a capital."""

    def is_common(facet: Facet) -> bool:
        return facet.is_subject and (not facet.is_condition or facet.text.islower())

    return not any(map(is_common, facets)) or share_where(is_common, facets, scores) > 0


def answers(facets: Sequence[Facet], scores: Sequence[float], least: float) -> bool:
    """Whether a result is about the query and meets each of its conditions."""
    return is_about(facets, scores, least) and not any(unmet(facets, [scores]))


def best_of(facets: Sequence[Facet], scores: Iterable[Sequence[float]]) -> list[float]:
    """The best score of each facet; ``scores`` has a row for each result."""
    return [max(of_results) for of_results in zip(*scores, strict=True)] or [0.0] * len(facets)


def unmet(facets: Sequence[Facet], scores: Iterable[Sequence[float]]) -> tuple[str, ...]:
    """The conditions that no result meets, and what all deny or replace."""
    return tuple(
        f"{facet.text}, which is denied" if score == DENIED else facet.text
        for facet, score in zip(facets, best_of(facets, scores), strict=True)
        if score < (1 - _ROUNDING if facet.is_condition else 0)
    )


def fallback_scores(
    facets: Sequence[Facet],
    contents: Sequence[RetrievedContent],
    results: Sequence[ClassifiedResult],
    section: RetrievalEvaluationSection,
    see: Callable[..., SeenResult],
    max_characters: int | None = None,
) -> JudgeScores:
    """Compares the facets of a query with the results, whose texts are ``contents``, in the same order.

    Recall: the share of the facets that a result meets. Precision: the share of results that answer; no listing does. A
    result that meets nothing of the query counts only if none answers, and copies count once. Quality: the mean of the
    trust scores that are known, over 100; the configured value if none is.
    """
    scores: list[list[float]] = []
    answering: set[int] = set()
    groups = group_copies(contents)
    for place, (content, result) in enumerate(zip(contents, results, strict=False)):
        if result.state is not State.CONTENT:
            continue
        is_listing = result.result_type is ResultType.AGGREGATOR
        text = content.content[:max_characters]
        seen = see(content.title, text, result.evidence, url=content.url, is_listing=is_listing)
        if repeats(facets, seen):
            continue
        scores.append([met(facet, seen) for facet in facets])
        if not is_listing and answers(facets, scores[-1], section.coverageThreshold):
            answering.add(place)
    beside = sum(share_of(facets, found) <= _BESIDE for found in scores) if answering else 0
    known = [content.cts_score / 100 for content in contents if content.cts_score is not None]
    quality = sum(known) / len(known) if known else section.unknownSourceQuality
    return JudgeScores(
        context_recall=round(share_of(facets, best_of(facets, scores)), 4),
        context_precision=round(
            sum(not answering.isdisjoint(group.places) for group in groups) / max(1, len(groups) - beside), 4
        ),
        source_quality=round(quality, 4) if contents else 0.0,
        gaps=() if answering else unmet(facets, scores),
    )
