"""The counts of a reader of the topics, and the inputs with their outcomes."""

from typing import Literal

import pytest

from handlers.index_page import IndexPageRules
from schemas.claims import ClaimBand, ClaimEvaluated, ClaimStatus
from schemas.documents import DocumentIndexed, IndexChange
from schemas.llm import CallOutcome, LlmCall
from schemas.pages import Tier
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.retrieval import (
    NextStep,
    ResultCounts,
    ResultsClassified,
    RetrievalEvaluated,
    RetrievalScores,
    ScoreSource,
)
from streams.demo.tally import Audit, Balance, Tally, Trace, faults
from streams.topology import HANDLERS
from tests.rules import shipped_rules
from tests.samples import the_handler
from tests.streams.query.toys import completed, ranked
from tests.tables import tables

TABLES = tables(__file__)

TIERS = shipped_rules(IndexPageRules).tiered_indexing


def new_tally() -> Tally:
    return Tally(TIERS, 10)


def classified(batch_id: str, actionable: float, parent: str | None = None, needs: bool = False) -> ResultsClassified:
    return ResultsClassified(
        batch_id=batch_id,
        parent_batch_id=parent,
        counts=ResultCounts(),
        actionable_information=actionable,
        needs_extraction=needs,
        **TABLES["classified"],
    )


def improvement(tally: Tally, score: str) -> tuple[float, float]:
    figures = tally.figures()
    return figures[f"{score}_before"], figures[f"{score}_after"]


def test_children_are_averaged_before_their_parents() -> None:
    tally = new_tally()
    for batch in (
        classified("a", 0.2, needs=True),
        classified("a1", 0.9, "a"),
        classified("a2", 0.5, "a"),
        classified("b", 0.4, needs=True),
        classified("c", 0.9),
    ):
        tally.see(batch, Trace(batch.batch_id))
    assert improvement(tally, "actionable") == (0.3, 0.55)


def test_the_overall_score_is_that_of_the_verdicts() -> None:
    tally = new_tally()
    for batch_id, parent, overall in (("a", None, 0.3), ("a1", "a", 0.9), ("a2", "a", 0.7)):
        tally.see(classified(batch_id, 0.2, parent, needs=parent is None), Trace(batch_id))
        tally.see(verdict(batch_id, overall), Trace(batch_id))
    assert improvement(tally, "overall") == (0.3, 0.8)


def verdict(batch_id: str, overall: float) -> RetrievalEvaluated:
    return RetrievalEvaluated(
        batch_id=batch_id,
        query="q",
        attempt=1,
        source_details=(),
        next_step=NextStep.SEARCH_AGAIN,
        needs_extraction=False,
        extraction_targets=(),
        config_version="c",
        passed=False,
        scores=RetrievalScores(
            context_recall=0.5, context_precision=0.5, source_quality=0.5, actionable_information=0.5
        ),
        overall_score=overall,
        severe_failure=False,
        score_source=ScoreSource.FALLBACK,
    )


def call(judge: Literal["model", "offline"], cost: float | None) -> LlmCall:
    return LlmCall(
        judged_by=judge, model="m", prompt_version="p", temperature=0.0, cost_usd=cost, outcome=CallOutcome.OK
    )


def claim(claim_id: str, llm: LlmCall) -> ClaimEvaluated:
    return ClaimEvaluated(
        claim_id=claim_id, status=ClaimStatus.SUCCESS, band=ClaimBand.GOOD, llm=llm, **TABLES["claim"]
    )


def test_tally_counts_judges_and_their_cost() -> None:
    tally = new_tally()
    tally.see(claim("a", call("offline", 0.0)), Trace("1"))
    tally.see(claim("b", call("model", 0.25)), Trace("2"))
    tally.see(claim("c", call("model", 0.5).model_copy(update={"cached": True})), Trace("3"))
    figures = tally.figures()
    assert (figures["judged_by"], figures["cost_usd"]) == ({"offline": 1, "model": 2}, 0.25)
    # A model without a price: what it cost is not known, and not nothing.
    tally.see(claim("d", call("model", None)), Trace("4"))
    tally.see(claim("e", call("model", 0.25)), Trace("5"))
    assert tally.figures()["cost_usd"] is None


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


def test_tally_counts_points_of_the_newest_version_per_document() -> None:
    tally = new_tally()
    for event in (
        indexed("a", "A", 8),
        indexed("a", "A", 6),
        indexed("b", "C", 1),
        indexed("b", "A", 9, IndexChange.OUTDATED),
    ):
        tally.see(event, Trace(event.url))
    figures = tally.figures()
    assert figures["index_points"] == 7
    assert figures["index_points_estimated"] == 12
    assert figures["index_points_without_tiers"] == 20


def test_a_query_is_answered_where_it_has_results() -> None:
    tally = new_tally()
    for number, results in enumerate([[ranked(1)], []]):
        request = RankingRequested(request_id=str(number), query="q")
        tally.see(completed(request, *results), Trace(str(number)))
    assert len(tally.latest(RankingCompleted)) == 2
    assert tally.figures()["queries_answered"] == 1


# --- inputs and outcomes ---

HANDLER = the_handler("score_page")
GIVEN, WRITTEN = HANDLER.consumes, HANDLER.emits[0]


def account_of(*inputs: str) -> Audit:
    account = Audit([HANDLER])
    for identity in inputs:
        account.see(GIVEN, Trace(identity))
    return account


def balance(account: Audit, dropped: int = 0) -> Balance:
    return account.balances({"score_page": dropped})["score_page"]


def test_each_input_is_answered_dead_or_dropped() -> None:
    account = account_of("a", "b", "c")
    account.see(WRITTEN, Trace("out", "a", "score_page"))
    account.see_dead("score_page", "b")
    assert balance(account) == Balance(taken=3, answered=1, dead=1, dropped=0, missing=1, twice=0)
    assert faults({"score_page": balance(account)}) == ["score_page: 3 in, 1 without an outcome, 0 with more than one"]
    assert faults({"score_page": balance(account, dropped=1)}) == []


@pytest.mark.parametrize(
    ("inputs", "outputs", "dead", "expected"),
    [
        ("a", [("1", "a", "score_page"), ("2", "a", "score_page")], "", Balance(1, 1, 0, 0, missing=0, twice=0)),
        ("a", [("1", "a", "score_page")] * 2, "", Balance(1, 1, 0, 0, missing=0, twice=1)),
        ("aa", [("1", "a", "score_page")] * 2, "", Balance(2, 2, 0, 0, missing=0, twice=0)),
        ("a", [("1", "a", "score_page")], "a", Balance(1, 1, 1, 0, missing=0, twice=1)),
        ("a", [("1", "a", "fetch_page"), ("from outside",)], "", Balance(1, 0, 0, 0, missing=1, twice=0)),
    ],
    ids=["several outputs", "one again", "given twice", "dead and answered", "of another handler"],
)
def test_outputs_and_dead_letters_are_distinguished(
    inputs: str, outputs: list[tuple[str, ...]], dead: str, expected: Balance
) -> None:
    account = account_of(*inputs)
    for output in outputs:
        account.see(WRITTEN, Trace(*output))
    for identity in dead:
        account.see_dead("score_page", identity)
    assert balance(account) == expected


def test_account_covers_every_handler_of_the_topology() -> None:
    balances = Audit(HANDLERS).balances({})
    assert list(balances) == [handler.name for handler in HANDLERS]
    assert not faults(balances)


def test_improvement_without_extractions_is_zero() -> None:
    assert improvement(new_tally(), "actionable") == (0.0, 0.0)
