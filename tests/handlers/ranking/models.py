"""Small models trained on generated rows, for tests of how a model is used."""

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.model import (
    FEATURES_OF,
    OBJECTIVES,
    VERSION_PHASE_A,
    VERSION_PHASE_C,
    Manifest,
    Phase,
    RankingModel,
)

LIST = 10
"""Rows of a query."""


def generated_rows(count: int, seed: int = 1) -> NDArray[np.float64]:
    """Rows x 41 of numbers, a tenth of them missing."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, 41))
    rows[random.random(rows.shape) < 0.1] = np.nan
    return rows


def grown_text(rows: NDArray[np.float64], phase: Phase, names: Sequence[str] | None) -> str:
    """XGBoost's JSON of a model that separates rows by the sum of their numbers, so that every column counts."""
    import xgboost  # takes long, and most processes that collect the tests do not run these

    sums = np.nansum(rows, axis=1)
    grades = np.digitize(sums, np.quantile(sums, [0.4, 0.7, 0.9]))
    data = xgboost.DMatrix(
        rows,
        label=grades > 1 if phase is Phase.BINARY else grades,
        feature_names=None if names is None else list(names),
        nthread=1,
    )
    if phase is not Phase.BINARY:
        data.set_group([LIST] * (len(rows) // LIST))
    parameters = {"objective": OBJECTIVES[phase], "max_depth": 4, "nthread": 1, "seed": 1, "learning_rate": 0.3}
    return xgboost.train(parameters, data, num_boost_round=20).save_raw("json").decode()


def manifest_of(model: str, width: int = 41, phase: Phase = Phase.LISTWISE, **changed: Any) -> Manifest:
    """A manifest that fits the model, but for what is changed."""
    version = {29: VERSION_PHASE_A, 41: VERSION_PHASE_C}[width]
    fields = {
        "name": "generated",
        "version": "1",
        "phase": phase,
        "features_version": version,
        "features": FEATURES_OF[version],
        "sha256": hashlib.sha256(model.encode()).hexdigest(),
        "trained_on": "generated rows",
        "licence": "Apache-2.0",
    }
    return Manifest.model_validate(fields | changed)


@cache
def generated_model(features: int = 41, phase: Phase = Phase.LISTWISE) -> RankingModel:
    """A model of so many features."""
    version = {29: VERSION_PHASE_A, 41: VERSION_PHASE_C}[features]
    model = grown_text(generated_rows(600)[:, :features], phase, FEATURES_OF[version])
    return RankingModel(manifest=manifest_of(model, features, phase), model=model)
