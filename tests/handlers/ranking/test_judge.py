"""A judge's scores combined with the fused ones: invariants of the order for any judge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.ranking.judge import combine, read_ranking_reply

FUSED = st.lists(st.floats(0, 1.8), min_size=1, max_size=20).map(lambda scores: sorted(scores, reverse=True))


@given(fused=FUSED, shown=st.integers(0, 20), weight=st.floats(0, 1), data=st.data())
def test_what_was_not_shown_keeps_its_order_below_all_that_was(
    fused: list[float], shown: int, weight: float, data: st.DataObject
) -> None:
    shown = min(shown, len(fused))
    judged = data.draw(st.lists(st.none() | st.floats(0, 1), min_size=shown, max_size=shown))
    combined = combine(fused, dict(enumerate(judged)), weight)
    assert len(combined) == len(fused)
    rest = combined[shown:]
    assert list(rest) == sorted(rest, reverse=True)
    if shown and rest:
        assert min(combined[:shown]) >= rest[0] - 1e-9


@given(fused=FUSED, weight=st.floats(0, 1))
def test_judge_without_scores_changes_nothing(fused: list[float], weight: float) -> None:
    assert combine(fused, dict.fromkeys(range(len(fused))), weight) == pytest.approx(fused)


def test_weight_of_0_or_1_selects_one_score() -> None:
    assert combine((0.9, 0.1), {0: 0.0, 1: 1.0}, 1.0) == (0.0, 1.0)
    assert combine((0.9, 0.1), {0: 0.0, 1: 1.0}, 0.0) == (0.9, 0.1)


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(repr))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert read_ranking_reply(text, 3) is None
