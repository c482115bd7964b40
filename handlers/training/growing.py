"""Growing the trees: graded groups go in, a model in XGBoost's JSON and what each feature was good for come out.

The question is the phase's: whether a result is good (binary), which of two is better (pairwise), which order of the
whole list (listwise). One thread, one seed and rows in a fixed order: the same groups give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.manifest import OBJECTIVES, Phase
from handlers.training.grading import Group
from handlers.training.sections import TrainingSection


class XgboostMissingError(Exception):
    """The library that grows trees is not installed; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A model.

    Attributes:
        model: XGBoost's JSON.
        importance: Share of the gain of all splits that fell to each feature, the largest first; features without
            any are left out.
    """

    model: str
    importance: tuple[tuple[str, float], ...]


def grow(groups: Sequence[Group], names: Sequence[str], phase: Phase, section: TrainingSection, seed: int) -> Grown:
    """Grows a model.

    Args:
        groups: To learn from; not all grades are the same.
        names: Of the features; of wider rows only so many columns are looked at.
        phase: The question.
        section: How trees are grown.
        seed: Of the rows and features that each tree sees.

    Raises:
        XgboostMissingError: It is not installed.
    """
    try:
        import xgboost
    except ImportError:
        raise XgboostMissingError("training needs XGBoost: pip install 'assay[rank]'") from None
    grades = np.concatenate([group.grades for group in groups])
    data = xgboost.DMatrix(
        np.concatenate([group.features[:, : len(names)] for group in groups]),
        label=grades >= section.grades.relevant if phase is Phase.BINARY else grades,
        qid=None if phase is Phase.BINARY else np.repeat(np.arange(len(groups)), [len(g.grades) for g in groups]),
        weight=_weights(groups, section) if phase is Phase.BINARY else None,
        feature_names=list(names),
        nthread=1,
    )
    booster = xgboost.train(_parameters(phase, section, seed), data, num_boost_round=section.growth.trees)
    return Grown(booster.save_raw("json").decode(), _importance(booster.get_score(importance_type="total_gain")))


def _parameters(phase: Phase, section: TrainingSection, seed: int) -> dict[str, Any]:
    growth = section.growth
    parameters: dict[str, Any] = {
        "objective": OBJECTIVES[phase],
        "tree_method": "hist",
        "max_depth": growth.depth,
        "learning_rate": growth.rate,
        "subsample": growth.rows,
        "colsample_bytree": growth.columns,
        "min_child_weight": growth.leaf_weight,
        "lambda": growth.penalty,
        "nthread": 1,
        "seed": seed,
        "verbosity": 0,
    }
    if section.position_bias and phase is not Phase.BINARY:
        parameters["lambdarank_unbiased"] = True
    return parameters


def _weights(groups: Sequence[Group], section: TrainingSection) -> NDArray[np.float32]:
    """Inverse propensity (Joachims et al. 2017): good results count the more, the less likely it was to see them."""
    weights = [
        np.where(group.grades >= section.grades.relevant, group.ranks.astype(np.float32) ** section.position_bias, 1.0)
        for group in groups
    ]
    return np.concatenate(weights).astype(np.float32)


def _importance(gains: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    total = sum(gains.values()) or 1.0
    return tuple(sorted(((name, gain / total) for name, gain in gains.items()), key=lambda item: (-item[1], item[0])))
