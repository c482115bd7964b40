"""The cost bound of a replay: kept over restarts, by two processes, and beside the daily budget."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from schemas.replies import ModelReply, ModelUnavailable
from streams.llm.journal import BoundReachedError
from streams.llm.settings import ModelLimits
from streams.llm.sqlite_journal import SqliteJournal
from streams.replay.budget import CostBound, cost_problems, open_account, spent_by
from streams.settings.model import Settings, load_settings
from streams.topology import handler_named
from tests.streams.llm.model_server import model_server, says
from tests.streams.llm.questions import FREE, gateway_at, question, served

DAY = "2025-01-02"
DEAR = ModelLimits(**{**FREE.model_dump(), "price_in": 0.0, "price_out": 1_000_000.0})
"""A token of a reply costs a dollar; ``question`` allows for ten."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "llm.sqlite"


async def test_what_the_day_refuses_is_not_booked_on_the_plan(path: Path) -> None:
    bound = CostBound(SqliteJournal(path), "spring", 10.0)
    assert await bound.book(DAY, 2.0, 1.0) == (False, 0.0)
    assert await bound.spent() == 0.0
    assert not bound.reached.is_set()
    await bound.aclose()


async def test_plans_have_accounts_of_their_own_that_outlive_processes(path: Path) -> None:
    for plan, most in (("spring", 1.0), ("autumn", 1.0)):
        bound = CostBound(SqliteJournal(path), plan, most)
        assert (await bound.book(DAY, 0.8, None))[0]
        await bound.aclose()
    again = CostBound(SqliteJournal(path), "spring", 1.0)
    with pytest.raises(BoundReachedError):
        await again.book(DAY, 0.8, None)
    await again.aclose()
    more = CostBound(SqliteJournal(path), "spring", 2.0)
    assert (await more.book(DAY, 0.8, None))[0]
    await more.aclose()
    settings = load_settings(llm={"cache_path": str(path)})
    await open_account(settings, "spring", 0.0)
    assert await spent_by(settings, "spring", 1.0) == pytest.approx(1.6)
    assert await spent_by(settings, "unheard of", 1.0) is None


async def test_processes_of_one_plan_keep_one_bound(path: Path) -> None:
    bounds = [CostBound(SqliteJournal(path), "spring", 20.0) for _ in range(3)]

    async def books(bound: CostBound) -> int:
        count = 0
        for _ in range(20):
            try:
                await bound.book(DAY, 1.0, None)
            except BoundReachedError:
                continue
            count += 1
        return count

    assert sum(await asyncio.gather(*(books(bound) for bound in bounds))) == 20
    await asyncio.gather(*(bound.aclose() for bound in bounds))


async def test_gateway_asks_no_model_beyond_the_cost_bound(path: Path) -> None:
    """A reply of two tokens is booked with the ten that it may have, and costs two."""
    bound = CostBound(SqliteJournal(path), "spring", 13.0)
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    async with served(says("Relevant", usage=usage), limits=DEAR, journal=bound) as (server, gateway):
        replies = [await gateway.answer(question(str(number))) for number in range(4)]
        assert [type(reply) for reply in replies] == [ModelReply, ModelReply, ModelUnavailable, ModelUnavailable]
        assert bound.reached.is_set()
        assert await bound.spent() == 4.0
        assert isinstance(await gateway.answer(question("0")), ModelReply), "what is kept costs nothing"
    assert len(server.asked) == 2


async def test_a_bound_of_nothing_lets_answers_through_that_are_kept(path: Path) -> None:
    async with model_server(says("Relevant")) as server:
        async with gateway_at(server.base_url, limits=DEAR, cache_path=path) as gateway:
            await gateway.answer(question())
        async with gateway_at(
            server.base_url, limits=DEAR, journal=CostBound(SqliteJournal(path), "p", 0.0)
        ) as gateway:
            assert isinstance(await gateway.answer(question()), ModelReply)
            assert isinstance(await gateway.answer(question("new")), ModelUnavailable)
    assert len(server.asked) == 1


def test_nothing_is_made_where_nothing_was_kept(path: Path) -> None:
    assert asyncio.run(spent_by(load_settings(llm={"cache_path": str(path)}), "spring", 0.0)) is None
    assert not path.exists()


def paid(**llm: Any) -> Settings:
    return load_settings(llm={"base_url": "http://127.0.0.1:9/v1", **llm})


def test_unbounded_cost_is_refused_with_advice() -> None:
    judge, scorer = handler_named("judge_relevance"), handler_named("score_page")
    assert judge is not None
    assert scorer is not None
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


async def test_a_plan_is_booked_beside_the_day(path: Path) -> None:
    bound = CostBound(SqliteJournal(path), "spring", 1.0)
    assert await bound.book(DAY, 0.6, 5.0) == (True, 0.6)
    with pytest.raises(BoundReachedError, match=r"0\.6000 USD, and may spend 1\.0000"):
        await bound.book(DAY, 0.6, 5.0)
    assert bound.reached.is_set()
    assert await bound.keep("k", "{}", 0, 100, DAY, -0.5) == pytest.approx(0.1)
    assert await bound.spent() == pytest.approx(0.1)
    await bound.aclose()
