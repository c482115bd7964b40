"""Reads the calls and costs of models by day from the journal, and what is left of the day's budget."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streams.llm.journal import DayCalls
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal


@dataclass(frozen=True, slots=True)
class CostReport:
    """Calls and costs, the newest day first.

    Attributes:
        today: The present day (UTC).
        calls: By day and model; a day or model without calls has no entry.
        spent_usd: Costs that are booked on the present day, with the longest reply of each call in flight.
        budget_usd: The budget of the day; None without a budget.
    """

    today: str
    calls: tuple[DayCalls, ...]
    spent_usd: float
    budget_usd: float | None

    @property
    def left_usd(self) -> float | None:
        """What is left of the day's budget; None without a budget."""
        return None if self.budget_usd is None else max(0.0, self.budget_usd - self.spent_usd)


async def read_costs(llm: LlmSettings, now: datetime, days: int) -> CostReport | None:
    """Calls and costs of the last days, today included. None if answers are not kept, or none is kept yet.

    Raises:
        JournalError: The journal can't be read now.
    """
    is_remote = bool(llm.redis_url.get_secret_value())
    if not is_remote and (llm.cache_path is None or not llm.cache_path.exists()):
        return None
    today = now.astimezone(UTC).date()
    names = [(today - timedelta(days=back)).isoformat() for back in range(days)]
    async with aclosing(make_journal(llm, read_only=True)) as journal:
        calls = await journal.counted(names)
        spent = await journal.booked(names[0])
    ordered = sorted(sorted(calls, key=lambda its: its.model), key=lambda its: its.day, reverse=True)
    return CostReport(names[0], tuple(ordered), spent, llm.budget_usd_per_day)
