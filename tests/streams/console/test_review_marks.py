"""Agreement of editors with the decisions of handlers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schemas.review import DecisionReviewed, ReviewedDecision
from streams.console.reviews import Agreement, agreement, newest_marks

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def mark(offset: int, right: bool = True, handler: str = "score_page", version: str | None = "v1", **more: Any) -> Any:
    decision = ReviewedDecision(
        topic="pages.scored.v1",
        partition=0,
        offset=offset,
        handler=handler,
        config_version=version,
        subject="https://a.example/",
    )
    return DecisionReviewed(decision=decision, right=right, **more)


def test_agreement_is_counted_by_handler_and_version() -> None:
    marks = [mark(1), mark(2), mark(3, False), mark(4, version="v0"), mark(5, False, "classify_results", None)]
    assert agreement(marks) == (
        Agreement("classify_results", "", 0, 1),
        Agreement("score_page", "v0", 1, 0),
        Agreement("score_page", "v1", 2, 1),
    )
    assert agreement([]) == ()


@pytest.mark.parametrize(
    ("right", "wrong", "low", "high"),
    # The values of Wilson's interval without continuity correction, as in Newcombe (1998), table I.
    [(81, 182, 0.2553, 0.3662), (15, 133, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 28, 0.0061, 0.1718)],
)
def test_the_interval_is_wilsons(right: int, wrong: int, low: float, high: float) -> None:
    found = Agreement("h", "v", right, wrong).interval
    assert found == pytest.approx((low, high), abs=5e-5)


def test_the_newest_mark_of_a_decision_counts() -> None:
    later = NOON + timedelta(minutes=1)
    reviews = [
        mark(1, True, reviewed_at=NOON),
        mark(1, False, reviewed_at=later),
        mark(2, False, reviewed_at=later),
        mark(2, True, reviewed_at=NOON),
        mark(3, True),
        mark(3, False),
    ]
    assert [its.right for its in newest_marks(reviews).values()] == [False, False, False]


def test_a_decision_is_known_by_its_id_before_its_position() -> None:
    first, second = mark(1).decision, mark(9).decision
    again = [
        DecisionReviewed(decision=its.model_copy(update={"event_id": "e"}), right=right)
        for its, right in ((first, True), (second, False))
    ]
    assert [its.right for its in newest_marks(again).values()] == [False]
    assert len(newest_marks([mark(1), mark(9)])) == 2
