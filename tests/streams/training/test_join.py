from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pytest

from handlers.ranking.model import VERSION_PHASE_A
from schemas.ranking import RankingFeedback
from streams.cli.progress import read_events
from streams.cli.train import add_line
from streams.publish.lines import LARGEST_LINE
from streams.topology import RANKING_COMPLETED, RANKING_FEEDBACK
from streams.training.join import LeftOut, ServedLog
from tests.streams.training.feedback import address, completed, row

AT = datetime(2026, 11, 21, 8, tzinfo=UTC)


def given(request_id: str = "r", place: int = 0, **what: object) -> RankingFeedback:
    return RankingFeedback.model_validate({"request_id": request_id, "url": address(place), **what})


def log(*feedback: RankingFeedback) -> ServedLog:
    """Feedback that was read, each event once, and where answers go."""
    read = ServedLog()
    for number, one in enumerate(feedback):
        read.add_feedback(one, str(number))
    return read


def test_joined_features_are_the_served_ones_of_each_result() -> None:
    served = log(given(place=1, clicked=True))
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
        given(clicked=False),
        given(clicked=True, dwell_ms=4_000),
        given(dwell_ms=6_500, grade=1),
        given(clicked=False, grade=3),
    )
    served.add_answer(completed("r", [row()]), "a")

    [signals] = served.joined().requests[0].signals
    assert signals is not None
    assert (signals.clicked, signals.dwell_ms, signals.grade, signals.events) == (True, 10_500, 3, 4)


def test_first_answer_is_joined_and_later_ones_are_dropped() -> None:
    served = log(given(clicked=True))
    served.add_answer(completed("r", [row(0.25)]), "live")
    served.add_answer(completed("r", [row(0.75)]), "replayed")
    joined = served.joined()
    assert [request.features[0, 19] for request in joined.requests] == [0.25]
    assert joined.left_out[LeftOut.LATER_ANSWER] == 1


def test_feedback_that_goes_with_nothing_is_counted_and_left_out() -> None:
    served = log(
        given(clicked=True),
        given(place=7, clicked=True),
        given(place=7, dwell_ms=1),
        given("never answered", grade=1),
        given("not rated", place=7, clicked=True),
    )
    served.add_answer(completed("r", [row(), row()]), "a")
    served.add_answer(completed("not rated", [row()]), "b")
    joined = served.joined()
    assert [request.request_id for request in joined.requests] == ["r"]
    assert joined.left_out[LeftOut.NOT_SHOWN] == 3
    assert joined.left_out[LeftOut.UNKNOWN_REQUEST] == 1
    assert joined.labelled == 1


def test_results_that_were_served_without_features_are_left_out() -> None:
    served = log(given(clicked=True), given("old", clicked=True))
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
    served = log(given(clicked=True))
    served.add_answer(completed("r", [row(columns=columns)], version=version), "a")
    joined = served.joined()
    assert joined.requests == ()
    assert joined.other_versions == {version: 1}


def test_the_order_of_reading_decides_nothing() -> None:
    feedback = [given(request, clicked=True) for request in "abc"]
    answers = [completed(request, [row(number / 4)]) for number, request in enumerate("abc")]
    both = []
    for order in ([0, 1, 2], [2, 0, 1]):
        served = log(*(feedback[number] for number in order))
        for number in order:
            served.add_answer(answers[number], str(number))
        both.append([(r.request_id, r.features.tolist()) for r in served.joined().requests])
    assert both[0] == both[1]


def test_the_latest_grade_wins_in_any_order() -> None:
    feedback = [given(grade=1, given_at=AT), given(grade=3, given_at=AT + timedelta(hours=1)), given(clicked=True)]
    for order in permutations(feedback):
        served = log(*order)
        served.add_answer(completed("r", [row()]), "a")
        [signals] = served.joined().signals
        assert (signals.grade, signals.clicked, signals.events) == (3, True, 3)


# --- lines of files --------------------------------------------------------------------------------------------------


ANSWER = completed("r", [row(0.5), row(0.25)]).to_wire()
CLICK: dict[str, Any] = {"request_id": "r", "url": address(1), "clicked": True}


def read(feedback: list[Any], answers: list[Any]) -> ServedLog:
    """What comes of lines; values are written as JSON."""
    served = ServedLog()
    for topic, some in ((RANKING_FEEDBACK, feedback), (RANKING_COMPLETED, answers)):
        with NamedTemporaryFile(suffix=".jsonl") as file:
            file.writelines((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in some)
            file.flush()
            for found in read_events("train", Path(file.name), topic):
                add_line(served, found)
    return served


def test_repeated_event_counts_once_by_id_or_content() -> None:
    dwell = {"request_id": "r", "url": address(0), "dwell_ms": 6000}
    tailed = [
        {"topic": "t", "partition": 0, "offset": offset, "headers": {"ce_id": ce_id}, "value": dwell}
        for offset, ce_id in enumerate(["one", "one", "two"])
    ]
    foreign = [{"topic": "t", "partition": 1, "offset": offset, "headers": {}, "value": dwell} for offset in (7, 7, 8)]
    turned = dict(reversed(dwell.items()))
    reading = read([dwell, dwell, turned, *tailed, *foreign], [ANSWER, ANSWER])
    joined = reading.joined()
    [signals, _] = joined.requests[0].signals
    assert signals is not None
    assert signals.dwell_ms == 5 * 6000
    assert joined.left_out[LeftOut.DUPLICATE_FEEDBACK] == 4
    assert joined.left_out[LeftOut.DUPLICATE_ANSWER] == 1


def test_invalid_event_is_reported_with_its_line_and_skipped() -> None:
    wrong: list[Any] = [
        b"no json",
        b"[]",
        b"x" * (LARGEST_LINE + 1),
        {"request_id": "r", "url": address(0)},
        {"topic": "t", "offset": 1, "value": {"bytes": 7}},
        {**CLICK, "grade": 5},
        b"",
    ]
    reading = read([*wrong, CLICK], [ANSWER])
    assert [line.split(": ")[0].rpartition(":")[2] for line in reading.unreadable] == [*"123456"]
    assert "feedback needs clicked, dwell_ms or grade" in reading.unreadable[3]
    assert reading.joined().labelled == 1
