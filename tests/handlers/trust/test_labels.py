import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.trust.labels import Thresholds, label_for, label_of, tier_of
from tests.tables import tables

TABLES = tables(__file__)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_a_higher_score_is_never_in_a_lower_class(score: int, one: int, other: int) -> None:
    thresholds = Thresholds(max(one, other), min(one, other))
    assert tier_of(score, 3, thresholds) >= tier_of(min(score + 1, 100), 3, thresholds)
    assert ["HIGH", "MEDIUM", "LOW"].index(label_of(score, 3, thresholds)) == "ABC".index(tier_of(score, 3, thresholds))


@given(st.integers(0, 100), st.sampled_from([1, 2, 3, None]))
def test_no_score_lifts_a_source_above_its_best_label(score: int, source_tier: int | None) -> None:
    bounded = Thresholds(70, 40, best=(0, 1, 2, 1, 2))
    best = {1: "HIGH", 2: "MEDIUM", 3: "LOW", None: "LOW"}[source_tier]
    free = label_of(score, source_tier, Thresholds(70, 40))
    bound = max(best, free, key=["HIGH", "MEDIUM", "LOW"].index)
    assert label_of(score, source_tier, bounded) == label_for(score, source_tier, bounded).label == bound
    assert tier_of(score, source_tier, bounded) == {"HIGH": "A", "MEDIUM": "B", "LOW": "C"}[bound]


@pytest.mark.parametrize(
    ("score", "source_tier", "label", "label_source"), TABLES["a_score_decides_and_without_one_the_source"]
)
def test_a_score_decides_and_without_one_the_source(
    score: int | None, source_tier: int | None, label: str, label_source: str
) -> None:
    judgment = label_for(score, source_tier, Thresholds(70, 40))
    assert (judgment.label, judgment.label_source) == (label, label_source)
