from collections.abc import Callable
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.settings.model import load_settings
from streams.training.config import GradeSection, PhaseSection
from streams.training.grade import (
    average_precision,
    grade_of,
    group_of,
    is_held_out,
    ndcg_at,
    normalized,
    precision_at,
    reciprocal_rank,
    split_groups,
)
from streams.training.join import ServedRequest, Signals
from tests.tables import tables

TABLES = tables(__file__)

SECTION = load_settings().training
GRADES = SECTION.grades


def request(query: str, signals: list[Signals | None], request_id: str = "r") -> ServedRequest:
    return ServedRequest(
        request_id=request_id,
        query=query,
        at=None,
        ranks=tuple(range(1, len(signals) + 1)),
        features=np.zeros((len(signals), 41), dtype=np.float32),
        signals=tuple(signals),
    )


@pytest.mark.parametrize(
    ("signals", "grade"),
    [
        *((Signals(**signals), grade) for signals, grade in TABLES["explicit_grade_precedes_dwell_time_and_click"]),
        (None, 0),
    ],
    ids=str,
)
def test_explicit_grade_precedes_dwell_time_and_click(signals: Signals | None, grade: int) -> None:
    assert grade_of(signals, GRADES) == grade


def test_results_far_below_the_last_feedback_are_dropped() -> None:
    clicked = Signals(clicked=True)
    group = group_of(request("q", [None, clicked, None, None, None]), GRADES)
    assert group.grades.tolist() == [0, 1, 0]
    assert group.ranks.tolist() == [1, 2, 3]
    assert len(group.features) == 3
    whole = group_of(request("q", [None, clicked, None, None, None]), GRADES.model_copy(update={"passed_over": 100}))
    assert whole.grades.tolist() == [0, 1, 0, 0, 0]


@given(st.text(max_size=30), st.sampled_from([0.1, 0.2, 0.5]))
def test_no_query_is_ever_on_both_sides(query: str, share: float) -> None:
    written: list[Callable[[str], str]] = [
        str,
        str.upper,
        lambda text: f" {text} ?",
        lambda text: text.replace(" ", "  "),
    ]
    clicked = [Signals(clicked=True)]
    requests = [request(how(query), list(clicked), f"r{number}") for number, how in enumerate(written)]
    # What upper case makes of some letters is another word; only what is the same query has to stay together.
    split = split_groups(requests, GRADES, share)
    assert not {group.query for group in split.trained} & {group.query for group in split.held_out}
    assert len(split.trained) + len(split.held_out) == 4


def test_the_split_is_about_the_share_and_never_changes() -> None:
    queries = [normalized(f"query number {number}") for number in range(2000)]
    held = [query for query in queries if is_held_out(query, 0.2)]
    assert 340 < len(held) < 460
    assert held[:3] == ["query number 5", "query number 9", "query number 17"]
    assert all(is_held_out(query, 0.5) for query in held)


@pytest.mark.parametrize(("labelled", "phase"), TABLES["the_phase_follows_from_how_much_is_labelled"])
def test_the_phase_follows_from_how_much_is_labelled(labelled: int, phase: str | None) -> None:
    assert SECTION.phases.phase_of(labelled) == phase


@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        (lambda: PhaseSection(binary=500, pairwise=500, listwise=5000), "ascend"),
        (
            lambda: GradeSection.model_validate(
                {**GRADES.model_dump(), "dwell": [{"seconds": 30, "grade": 3}, {"seconds": 10, "grade": 4}]}
            ),
            "ascend",
        ),
    ],
)
def test_sections_that_make_no_sense_are_refused(section: Callable[[], object], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        section()


# --- measures of an order ---

ORDERS = st.lists(st.integers(0, 4), max_size=20)


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


@given(ORDERS)
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


def test_reciprocal_rank_of_the_first_relevant() -> None:
    assert reciprocal_rank([0, 0, 3, 4]) == pytest.approx(1 / 3)
    assert reciprocal_rank([0]) == 0.0


def ndcg_10(order: list[int]) -> float:
    return ndcg_at(order, 10)


def test_average_precision_of_lists_worked_out_by_hand() -> None:
    assert average_precision([1, 0, 1]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([0, 0]) == 0.0
