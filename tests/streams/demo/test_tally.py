"""Counting what a reader of the topics sees."""

from __future__ import annotations

import pytest

from handlers.index_page import IndexPageRules
from schemas.dead import DeadLetter
from schemas.documents import DocumentIndexed, IndexChange
from schemas.pages import Tier
from schemas.retrieval import ResultCounts, ResultsClassified
from streams.demo.tally import Tally
from tests.rules import shipped_rules

TIERS = shipped_rules(IndexPageRules).tiered_indexing


def new_tally() -> Tally:
    return Tally(TIERS, 10)


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
    tally = new_tally()
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
    assert new_tally().improvement() == (0.0, 0.0)


def test_inputs_without_an_answer_are_told_by_handler() -> None:
    tally = new_tally()
    tally.see("results.classified.v1", classified("a", 0.2))
    assert tally.unaccounted() == [
        "classify_results: 0 in, 1 answered, 0 dead",
        "evaluate_retrieval: 1 in, 0 answered, 0 dead",
    ]
    tally.events["retrieval.batches.v1"] = 1
    tally.see_dead(DeadLetter.of([("x-handler", b"evaluate_retrieval")]))
    assert tally.unaccounted() == []


def indexed(url: str, tier: Tier, points: int, change: IndexChange = IndexChange.WRITTEN) -> DocumentIndexed:
    return DocumentIndexed(
        url=url,
        document_id=url,
        tier=tier,
        change=change,
        points=points,
        points_written=points,
        points_removed=0,
        embedder="e",
        config_version="c",
    )


def test_points_are_those_of_each_documents_newest_version_beside_the_estimate() -> None:
    tally = new_tally()
    for event in (
        indexed("a", "A", 8),
        indexed("a", "A", 6),
        indexed("b", "C", 1),
        indexed("b", "A", 9, IndexChange.OUTDATED),
    ):
        tally.see("documents.indexed.v1", event)
    assert tally.index_points() == 7
    assert tally.estimate().points_with_articles == 12
    assert tally.estimate().full_chunks == 20
