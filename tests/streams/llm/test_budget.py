"""The metrics of a day's budget."""

from prometheus_client import CollectorRegistry

from streams.llm.accounting import Budget, utc_day
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.telemetry.metrics import Metrics
from tests.streams.doubles import VirtualClock

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
