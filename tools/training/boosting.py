"""Gradient boosting of small trees for several classes, in a page of numpy: training needs no other library.

The input is measures and shares of classes; the result is complete trees of one depth, in the form that
``handlers.trees`` reads. It uses Newton steps on the softmax loss, histograms of quantile bins, and a share
of rows and columns for each tree. The same seed gives the same trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_NEVER = 1e9
"""A threshold that no measure exceeds: where a node is not worth a split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The parameters of the training.

    Attributes:
        rounds: Trees for each class.
        depth: Questions from a tree's root to its leaf.
        rate: Share of each step that is taken.
        rows: Share of the rows that a tree sees.
        columns: Share of the measures that a tree may ask for.
        penalty: Added to the curvature of each leaf: the larger, the more timid.
        least: Curvature, which is about a quarter of a doubtful row, that a leaf needs.
        bins: Quantiles that a measure is cut at, at most.
    """

    rounds: int = 120
    depth: int = 3
    rate: float = 0.08
    rows: float = 0.6
    columns: float = 0.25
    penalty: float = 3.0
    least: float = 0.6
    bins: int = 32
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Grown:
    """One tree: the class it speaks for, the measures and thresholds of its nodes from the root down, its leaves."""

    of: int
    measures: list[int]
    thresholds: list[float]
    leaves: list[float]


def written(trees: Sequence[Grown]) -> list[dict[str, object]]:
    """The trees as the section ``Trees`` reads them, with rounded numbers."""
    return [
        {
            "of": tree.of,
            "measures": tree.measures,
            "thresholds": [float(f"{value:.6g}") for value in tree.thresholds],
            "leaves": [float(f"{value:.3g}") for value in tree.leaves],
        }
        for tree in trees
    ]


def grow(table: Floats, wanted: Floats, weights: Floats, recipe: Recipe) -> tuple[list[float], list[Grown]]:
    """The starting score of each class, and the trees whose leaves are added to it.

    Args:
        table: One row a case, one column a measure.
        wanted: The share of each class in each row: 1 for its class, 0 for the others, if it is in one only. With one
            column the question is yes or no, and scores are log-odds.
        weights: How much each row counts.
        recipe: The parameters of the training.
    """
    rng = np.random.default_rng(recipe.seed)
    cuts = [_cuts(column, recipe.bins) for column in table.T]
    binned = np.stack([np.searchsorted(cut, column, "left") for cut, column in zip(cuts, table.T, strict=True)], axis=1)
    classes = wanted.shape[1]
    share = (wanted * weights[:, None]).sum(0) / weights.sum()
    start = np.log(share / (1 - share) if classes == 1 else share)
    scores = np.tile(start, (len(table), 1))
    columns = max(1, round(recipe.columns * table.shape[1]))
    trees: list[Grown] = []
    for _ in range(recipe.rounds):
        shares = softmax(scores)
        seen = rng.random(len(table)) < recipe.rows
        for of in range(classes):
            slope = (shares[:, of] - wanted[:, of]) * weights
            curve = np.maximum(shares[:, of] * (1 - shares[:, of]), 1e-6) * weights
            chosen = np.sort(rng.choice(table.shape[1], columns, replace=False))
            tree = _tree(binned, cuts, chosen, slope * seen, curve * seen, recipe)
            trees.append(Grown(of, *tree))
            scores[:, of] += answer(trees[-1], table)
    return [float(value) for value in start], trees


def predict(start: list[float], trees: list[Grown], table: Floats) -> Floats:
    """The score of each class for each row."""
    scores = np.tile(np.array(start), (len(table), 1))
    for tree in trees:
        scores[:, tree.of] += answer(tree, table)
    return scores


def answer(tree: Grown, table: Floats) -> Floats:
    """The leaf of each row."""
    measures, thresholds, leaves = np.array(tree.measures), np.array(tree.thresholds), np.array(tree.leaves)
    node = np.zeros(len(table), dtype=np.int64)
    while node[0] < len(measures):
        node = 2 * node + 1 + (table[np.arange(len(table)), measures[node]] > thresholds[node])
    found: Floats = leaves[node - len(measures)]
    return found


def softmax(scores: Floats) -> Floats:
    """Scores as shares of one; a single score is the log-odds of yes."""
    if scores.shape[1] == 1:
        odds: Floats = 1 / (1 + np.exp(-scores))
        return odds
    raised = np.exp(scores - scores.max(1, keepdims=True))
    shares: Floats = raised / raised.sum(1, keepdims=True)
    return shares


def _cuts(column: Floats, bins: int) -> Floats:
    """Thresholds between the quantiles of a measure."""
    values = np.unique(column)
    if len(values) > bins:
        values = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1), method="nearest"))
    cuts: Floats = (values[:-1] + values[1:]) / 2
    return cuts


def _tree(
    binned: Whole, cuts: list[Floats], chosen: Whole, slope: Floats, curve: Floats, recipe: Recipe
) -> tuple[list[int], list[float], list[float]]:
    measures: list[int] = []
    thresholds: list[float] = []
    node = np.zeros(len(binned), dtype=np.int64)
    for level in range(recipe.depth):
        nodes = 2**level
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)] * nodes
        for measure in chosen:
            width = len(cuts[measure]) + 1
            if width < 2:
                continue
            place = node * width + binned[:, measure]
            slopes, curves = _sums(place, slope, nodes * width), _sums(place, curve, nodes * width)
            gains = _gains(slopes.reshape(nodes, width), curves.reshape(nodes, width), recipe)
            at = gains.argmax(1)
            for number in range(nodes):
                if gains[number, at[number]] > best[number][0]:
                    best[number] = (float(gains[number, at[number]]), int(measure), int(at[number]))
        goes_right = np.zeros(len(binned), dtype=np.int64)
        for number, (_, measure, cut) in enumerate(best):
            measures.append(measure)
            thresholds.append(float(cuts[measure][cut]) if cut >= 0 else _NEVER)
            if cut >= 0:
                goes_right |= (node == number) & (binned[:, measure] > cut)
        node = 2 * node + goes_right
    ends = 2**recipe.depth
    leaves = -recipe.rate * _sums(node, slope, ends) / (_sums(node, curve, ends) + recipe.penalty)
    return measures, thresholds, [float(leaf) for leaf in leaves]


def _sums(places: Whole, values: Floats, count: int) -> Floats:
    """The sum of the values at each place."""
    return np.bincount(places, values, count).astype(np.float64)


def _gains(slopes: Floats, curves: Floats, recipe: Recipe) -> Floats:
    """What each cut of each node gains; 0 where a side would have too little."""
    left_slope, left_curve = slopes.cumsum(1)[:, :-1], curves.cumsum(1)[:, :-1]
    all_slope, all_curve = slopes.sum(1, keepdims=True), curves.sum(1, keepdims=True)
    right_slope, right_curve = all_slope - left_slope, all_curve - left_curve

    def worth(slope: Any, curve: Any) -> Any:
        return slope**2 / (curve + recipe.penalty)

    gains = worth(left_slope, left_curve) + worth(right_slope, right_curve) - worth(all_slope, all_curve)
    enough = (left_curve >= recipe.least) & (right_curve >= recipe.least)
    found: Floats = np.where(enough, gains, 0.0)
    return found
