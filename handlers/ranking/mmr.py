"""Maximal marginal relevance: results that differ from those above them. Trust has no part in it (C-39).

Source: Carbonell and Goldstein, The Use of MMR, Diversity-Based Reranking (1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.config import MmrSection
from schemas.ranking import Intent


def diversify(
    scores: Sequence[float], likeness: NDArray[np.float64], weight: float, most: int
) -> tuple[tuple[int, float], ...]:
    """Chooses the most relevant first, then by relevance and by difference from those chosen.

    Args:
        scores: Relevance, on any scale; taken as the share of the way from the least to the most.
        likeness: 0 to 1, n x n.
        weight: Of relevance, 0 to 1; the difference from the most similar chosen one has the rest.
        most: How many to choose.

    Returns:
        Index and ``weight * relevance + (1 - weight) * (1 - likeness)``, in the order chosen: the formula of the source
        with a constant added, so that it is from 0 to 1. Of equals the first comes first.

    >>> [index for index, _ in diversify([3, 2, 1], np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]), 0.5, 3)]
    [0, 2, 1]
    """
    raw = np.asarray(scores, dtype=np.float64)
    span = float(np.ptp(raw)) if raw.size else 0.0
    relevance = (raw - raw.min()) / span if span > 0 else np.ones_like(raw)
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
    """The weight of relevance for an intent; ``named``: a title is the query, which so asks for one thing."""
    weights = {"SPECIFIC": section.specific, "EXPLORATORY": section.exploratory, "BALANCED": section.balanced}
    return max(weights.values()) if named else weights[intent]
