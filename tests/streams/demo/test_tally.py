"""Counting what a reader of the topics sees."""

from __future__ import annotations

import pytest

from schemas.dead import DeadLetter
from schemas.retrieval import ResultCounts, ResultsClassified
from streams.demo.tally import Tally


def classified(batch_id: str, actionable: float, parent: str | None = None, needs: bool = False) -> ResultsClassified:
    return ResultsClassified(
        batch_id=batch_id,
        query="q",
        parent_batch_id=parent,
        results=(),
        counts=ResultCounts(),
        actionable_information=actionable,
        needs_extraction=needs,
    )


def test_children_are_averaged_before_their_parents() -> None:
    tally = Tally()
    for batch in (
        classified("a", 0.2, needs=True),
        classified("a1", 0.9, "a"),
        classified("a2", 0.5, "a"),
        classified("b", 0.4, needs=True),
        classified("c", 0.9),
    ):
        tally.see("results.classified.v1", batch)
    assert tally.improvement() == pytest.approx((0.3, (0.7 + 0.4) / 2))


def test_nothing_needed_is_no_improvement() -> None:
    assert Tally().improvement() == (0.0, 0.0)


def test_inputs_without_an_answer_are_told_by_handler() -> None:
    tally = Tally()
    tally.see("results.classified.v1", classified("a", 0.2))
    assert tally.unaccounted() == [
        "classify_results: 0 in, 1 answered, 0 dead",
        "evaluate_retrieval: 1 in, 0 answered, 0 dead",
    ]
    tally.events["retrieval.batches.v1"] = 1
    tally.see_dead(DeadLetter.of([("x-handler", b"evaluate_retrieval")]))
    assert tally.unaccounted() == []
