"""Maximal marginal relevance: results that say something else than those above them.

In: relevance scores, how like one another the candidates are, and how much relevance weighs. Out: the order and each
choice's score. Trust is no argument: it passes through untouched (C-39).
Source: Carbonell and Goldstein, The Use of MMR, Diversity-Based Reranking (1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.sections import MmrSection
from schemas.ranking import Intent


def diversify(
    scores: Sequence[float], likeness: NDArray[np.float64], weight: float, most: int
) -> tuple[tuple[int, float], ...]:
    """Chooses the most relevant first, then what is relevant and unlike what is chosen.

    Args:
        scores: Relevance, on any scale; taken as the share of the way from the least to the most.
        likeness: 0 to 1, n x n.
        weight: Of relevance, 0 to 1; being unlike the likest one already chosen has the rest.
        most: How many to choose.

    Returns:
        Index and score, ``weight * relevance + (1 - weight) * (1 - likeness)``, in the order chosen: that of the source
        with a constant added, so that it is from 0 to 1. Of equals the first comes first. With a weight of 1 the order
        is that of the scores.

    >>> [index for index, _ in diversify([3, 2, 1], np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]), 0.5, 3)]
    [0, 2, 1]
    """
    raw = np.asarray(scores, dtype=np.float64)
    relevance = _relevance(raw)
    nearest = np.zeros(len(relevance))
    open_ = np.ones(len(relevance), dtype=bool)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(most, len(relevance))):
        worth = weight * relevance + (1 - weight) * (1 - nearest)
        # The first is the most relevant at any weight.
        index = int(np.argmax(np.where(open_, worth if chosen else raw, -np.inf)))
        chosen.append((index, float(worth[index])))
        open_[index] = False
        nearest = np.maximum(nearest, likeness[index])
    return tuple(chosen)


def weight_of(intent: Intent, section: MmrSection, *, named: bool = False) -> float:
    """The weight of relevance for an intent.

    Args:
        intent: What the query was taken to be after.
        section: The weights.
        named: Whether a candidate's title is the query. Then one thing was wanted, however the query reads.
    """
    if named:
        return max(section.specific, section.exploratory, section.balanced)
    weights = {
        Intent.SPECIFIC: section.specific,
        Intent.EXPLORATORY: section.exploratory,
        Intent.BALANCED: section.balanced,
    }
    return weights[intent]


def _relevance(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if not scores.size:
        return scores
    least, span = scores.min(), scores.max() - scores.min()
    return np.asarray((scores - least) / span if span > 0 else np.ones_like(scores), dtype=np.float64)
