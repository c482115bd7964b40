"""The 29 base features and their model's scores, computed from the text of a query, with fusion and diversity."""

from typing import Any

import numpy as np
import pytest

from tests.handlers.ranking.frozen.weighed import stored_cases, weighed

WEIGHED = stored_cases()


@pytest.mark.parametrize("case", WEIGHED["cases"], ids=lambda case: case["query"])
def test_features_and_scores_of_stored_queries_are_unchanged(case: dict[str, Any]) -> None:
    features, scores = weighed(WEIGHED, case)
    np.testing.assert_allclose(features, np.array(case["features"], dtype=np.float64), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores, case["scores"], rtol=1e-6)
