"""Boosting learns separable classes, gives the same trees for the same seed, and answers as the handler does."""

from __future__ import annotations

import numpy as np
import pytest

from handlers.trees.forest import Forest, Tree, Trees
from tools.training.boosting import Floats, Recipe, Whole, grow, predict, softmax

pytestmark = pytest.mark.slow

RECIPE = Recipe(rounds=25, columns=1.0, least=0.1)


def table() -> tuple[Floats, Whole]:
    """Three classes: by the first measure, and by the second where the first is small; the third is noise."""
    values = np.random.default_rng(7).random((300, 3))
    return values, np.where(values[:, 0] > 0.6, 2, (values[:, 1] > 0.5).astype(np.int64))


def test_learns_separable_classes() -> None:
    values, labels = table()
    start, trees = grow(values, np.eye(3)[labels], np.ones(300), RECIPE)
    assert (predict(start, trees, values).argmax(1) == labels).mean() > 0.97
    assert np.allclose(softmax(predict(start, trees, values)).sum(1), 1.0)


def test_one_column_answers_yes_or_no_in_log_odds() -> None:
    values, labels = table()
    wanted = (labels == 2).astype(np.float64)
    start, trees = grow(values, wanted[:, None], np.ones(300), RECIPE)
    scores = predict(start, trees, values)
    assert {tree.of for tree in trees} == {0}
    assert ((scores[:, 0] > 0) == (wanted > 0.5)).mean() > 0.97
    assert np.allclose(softmax(np.array([[0.0], [np.log(3)]])), [[0.5], [0.75]])


def test_the_same_seed_gives_the_same_trees() -> None:
    values, labels = table()
    assert grow(values, np.eye(3)[labels], np.ones(300), RECIPE) == grow(
        values, np.eye(3)[labels], np.ones(300), RECIPE
    )


def test_the_handler_answers_as_the_trees_were_grown() -> None:
    values, labels = table()
    start, grown = grow(values, np.eye(3)[labels], np.ones(300), RECIPE)
    names = ("first", "second", "third")
    trees = tuple(
        Tree(of=tree.of, measures=tuple(tree.measures), thresholds=tuple(tree.thresholds), leaves=tuple(tree.leaves))
        for tree in grown
    )
    forest = Forest(Trees(measures=names, start=(start[0], start[1], start[2]), trees=trees))
    expected = predict(start, grown, values[:20])
    for row, scores in zip(values[:20], expected, strict=True):
        assert np.allclose(forest.scores(dict(zip(names, row.tolist(), strict=True))), scores)
