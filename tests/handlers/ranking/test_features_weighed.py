"""The 29 base features and their model's scores, computed from the text of a query, with fusion and diversity."""

import copy
from typing import Any

import numpy as np
import pytest

from handlers.ranking.model import NAMES, TOTAL_FEATURES_PHASE_A
from tests.handlers.ranking.frozen.weighed import stored_cases, weighed

WEIGHED = stored_cases()


@pytest.mark.parametrize("case", WEIGHED["cases"], ids=lambda case: case["query"])
def test_features_and_scores_of_stored_queries_are_unchanged(case: dict[str, Any]) -> None:
    features, scores = weighed(WEIGHED, case)
    np.testing.assert_allclose(features, np.array(case["features"], dtype=np.float64), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores, case["scores"], rtol=1e-6)


@pytest.mark.slow
def test_stored_cases_reveal_a_change_before_the_features() -> None:
    together = np.concatenate([np.array(case["features"], dtype=np.float64) for case in WEIGHED["cases"]])
    for column in range(TOTAL_FEATURES_PHASE_A):
        assert len(set(map(str, together[:, column]))) > 1, f"{NAMES[column]} is always the same"
    numbers = [(part, key) for part in ("bm25", "mmr") for key in WEIGHED["ranking"][part]]
    for part, key in numbers:
        value = WEIGHED["ranking"][part][key]
        # A copy is found after the features are made.
        if isinstance(value, bool) or key in ("candidates", "copy_likeness"):
            continue
        changed = copy.deepcopy(WEIGHED)
        changed["ranking"][part][key] = type(value)(value * 0.75)
        assert any(
            not np.allclose(
                weighed(changed, case)[0], np.array(case["features"], dtype=np.float64), rtol=1e-9, equal_nan=True
            )
            for case in WEIGHED["cases"]
        ), f"{part}.{key} changes no feature"
