"""How good an order of results is: NDCG, precision, average precision and reciprocal rank of one query.

In: the grades of a query's results from the first to the last, 0 for what is useless. Out: a figure from 0 to 1. Means
over queries are the caller's. Training compares models by them, and the accuracy tables compare stages.

Beyond the last grade nothing is assumed: what a list does not hold can't be ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

RELEVANT = 1
"""From this grade on a result counts as relevant where a measure knows only yes and no."""


def ndcg_at(grades_in_order: Sequence[float], k: int, all_grades: Sequence[float] | None = None) -> float:
    """Normalised discounted cumulative gain (Järvelin & Kekäläinen 2002; gain ``2^grade - 1`` of Burges et al. 2005).

    Args:
        grades_in_order: Grade of each result, the first first.
        k: Results that are looked at.
        all_grades: Grades of everything that could have been shown, where that is more: what retrieval missed then
            lowers the figure.

    Returns:
        0 to 1; 0 where nothing has a grade above 0.

    >>> round(ndcg_at([4, 0, 1], 10), 3)
    0.992
    >>> ndcg_at([0, 4], 1)
    0.0
    """
    best = _gained(sorted(grades_in_order if all_grades is None else all_grades, reverse=True)[:k])
    return min(1.0, _gained(grades_in_order[:k]) / best) if best > 0 else 0.0


def precision_at(grades_in_order: Sequence[float], k: int, least: float = RELEVANT) -> float:
    """Share of the first k results that are relevant; of those there are, where they are fewer.

    >>> precision_at([4, 0, 1], 2)
    0.5
    """
    seen = grades_in_order[:k]
    return sum(grade >= least for grade in seen) / len(seen) if seen else 0.0


def average_precision(grades_in_order: Sequence[float], least: float = RELEVANT, relevant: int | None = None) -> float:
    """Mean of the precision at each relevant result; its mean over queries is MAP.

    Args:
        grades_in_order: Grade of each result, the first first.
        least: From this grade on a result is relevant.
        relevant: How many relevant ones there are in all, where some may be missing from the list.

    >>> round(average_precision([4, 0, 1]), 3)
    0.833
    """
    places = [place for place, grade in enumerate(grades_in_order, 1) if grade >= least]
    total = len(places) if relevant is None else relevant
    return sum(count / place for count, place in enumerate(places, 1)) / total if total else 0.0


def reciprocal_rank(grades_in_order: Sequence[float], least: float = RELEVANT) -> float:
    """One over the place of the first relevant result, 0 where there is none; its mean over queries is MRR.

    >>> reciprocal_rank([0, 4, 1])
    0.5
    """
    return next((1 / place for place, grade in enumerate(grades_in_order, 1) if grade >= least), 0.0)


def _gained(grades: Sequence[float]) -> float:
    gain: float = sum((2**grade - 1) / log2(place + 1) for place, grade in enumerate(grades, 1))
    return gain
