"""Diversity: the first result stays first, copies move down, ties keep their order, and no result is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.stages import diversify, weight_of
from schemas.ranking import Intent
from tests.rules import RankingRules, shipped_rules

SECTION = shipped_rules(RankingRules).ranking.mmr
SCORES = st.lists(st.floats(-1e6, 1e6), max_size=12)


def order(chosen: tuple[tuple[int, float], ...]) -> list[int]:
    return [index for index, _ in chosen]


def test_each_choice_is_compared_with_all_that_are_chosen() -> None:
    """The copy of the first choice stays last, although the second choice is unlike it."""
    likeness = np.eye(4)
    likeness[0, 2] = likeness[2, 0] = 1.0
    chosen = diversify([1.0, 0.9, 0.8, 0.0], likeness, 0.4, 4)
    assert order(chosen) == [0, 1, 3, 2]
    assert [worth for _, worth in chosen] == pytest.approx([1.0, 0.96, 0.6, 0.32])


def test_with_the_whole_weight_the_order_is_that_of_the_scores() -> None:
    assert order(diversify([0.2, 0.9, 0.5], np.ones((3, 3)), 1.0, 3)) == [1, 2, 0]


@given(SCORES, st.floats(0, 1), st.integers(0, 15))
def test_the_most_relevant_is_first_and_nothing_comes_twice(scores: list[float], weight: float, most: int) -> None:
    size = len(scores)
    likeness = np.random.default_rng(size).random((size, size))
    chosen = order(diversify(scores, (likeness + likeness.T) / 2, weight, most))
    assert len(chosen) == min(size, most) == len(set(chosen))
    assert not chosen or chosen[0] == int(np.argmax(scores))


@given(SCORES, st.floats(0, 1))
def test_no_score_is_negative(scores: list[float], weight: float) -> None:
    chosen = diversify(scores, np.ones((len(scores), len(scores))), weight, len(scores))
    assert all(0 <= worth <= 1 + 1e-9 for _, worth in chosen)


def test_diversity_weight_follows_the_intent() -> None:
    weights = [weight_of(intent, SECTION) for intent in (Intent.EXPLORATORY, Intent.BALANCED, Intent.SPECIFIC)]
    assert weights == [SECTION.exploratory, SECTION.balanced, SECTION.specific]
    assert weights == sorted(weights)
    assert weight_of(Intent.EXPLORATORY, SECTION, named=True) == SECTION.specific
