from collections import Counter

import pytest

from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.pages import ScoredPage
from streams.replay.diff import DeadTally, FirstFew, emitted, migration, no_decision


def test_the_first_few_are_kept() -> None:
    few = FirstFew[int](2)
    for number in range(5):
        few.add(number)
    assert (few.items, few.count, few.more) == ([0, 1], 5, 3)


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        (Dead(DeadReason.INVALID), "dead"),
        (Retry(RetryReason.UNAVAILABLE), "retry"),
        (Drop(DropReason.NOTHING_TO_DO), "drop"),
        (Emit(()), "drop"),
    ],
)
def test_outcomes_without_a_decision_have_a_name(outcome: Outcome, name: str) -> None:
    assert no_decision(outcome) == name
    assert emitted(outcome, ScoredPage) is None


def test_dead_letters_are_counted_on_their_side() -> None:
    assert not DeadTally().any
    tally = DeadTally()
    tally.add(Emit(()), Dead(DeadReason.TOO_LARGE))
    assert tally.any
    assert tally.to_wire() == {"now": {}, "then": {"too_large": 1}}


def test_matrix_has_rows_for_named_and_seen_values() -> None:
    matrix = migration(Counter({("A", "retry"): 3}), "AB")
    assert list(matrix) == ["A", "B", "dead", "retry"]
    assert matrix["A"]["retry"] == 3
