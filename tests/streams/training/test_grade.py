from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.model import VERSION_PHASE_A
from schemas.ranking import RankingFeedback
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
from streams.training.join import LeftOut, ServedLog, ServedRequest, Signals
from tests.streams.training.feedback import address, completed, row
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


# Järvelin and Kekäläinen's example list with gains of 2^grade - 1.
GAINED = 7 + 3 / log2(3) + 7 / 2 + 1 / log2(7) + 3 / 3 + 3 / log2(9) + 7 / log2(10)
MOST_GAINED = 7 + 7 / log2(3) + 7 / 2 + 3 / log2(5) + 3 / log2(6) + 3 / log2(7) + 1 / 3


@pytest.mark.parametrize(
    ("measure", "given", "expected"),
    [
        (ndcg_at, ([3, 2, 3, 0, 0, 1, 2, 2, 3, 0], 10), GAINED / MOST_GAINED),
        *((ndcg_at, (order, 10), expected) for order, expected in (([], 0.0), ([0, 0], 0.0), ([4], 1.0))),
        (ndcg_at, ([0, 4], 1), 0.0),
        (ndcg_at, ([4, 0], 1), 1.0),
        (ndcg_at, ([0, 1], 2), 1 / log2(3)),
        (precision_at, ([1, 0, 2, 0], 4), 0.5),
        (precision_at, ([1, 0], 10), 0.5),
        (precision_at, ([], 10), 0.0),
        (precision_at, ([1, 2], 2, 2), 0.5),
        (reciprocal_rank, ([0, 0, 3, 4],), 1 / 3),
        (reciprocal_rank, ([0],), 0.0),
        (average_precision, ([1, 0, 1],), (1 + 2 / 3) / 2),
        (average_precision, ([0, 0],), 0.0),
    ],
)
def test_measures_of_lists_worked_out_by_hand(measure: Any, given: tuple[Any, ...], expected: float) -> None:
    assert measure(*given) == pytest.approx(expected)


@given(ORDERS)
def test_a_better_result_moved_up_never_costs(order: list[int]) -> None:
    for place in range(len(order) - 1):
        if order[place] < order[place + 1]:
            swapped = [*order[:place], order[place + 1], order[place], *order[place + 2 :]]
            for measure in (ndcg_10, average_precision, reciprocal_rank):
                assert measure(swapped) >= measure(order) - 1e-12


def ndcg_10(order: list[int]) -> float:
    return ndcg_at(order, 10)


# --- answers with their feedback -------------------------------------------------------------------------------------


AT = datetime(2026, 11, 21, 8, tzinfo=UTC)


def rated(request_id: str = "r", place: int = 0, **what: object) -> RankingFeedback:
    return RankingFeedback.model_validate({"request_id": request_id, "url": address(place), **what})


def log(*feedback: RankingFeedback) -> ServedLog:
    """Feedback that was read, each event once, and where answers go."""
    read = ServedLog()
    for number, one in enumerate(feedback):
        read.add_feedback(one, str(number))
    return read


def test_joined_features_are_the_served_ones_of_each_result() -> None:
    served = log(rated(place=1, clicked=True))
    served.add_answer(completed("r", [row(0.25), [None, *row(0.5)[1:]], row(0.75)], requested_at=AT), "a")

    [request] = served.joined().requests
    assert request.features.shape == (3, 41)
    assert np.isnan(request.features[1, 0])
    assert np.isnan(request.features).sum() == 1
    assert request.features[:, 19].tolist() == [0.25, 0.5, 0.75]
    assert [signals is not None for signals in request.signals] == [False, True, False]
    assert (request.at, request.ranks) == (AT, (1, 2, 3))


def test_clicks_and_stays_add_up_and_the_last_grade_wins() -> None:
    served = log(
        rated(clicked=False),
        rated(clicked=True, dwell_ms=4_000),
        rated(dwell_ms=6_500, grade=1),
        rated(clicked=False, grade=3),
    )
    served.add_answer(completed("r", [row()]), "a")

    [signals] = served.joined().requests[0].signals
    assert signals is not None
    assert (signals.clicked, signals.dwell_ms, signals.grade, signals.events) == (True, 10_500, 3, 4)


def test_first_answer_is_joined_and_later_ones_are_dropped() -> None:
    served = log(rated(clicked=True))
    served.add_answer(completed("r", [row(0.25)]), "live")
    served.add_answer(completed("r", [row(0.75)]), "replayed")
    joined = served.joined()
    assert [request.features[0, 19] for request in joined.requests] == [0.25]
    assert joined.left_out[LeftOut.LATER_ANSWER] == 1


def test_feedback_that_goes_with_nothing_is_counted_and_left_out() -> None:
    served = log(
        rated(clicked=True),
        rated(place=7, clicked=True),
        rated(place=7, dwell_ms=1),
        rated("never answered", grade=1),
        rated("not rated", place=7, clicked=True),
    )
    served.add_answer(completed("r", [row(), row()]), "a")
    served.add_answer(completed("not rated", [row()]), "b")
    joined = served.joined()
    assert [request.request_id for request in joined.requests] == ["r"]
    assert joined.left_out[LeftOut.NOT_SHOWN] == 3
    assert joined.left_out[LeftOut.UNKNOWN_REQUEST] == 1
    assert joined.labelled == 1


def test_results_that_were_served_without_features_are_left_out() -> None:
    served = log(rated(clicked=True), rated("old", clicked=True))
    mixed = completed("r", [row(), row()])
    bare = mixed.results[1].model_copy(update={"features": None})
    served.add_answer(mixed.model_copy(update={"results": (mixed.results[0], bare)}), "a")
    served.add_answer(completed("old", [None, None], version=None), "b")
    joined = served.joined()
    assert [(request.request_id, len(request.ranks)) for request in joined.requests] == [("r", 1)]
    assert joined.left_out[LeftOut.WITHOUT_FEATURES] == 3


@pytest.mark.parametrize(
    ("version", "columns"), [("ranking-features-41.v9", 41), ("ranking-features-41.v2", 29), (VERSION_PHASE_A, 41)]
)
def test_features_of_another_version_are_never_taken_for_ours(version: str, columns: int) -> None:
    served = log(rated(clicked=True))
    served.add_answer(completed("r", [row(columns=columns)], version=version), "a")
    joined = served.joined()
    assert joined.requests == ()
    assert joined.other_versions == {version: 1}


def test_the_order_of_reading_decides_nothing() -> None:
    feedback = [rated(request, clicked=True) for request in "abc"]
    answers = [completed(request, [row(number / 4)]) for number, request in enumerate("abc")]
    both = []
    for order in ([0, 1, 2], [2, 0, 1]):
        served = log(*(feedback[number] for number in order))
        for number in order:
            served.add_answer(answers[number], str(number))
        both.append([(r.request_id, r.features.tolist()) for r in served.joined().requests])
    assert both[0] == both[1]


def test_the_latest_grade_wins_in_any_order() -> None:
    feedback = [
        rated(grade=1, given_at=AT),
        rated(grade=3, given_at=AT + timedelta(hours=1)),
        rated(clicked=True),
    ]
    for order in permutations(feedback):
        served = log(*order)
        served.add_answer(completed("r", [row()]), "a")
        [signals] = served.joined().signals
        assert (signals.grade, signals.clicked, signals.events) == (3, True, 3)
