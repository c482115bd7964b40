"""Reads the journal for people: the calls and costs of models by day, and one stored reply by its ``llm.call_id``."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter

from streams.llm.journal import DayCalls, JournalError, StoredAnswer, from_journal
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.runtime.clock import SystemClock


@dataclass(frozen=True, slots=True)
class CostReport:
    """Calls and costs by day and model, the newest day first.

    A day or model without calls has no entry. ``spent_usd`` is booked today (UTC); a call in flight counts with its
    longest reply.
    """

    today: str
    calls: tuple[DayCalls, ...]
    spent_usd: float
    budget_usd: float | None

    @property
    def left_usd(self) -> float | None:
        return None if self.budget_usd is None else max(0.0, self.budget_usd - self.spent_usd)


async def read_costs(llm: LlmSettings, now: datetime, days: int) -> CostReport | None:
    """Calls and costs of the last days, today included. None if answers are not kept, or none is kept yet.

    Raises JournalError if the journal can't be read now.
    """
    if missing_journal(llm):
        return None
    today = now.astimezone(UTC).date()
    found: dict[tuple[str, str], DayCalls] = {}
    async with aclosing(make_journal(llm, read_only=True)) as journal:
        for row in await journal.counted((today - timedelta(days=days - 1)).isoformat()):
            of = row.day, row.model
            found[of] = found.get(of, DayCalls(*of)).plus(row)
        spent = await journal.booked(today.isoformat())
    ordered = sorted(sorted(found.values(), key=attrgetter("model")), key=attrgetter("day"), reverse=True)
    return CostReport(today.isoformat(), tuple(ordered), spent, llm.budget_usd_per_day)


async def stored_reply(llm: LlmSettings, call_id: str) -> StoredAnswer:
    """The stored answer; raises JournalError, if it is missing, with what to do."""
    if problem := missing_journal(llm):
        raise JournalError(problem)
    async with aclosing(make_journal(llm, read_only=True)) as journal:
        text = await journal.get(call_id, SystemClock().now().timestamp())
    where = "Redis" if llm.redis_url.get_secret_value() else str(llm.cache_path)
    if text is None:
        raise JournalError(f"{where} has no reply {call_id}: it has expired, or another journal has it")
    if (answer := from_journal(text)) is None:
        raise JournalError(f"the reply {call_id} in {where} can't be read: another version wrote it")
    return answer


def missing_journal(llm: LlmSettings) -> str:
    """Why there is no journal, and what to do; "" if it is in Redis or its file exists."""
    if llm.redis_url.get_secret_value():
        return ""
    if llm.cache_path is None:
        return "workers keep the replies in memory only; set ASSAY_LLM__CACHE_PATH to keep them"
    return "" if llm.cache_path.exists() else f"there is no journal at {llm.cache_path}; see ASSAY_LLM__CACHE_PATH"
