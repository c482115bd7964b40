"""The counts of a reader of the topics, and the inputs with their outcomes."""

from typing import Literal

import pytest

from schemas.claims import ClaimBand, ClaimEvaluated, ClaimStatus
from schemas.llm import CallOutcome, LlmCall
from streams.demo import feed
from streams.demo.tally import Audit, Balance, Tally, Trace, faults
from streams.topology import HANDLERS
from tests.samples import the_handler
from tests.tables import tables

TABLES = tables(__file__)


def call(judge: Literal["model", "offline"], cost: float | None) -> LlmCall:
    return LlmCall(
        judged_by=judge, model="m", prompt_version="p", temperature=0.0, cost_usd=cost, outcome=CallOutcome.OK
    )


def claim(claim_id: str, llm: LlmCall) -> ClaimEvaluated:
    return ClaimEvaluated(
        claim_id=claim_id, status=ClaimStatus.SUCCESS, band=ClaimBand.GOOD, llm=llm, **TABLES["claim"]
    )


def test_tally_counts_judges_and_their_cost() -> None:
    tally = Tally()
    tally.see(claim("a", call("offline", 0.0)), Trace("1"))
    tally.see(claim("b", call("model", 0.25)), Trace("2"))
    tally.see(claim("c", call("model", 0.5).model_copy(update={"cached": True})), Trace("3"))
    figures = tally.summary({}, 1.0)
    assert figures["decisions"] == {"claims.evaluated.v1": {"status": {"success": 3}}}
    assert (figures["judged_by"], figures["cost_usd"]) == ({"offline": 1, "model": 2}, 0.25)
    # A model without a price: what it cost is not known, and not nothing.
    tally.see(claim("d", call("model", None)), Trace("4"))
    tally.see(claim("e", call("model", 0.25)), Trace("5"))
    assert tally.cost_usd is None


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


def test_account_covers_every_handler_of_the_topology() -> None:
    balances = Audit(HANDLERS).balances({})
    assert list(balances) == [handler.name for handler in HANDLERS]
    assert not faults(balances)


# --- the sample web --------------------------------------------------------------------------------------------------


def test_addresses_lead_to_files_of_their_own_host_only() -> None:
    host = "findevents.nordic.example"
    assert feed.find(host, "/denmark/copenhagen/events", "page=2") is not None
    assert feed.find(host, "/robots.txt", "") is not None
    assert feed.find(host, "/../shop.lydhuset.example/index", "") is None
    assert feed.find(host, "/absent", "") is None
    assert feed.find("elsewhere.example", "/", "") is None
    assert feed.page(feed.NOTICE)
    with pytest.raises(KeyError):
        feed.page("https://elsewhere.example/")
