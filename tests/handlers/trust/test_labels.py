from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.trust.labels import Thresholds, label_of, tier_of, without_score


@pytest.mark.parametrize(("source_tier", "expected"), [(1, ("A", "HIGH")), (2, ("B", "MEDIUM")), (3, ("C", "LOW"))])
def test_without_a_score_the_source_decides(source_tier: int, expected: tuple[str, str]) -> None:
    assert without_score(source_tier) == expected


@pytest.mark.parametrize("source_tier", [0, 4, -1])
def test_an_unknown_source_is_the_lowest(source_tier: int) -> None:
    assert without_score(source_tier) == ("C", "LOW")


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_a_higher_score_is_never_in_a_lower_class(score: int, one: int, other: int) -> None:
    thresholds = Thresholds(max(one, other), min(one, other))

    assert tier_of(score, thresholds) >= tier_of(min(score + 1, 100), thresholds)
    assert ["HIGH", "MEDIUM", "LOW"].index(label_of(score, thresholds)) == "ABC".index(tier_of(score, thresholds))


@pytest.mark.parametrize(("score", "tier"), [(100, "A"), (70, "A"), (69, "B"), (40, "B"), (39, "C"), (0, "C")])
def test_a_threshold_belongs_to_the_class_that_it_begins(score: int, tier: str) -> None:
    assert tier_of(score, Thresholds(70, 40)) == tier
