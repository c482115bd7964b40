"""The calls and costs of models by day, and what is left of the budget."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from schemas.replies import ModelReply, ModelUnavailable
from streams.llm.accounting import Budget, CallTally, utc_day
from streams.llm.journal import DayCalls
from streams.llm.reports import read_costs
from streams.llm.settings import LlmSettings, ModelLimits
from streams.llm.sqlite_journal import SqliteJournal, make_journal
from streams.telemetry.metrics import Metrics
from tests.kafka.installation import until
from tests.streams.doubles import VirtualClock
from tests.streams.llm.model_server import says
from tests.streams.llm.questions import MODEL, TASK, question, served

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
TODAY, BEFORE, EARLIER = "2026-11-23", "2026-11-22", "2026-11-20"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "llm.sqlite"


async def test_counts_of_all_processes_are_summed_up(path: Path) -> None:
    for number in (1, 2):
        journal = SqliteJournal(path)
        await journal.count([DayCalls(TODAY, "m", number, 10, 0, 0.5), DayCalls(BEFORE, "m", 1)])
        await journal.aclose()
    journal = SqliteJournal(path)
    await journal.count([DayCalls(TODAY, "another", 0, 0, 3), DayCalls(EARLIER, "m", 9)])
    await journal.keep("k", "{}", 0, 9, [TODAY], 1.25)
    await journal.aclose()
    report = await read_costs(LlmSettings(cache_path=path, budget_usd_per_day=2.0), NOW, 2)
    assert report is not None
    assert report.calls == (
        DayCalls(TODAY, "another", 0, 0, 3),
        DayCalls(TODAY, "m", 3, 20, 0, 1.0),
        DayCalls(BEFORE, "m", 2),
    )
    assert (report.today, report.spent_usd, report.left_usd) == (TODAY, 1.25, 0.75)


async def test_counts_are_written_at_the_end_at_the_latest(path: Path) -> None:
    journal, clock = SqliteJournal(path), VirtualClock()
    day = clock.now().date().isoformat()
    tally = CallTally(journal, clock)
    tally.add(question(), "m", requested=1, usd=0.25)
    tally.add(question(), "m", cached=2)
    assert await journal.counted(day) == []
    await tally.aclose()
    assert await journal.counted(day) == [DayCalls(day, "m", 1, 2, 0, 0.25, TASK, True)]
    await tally.aclose()
    assert await journal.counted(day) == [DayCalls(day, "m", 1, 2, 0, 0.25, TASK, True)]
    await journal.aclose()


async def test_counts_are_written_while_the_process_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.llm.accounting._WRITE_SECONDS", 0.01)
    journal, clock = SqliteJournal(path), VirtualClock()
    tally = CallTally(journal, clock)
    day = clock.now().date().isoformat()
    for number in (1, 2):
        tally.add(question(), "m", refused=1)
        await until(partial(_are_counted, journal, DayCalls(day, "m", 0, 0, number, 0.0, TASK, True)))
    await tally.aclose()
    await journal.aclose()


async def test_the_gateway_counts_requests_cached_answers_and_refusals(path: Path) -> None:
    """A reply costs 10 USD; the second question would exceed the budget."""
    price = ModelLimits(price_in=0.0, price_out=1_000_000.0)
    async with served(says("0.7"), limits=price, cache_path=path, budget_usd_per_day=10.0) as (_, gateway):
        assert isinstance(await gateway.answer(question(max_tokens=10)), ModelReply)
        assert isinstance(await gateway.answer(question(max_tokens=10)), ModelReply)
        assert isinstance(await gateway.answer(question("Another?", max_tokens=10)), ModelUnavailable)
    report = await read_costs(LlmSettings(cache_path=path, budget_usd_per_day=10.0), datetime.now(UTC), 1)
    assert report is not None
    [counted] = report.calls
    assert (counted.model, counted.requested, counted.cached, counted.refused) == (MODEL, 1, 1, 1)
    assert counted.usd == report.spent_usd > 0


async def _are_counted(journal: SqliteJournal, calls: DayCalls) -> bool:
    return await journal.counted(calls.day) == [calls]


# --- the budget of a day ---------------------------------------------------------------------------------------------


LEFT, BOUND = "assay_llm_budget_left_usd", "assay_llm_budget_usd"


async def test_budget_of_yesterday_is_not_exported_today() -> None:
    registry, clock = CollectorRegistry(), VirtualClock()
    store = make_journal(LlmSettings())
    budget = Budget(10.0, store, clock, Metrics(registry))
    assert registry.get_sample_value(LEFT) is None
    assert await budget.book(utc_day(clock), 9.5) is None
    assert registry.get_sample_value(LEFT) == 0.5
    clock.seconds += 86_400
    assert registry.get_sample_value(LEFT) is None
    assert registry.get_sample_value(BOUND) == 10.0
    assert await budget.book(utc_day(clock), 1.0) is None
    assert registry.get_sample_value(LEFT) == 9.0
    await store.aclose()
