"""The cost limit of a replay: booked before each call and corrected after it, across kills and processes.

The journal of a replay books every call on the plan's account and on the account of the day. Both are in the same
store, so a plan that is killed or shared by two processes stays within its limit. A call is booked with its longest
reply, so the limit is reached a little before the money is spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from typing_extensions import override

from streams.llm.journal import AnswerJournal, BoundReachedError, DayCalls, Experience, Used
from streams.llm.reports import missing_journal
from streams.llm.request import cost_of
from streams.llm.sqlite_journal import make_journal
from streams.replay.plan import is_paid
from streams.settings.model import Settings
from streams.topology import Handler

ACCOUNT_SECONDS = 90 * 86_400.0
"""For so long after the last run a journal knows a plan. Redis keeps the costs at least as long."""


class CostBound(AnswerJournal):
    """An ``AnswerJournal`` for ``LiveServices`` that books on a plan's account first."""

    def __init__(self, store: AnswerJournal, plan: str, most_usd: float | None) -> None:
        """Takes the journal, the plan's run, and its cost limit; without a limit costs are only counted."""
        self._store = store
        self._account = account_of(plan)
        self._most = most_usd
        # Set when a call was refused. The replay should pause then; the record of the call is not decided.
        self.reached = asyncio.Event()
        self._closed = False

    async def spent(self) -> float:
        """USD of all processes of the plan; calls in flight count with their longest reply. Raises JournalError."""
        return await self._store.booked(self._account)

    @override
    async def get(self, key: str, now: float) -> str | None:
        return await self._store.get(key, now)

    @override
    async def keep(
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:
        # The day first: after a kill between the two the plan still has the booking from before the call.
        total = await self._store.keep(key, answer, now, seconds, day, usd, used)
        await self._store.book(self._account, usd, None)
        return total

    @override
    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        if usd <= 0:
            await self._store.book(self._account, usd, None)
            return await self._store.book(day, usd, most)
        booked, total = await self._store.book(self._account, usd, self._most)
        if not booked:
            self.reached.set()
            raise BoundReachedError(f"the replay has spent {total:.4f} USD, and may spend {self._most:.4f}")
        try:
            booked, total = await self._store.book(day, usd, most)
        except BaseException:
            await self._store.book(self._account, -usd, None)
            raise
        if not booked:
            await self._store.book(self._account, -usd, None)
        return booked, total

    @override
    async def experience(self, task: str, model: str) -> Experience:
        return await self._store.experience(task, model)

    @override
    async def count(self, calls: Sequence[DayCalls]) -> None:
        await self._store.count(calls)

    @override
    async def counted(self, days: Sequence[str]) -> list[DayCalls]:
        return await self._store.counted(days)

    @override
    async def booked(self, account: str) -> float:
        return await self._store.booked(account)

    @override
    async def aclose(self) -> None:
        # The gateway closes its journal, and the replay closes this one.
        if not self._closed:
            self._closed = True
            await self._store.aclose()


async def open_account(settings: Settings, plan: str, now: float) -> None:
    """Opens the account of a plan's run in the journal, or extends it; ``now`` is in seconds since the epoch.

    Raises JournalError if the journal can't be opened or written.
    """
    async with aclosing(make_journal(settings.llm)) as journal:
        await journal.keep(account_of(plan), "{}", now, ACCOUNT_SECONDS, account_of(plan), 0.0)


async def spent_by(settings: Settings, plan: str, now: float) -> float | None:
    """USD that a plan's run has spent; None if the journal does not know it. ``now`` is in seconds since the epoch.

    Raises JournalError if the journal can't be read now.
    """
    if missing_journal(settings.llm):
        return None
    async with aclosing(make_journal(settings.llm)) as journal:
        is_known = await journal.get(account_of(plan), now) is not None
        return await journal.booked(account_of(plan)) if is_known else None


def account_of(plan: str) -> str:
    return f"replay:{plan}"


def cost_problems(settings: Settings, handler: Handler) -> list[str]:
    """Why the costs of a replay of the handler can't be limited; each problem says what to do.

    Empty if the handler asks no model.
    """
    if not is_paid(handler, settings):
        return []
    problems = []
    model = settings.model_of(handler.name)
    if not model:
        problems.append("no model is named: set llm.model (ASSAY_LLM__MODEL)")
    elif cost_of(settings.models.limits_of(model, settings.llm), 0, 0) is None:
        problems.append(f"{model} has no prices: set models.limits.{model}.price_in and price_out")
    if not settings.models.replay_share:
        problems.append("replays have no part of the models' limits: set models.replay_share above 0")
    if settings.llm.cache_path is None and not settings.llm.redis_url.get_secret_value():
        problems.append(
            "answers are kept in memory only, so a replay that is resumed would pay again: set llm.cache_path "
            "(ASSAY_LLM__CACHE_PATH) or llm.redis_url"
        )
    return problems
