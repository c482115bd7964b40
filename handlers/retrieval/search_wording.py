"""What is missing in a search's results, and what to try next, in words, from what the rubric found.

In: an ``Assessment``. Out: gaps in words and suggestions from the configured lists, those for zero or few results first
(R-090 to R-093). This is the offline judge's whole opinion, and what is said where a judge could not be listened to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from handlers.retrieval.search_rubric import Assessment
from handlers.retrieval.sections import SearchEvaluationSection

_FIELD_CHARACTERS = 80


def gaps_of(found: Assessment, section: SearchEvaluationSection) -> str:
    """What is missing; "" where the rubric sees nothing (R-100).

    Few results and few sites are named only where the score is low: they have cost their points already, and a gap
    in the acceptable band would keep the search going for something that nobody asked for (C-15).
    """
    if not found.results:
        return "There are no results."
    said = []
    if found.missing:
        said.append(f"No result has: {_listed(found.missing)}.")
    if found.unchecked:
        said.append(f"Not checked: {_listed(found.unchecked)}.")
    if found.off_goal:
        said.append("The results are mostly beside the goal.")
    low = found.rubric.total < section.bands.acceptable
    if low and found.few:
        said.append("There are few results.")
    if low and found.narrow:
        said.append("They come from few sites.")
    return " ".join(said)


def refinements_of(found: Assessment, section: SearchEvaluationSection) -> tuple[str, ...]:
    """What to try next, each suggestion once, as many as are configured at most.

    Zero or few results come first: what widens the search helps before anything that narrows it (R-090), and of no
    results nothing else is known. The other weaknesses take turns, so that none of them fills the list.
    """
    lists = section.refinements
    diversity = lists.low_diversity_shopping if found.shopping else lists.low_diversity
    if not found.results:
        return _first([*lists.low_count, *lists.another_query, *diversity], section)
    wider = lists.low_count if found.few else ()
    weaknesses: list[Sequence[str]] = [diversity] if found.few and found.narrow else []
    if found.off_goal and found.rubric.total < section.bands.marginal:
        weaknesses.append(lists.another_query)
    for name, rule in found.lacking:
        called = name[:_FIELD_CHARACTERS]
        weaknesses.append(rule.refinements or [text.replace("{field}", called) for text in lists.missing_field])
    weaknesses += [
        [text.replace("{field}", name[:_FIELD_CHARACTERS]) for text in lists.missing_field] for name in found.unchecked
    ]
    if found.off_goal:
        weaknesses.append(lists.poor_relevance)
    if found.narrow and not found.few:
        weaknesses.append(diversity)
    turns = zip_longest(*weaknesses)
    return _first([*wider, *(text for turn in turns for text in turn if text is not None)], section)


def _first(suggestions: Iterable[str], section: SearchEvaluationSection) -> tuple[str, ...]:
    return tuple(dict.fromkeys(suggestions))[: section.max_refinements]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(name[:_FIELD_CHARACTERS] for name in names)
