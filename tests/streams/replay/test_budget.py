"""The cost bound of a replay: kept over restarts, by two processes, and beside the daily budget."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.replies import ModelReply, ModelUnavailable
from streams.llm.accounting import Budget, CostAccount
from streams.llm.journal import BoundReachedError
from streams.llm.settings import ModelLimits
from streams.llm.sqlite_journal import SqliteJournal
from streams.replay.budget import account_of, cost_problems, open_account, spent_by
from streams.settings.model import Settings, load_settings
from streams.telemetry.metrics import Metrics
from tests.samples import the_handler
from tests.streams.doubles import VirtualClock
from tests.streams.llm.model_server import says
from tests.streams.llm.questions import FREE, question, served

DAY = "2025-01-02"
DEAR = ModelLimits(**{**FREE.model_dump(), "price_in": 0.0, "price_out": 1_000_000.0})
"""A token of a reply costs a dollar; ``question`` allows for ten."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "llm.sqlite"


async def test_accounts_of_plans_outlive_processes(path: Path) -> None:
    """And the journal knows only those plans that were begun with it; to ask makes none."""
    settings = load_settings(llm={"cache_path": str(path)})
    assert await spent_by(settings, "spring", 0.0) is None
    assert os.listdir(path.parent) == []
    for usd in (0.8, 0.6):
        journal = SqliteJournal(path)
        budget = Budget(None, journal, VirtualClock(), Metrics(), CostAccount(account_of("spring"), None))
        await budget.book(DAY, usd)
        await journal.aclose()
    await open_account(settings, "spring", 0.0)
    assert await spent_by(settings, "spring", 1.0) == pytest.approx(1.4)
    assert await spent_by(settings, "unheard of", 1.0) is None


async def test_processes_of_one_plan_keep_one_bound(path: Path) -> None:
    """What is not booked for the plan is not booked for the day, and the other way round."""
    journals = [SqliteJournal(path) for _ in range(3)]

    async def books(journal: SqliteJournal) -> int:
        account, booked, refusals = CostAccount("spring", 20.0), 0, []
        budget = Budget(100.0, journal, VirtualClock(), Metrics(), account)
        while not account.reached.is_set():
            try:
                assert await budget.book(DAY, 1.0) is None
                booked += 1
            except BoundReachedError as error:
                refusals.append(str(error))
        assert refusals == ["the replay has spent 20.0000 USD, and may spend 20.0000"]
        return booked

    assert sum(await asyncio.gather(*map(books, journals))) == 20
    assert (await journals[0].booked("spring"), await journals[0].booked(DAY)) == (20.0, 20.0)
    spent = CostAccount("autumn", 9.0)
    assert await Budget(20.0, journals[0], VirtualClock(), Metrics(), spent).book(DAY, 1.0) is not None
    assert (await journals[0].booked("autumn"), spent.reached.is_set()) == (0.0, False)
    await asyncio.gather(*(journal.aclose() for journal in journals))


async def test_gateway_asks_no_model_beyond_the_cost_bound(path: Path) -> None:
    """A reply of two tokens is booked with the ten that it may have, and costs two."""
    account, journal = CostAccount("spring", 13.0), SqliteJournal(path)
    await journal.booked("spring")  # on a busy machine a file takes longer to be made than a hasty question has
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    async with served(says("Relevant", usage=usage), limits=DEAR, journal=journal, account=account) as (
        server,
        gateway,
    ):
        replies = [await gateway.answer(question(str(number))) for number in range(4)]
        assert [type(reply) for reply in replies] == [ModelReply, ModelReply, ModelUnavailable, ModelUnavailable]
        assert account.reached.is_set()
        assert await journal.booked("spring") == 4.0
        assert isinstance(await gateway.answer(question("0")), ModelReply), "what is kept costs nothing"
    assert len(server.asked) == 2


def paid(**llm: Any) -> Settings:
    return load_settings(llm={"base_url": "http://127.0.0.1:9/v1", **llm})


def test_unbounded_cost_is_refused_with_advice() -> None:
    judge, scorer = the_handler("judge_relevance"), the_handler("score_page")
    assert cost_problems(paid(), scorer) == []
    assert cost_problems(load_settings(), judge) == []
    [problem] = cost_problems(paid(), judge)
    assert "set llm.model" in problem
    [problem] = cost_problems(paid(model="m"), judge)
    assert "m has no prices: set models.limits.m.price_in" in problem
    none = load_settings(
        llm={"base_url": "http://127.0.0.1:9/v1", "model": "m"},
        models={"replay_share": 0, "limits": {"m": {"price_in": 1, "price_out": 1}}},
    )
    assert cost_problems(none, judge) == ["replays have no part of the models' limits: set models.replay_share above 0"]
    assert "set llm.cache_path" in cost_problems(paid(model="m", cache_path=None), judge)[1]
