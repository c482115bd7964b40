"""Questions under a cost bound: answered, or held if no budget is left."""

import asyncio
from pathlib import Path

import pytest

from schemas.needs import Need
from schemas.replies import ModelUnavailable, Reply
from streams.llm.journal import BoundReachedError
from streams.llm.sqlite_journal import SqliteJournal
from streams.replay.budget import CostBound
from streams.replay.stage import CostLimitedServices
from tests.streams.llm.questions import question

DOWN = ModelUnavailable("nobody answers")


class Down:
    """Services that report an unavailable model, after a while."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()

    async def answer(self, need: Need, run: str | None) -> Reply:  # noqa: ARG002
        await self.answers.wait()
        return DOWN


@pytest.fixture
async def bound(tmp_path: Path) -> CostBound:
    return CostBound(SqliteJournal(tmp_path / "llm.sqlite"), "spring", 1.0)


async def test_question_without_budget_is_held_unanswered(bound: CostBound) -> None:
    down = Down()
    services = CostLimitedServices(down, bound)
    asked = asyncio.create_task(services.answer(question(), None))
    await asyncio.sleep(0)
    assert (services.asking, services.is_spent) == (1, False)
    with pytest.raises(BoundReachedError):
        await bound.book("2025-01-02", 2.0, None)
    assert (services.asking, services.is_spent) == (1, True), "a call that is under way is one that is waited for"
    down.answers.set()
    done, held = await asyncio.wait({asked}, timeout=0.05)
    assert (done, services.asking) == (set(), 0)
    [it] = held
    it.cancel()
    with pytest.raises(asyncio.CancelledError):
        await it
    await bound.aclose()


async def test_unavailable_service_is_passed_on_unchanged(bound: CostBound) -> None:
    for its in (bound, None):
        down = Down()
        down.answers.set()
        services = CostLimitedServices(down, its)
        assert await services.answer(question(), None) == DOWN
        assert (services.asking, services.is_spent) == (0, False)
    await bound.aclose()
