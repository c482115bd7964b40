"""Inputs and their outcomes."""

from streams.demo.tally import Audit, Balance, Trace, faults
from streams.topology import HANDLERS
from tests.samples import the_handler

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


def test_several_outputs_of_one_input_are_one_answer() -> None:
    account = account_of("a")
    account.see(WRITTEN, Trace("out 1", "a", "score_page"))
    account.see(WRITTEN, Trace("out 2", "a", "score_page"))
    assert (balance(account).answered, balance(account).twice) == (1, 0)


def test_the_same_output_again_is_counted_as_twice() -> None:
    account = account_of("a")
    for _ in range(2):
        account.see(WRITTEN, Trace("out", "a", "score_page"))
    assert balance(account).twice == 1


def test_an_input_that_was_given_twice_may_be_answered_twice() -> None:
    account = account_of("a", "a")
    for _ in range(2):
        account.see(WRITTEN, Trace("out", "a", "score_page"))
    assert balance(account) == Balance(taken=2, answered=2, dead=0, dropped=0, missing=0, twice=0)


def test_an_answer_beside_a_dead_letter_is_counted_as_twice() -> None:
    account = account_of("a")
    account.see(WRITTEN, Trace("out", "a", "score_page"))
    account.see_dead("score_page", "a")
    assert balance(account).twice == 1


def test_output_of_another_handler_does_not_answer_an_input() -> None:
    account = account_of("a")
    account.see(WRITTEN, Trace("out", "a", "fetch_page"))
    account.see(WRITTEN, Trace("from outside"))
    assert balance(account).missing == 1


def test_account_covers_every_handler_of_the_topology() -> None:
    balances = Audit(HANDLERS).balances({})
    assert list(balances) == [handler.name for handler in HANDLERS]
    assert not faults(balances)
