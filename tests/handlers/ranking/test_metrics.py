"""Measures of an order, against values worked out by hand and what must hold for any list."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.metrics import average_precision, ndcg_at, precision_at, reciprocal_rank

grades = st.lists(st.integers(0, 4), max_size=20)


def test_ndcg_of_a_list_worked_out_by_hand() -> None:
    # Järvelin and Kekäläinen's example list with gains of 2^grade - 1.
    order = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    gained = 7 + 3 / log2(3) + 7 / 2 + 1 / log2(7) + 3 / 3 + 3 / log2(9) + 7 / log2(10)
    best = 7 + 7 / log2(3) + 7 / 2 + 3 / log2(5) + 3 / log2(6) + 3 / log2(7) + 1 / 3
    assert ndcg_at(order, 10) == pytest.approx(gained / best)


@pytest.mark.parametrize(
    ("order", "k", "expected"),
    [([], 10, 0.0), ([0, 0], 10, 0.0), ([4], 10, 1.0), ([0, 4], 1, 0.0), ([4, 0], 1, 1.0), ([0, 1], 2, 1 / log2(3))],
)
def test_ndcg_at_the_edges(order: list[int], k: int, expected: float) -> None:
    assert ndcg_at(order, k) == pytest.approx(expected)


def test_what_retrieval_missed_lowers_ndcg() -> None:
    assert ndcg_at([1], 10) == 1.0
    assert ndcg_at([1], 10, all_grades=[1, 4]) == pytest.approx(1 / (15 + 1 / log2(3)))
    assert ndcg_at([0, 0], 10, all_grades=[4]) == 0.0


@given(grades, st.integers(1, 12))
def test_the_best_order_is_one_and_none_is_above(order: list[int], k: int) -> None:
    best = ndcg_at(sorted(order, reverse=True), k)
    assert best == (1.0 if any(order) else 0.0)
    assert 0.0 <= ndcg_at(order, k) <= 1.0


@given(grades)
def test_a_better_result_moved_up_never_costs(order: list[int]) -> None:
    for place in range(len(order) - 1):
        if order[place] < order[place + 1]:
            swapped = [*order[:place], order[place + 1], order[place], *order[place + 2 :]]
            for measure in (ndcg_10, average_precision, reciprocal_rank):
                assert measure(swapped) >= measure(order) - 1e-12


def test_precision_looks_at_what_there_is() -> None:
    assert precision_at([1, 0, 2, 0], 4) == 0.5
    assert precision_at([1, 0], 10) == 0.5
    assert precision_at([], 10) == 0.0
    assert precision_at([1, 2], 2, least=2) == 0.5


def test_average_precision_counts_relevant_ones_that_are_missing() -> None:
    assert average_precision([1, 0, 1]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([1], relevant=2) == 0.5
    assert average_precision([0, 0]) == 0.0


def test_reciprocal_rank_of_the_first_relevant() -> None:
    assert reciprocal_rank([0, 0, 3, 4]) == pytest.approx(1 / 3)
    assert reciprocal_rank([0]) == 0.0


def ndcg_10(order: list[int]) -> float:
    return ndcg_at(order, 10)
