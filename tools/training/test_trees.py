"""Exported trees answer as XGBoost does, on rows that it has not seen; the same seed gives the same trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost

from handlers.trees.forest import Forest, Trees
from streams.training.config import GrowthSection
from tools.training.trees import Floats, Whole, grow

pytestmark = pytest.mark.slow

NAMES = ("first", "second", "third")
GROWTH = GrowthSection(trees=25, depth=3, rate=0.2, rows=0.7, columns=0.7, leaf_weight=0.5, penalty=1.0)


def table(seed: int) -> tuple[Floats, Whole]:
    """Three classes: by the first measure, and by the second where the first is small; the third is noise."""
    values = np.random.default_rng(seed).integers(0, 20, (400, 3)).astype(np.float64)
    return values, np.where(values[:, 0] > 12, 2, (values[:, 1] > 9).astype(np.int64))


@pytest.mark.parametrize("is_share", [False, True])
def test_exported_trees_answer_as_xgboost(is_share: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    boosters: list[xgboost.Booster] = []
    train = xgboost.train

    def kept(*arguments: Any) -> xgboost.Booster:
        boosters.append(train(*arguments))
        return boosters[-1]

    monkeypatch.setattr(xgboost, "train", kept)
    values, labels = table(7)
    wanted = np.clip(labels / 2, 0.1, 0.9) if is_share else labels
    grown = grow(NAMES, values, wanted, np.ones(len(values)), GROWTH, [1, 2])
    held, expected = table(8)
    start = np.tile(grown["start"], (len(held), 1))
    # Values are whole numbers from 0, so each is the number of its interval too.
    data = xgboost.DMatrix(held, base_margin=start)
    theirs = np.mean([booster.predict(data, output_margin=True) for booster in boosters], axis=0)
    forest = Forest(Trees.model_validate(grown))
    ours = np.array([forest.scores(dict(zip(NAMES, row, strict=True))) for row in held.tolist()])
    assert len(boosters) == 2
    np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=0, atol=1e-6)
    found = ours[:, 0] > 0 if is_share else ours.argmax(1)
    assert (found == (expected == 2 if is_share else expected)).mean() > (0.8 if is_share else 0.97)


def test_the_same_seed_gives_the_same_trees() -> None:
    values, labels = table(7)
    first, again, other = (grow(NAMES, values, labels, np.ones(len(values)), GROWTH, [seed]) for seed in (1, 1, 2))
    assert first == again != other
