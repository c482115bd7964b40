"""What is missing in a search's results, and what to try next, in words, from what the rubric found.

In: an ``Assessment``. Out: gaps in words and suggestions from the configured lists, the weightiest weakness first
(R-090 to R-093). This is the offline judge's whole opinion, and what is said where a judge could not be listened to.
"""

from __future__ import annotations

from handlers.search.rubric import Assessment
from handlers.search.sections import SearchEvaluationSection

_FIELD_CHARACTERS = 80


def gaps_of(found: Assessment, section: SearchEvaluationSection) -> str:
    """What is missing; "" where the rubric sees nothing (R-100).

    Few results and few sites are named only where the score is low: they have cost their points already, and a gap
    in the acceptable band would keep the search going for something that nobody asked for (C-15).
    """
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
    """What to try next, each suggestion once, as many as are configured at most."""
    lists = section.refinements
    chosen: list[str] = []
    if found.rubric.total < section.bands.marginal:
        chosen += lists.another_query
    if found.off_goal:
        chosen += lists.poor_relevance
    for name, rule in found.lacking:
        called = name[:_FIELD_CHARACTERS]
        chosen += rule.refinements or [text.replace("{field}", called) for text in lists.missing_field]
    for name in found.unchecked:
        chosen += [text.replace("{field}", name[:_FIELD_CHARACTERS]) for text in lists.missing_field]
    if found.few:
        chosen += lists.low_count
    if found.narrow:
        chosen += lists.low_diversity_shopping if found.shopping else lists.low_diversity
    return tuple(dict.fromkeys(chosen))[: section.max_refinements]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(name[:_FIELD_CHARACTERS] for name in names)
