"""The cost limit of a replay: booked before each call, corrected right after it, across kills and processes.

The journal of a replay books every call on the plan's account as well as on the day's. Both are in the same store, so a
plan that is killed or shared by two processes stays within its limit. A call is booked with its longest reply, so the
limit is reached a little before the money is spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from streams.llm.journal import AnswerJournal, BoundReachedError, Experience, Used
from streams.llm.request import cost_of
from streams.llm.sqlite_journal import make_journal
from streams.settings import Settings
from streams.telemetry.metrics import Metrics
from streams.topology import Handler

ACCOUNT_SECONDS = 90 * 86_400.0
"""For so long a journal knows a plan that nobody goes on with; Redis keeps what it has spent no shorter."""


class CostBound:
    """An ``AnswerJournal`` that asks a plan's account first. Give it to ``LiveServices`` as its journal.

    Attributes:
        reached: Set when a call was refused; the replay should pause then. Nothing was decided on its record.
    """

    def __init__(self, store: AnswerJournal, plan: str, most_usd: float | None) -> None:
        """Takes the journal, the plan's name, and what the plan may cost in all; None counts and refuses nothing."""
        self._store = store
        self._account = account_of(plan)
        self._most = most_usd
        self.reached = asyncio.Event()
        self._closed = False

    async def spent(self) -> float:
        """USD of the plan so far, in all its processes; calls under way are counted with their longest reply.

        Raises:
            JournalError: The journal can't be read now.
        """
        return (await self._store.book(self._account, 0.0, None))[1]

    async def open_account(self, now: float) -> None:
        """Notes in the journal that it is the one in which the plan is booked, for as long as costs are kept there."""
        await self._store.keep(self._account, "{}", now, ACCOUNT_SECONDS, self._account, 0.0)

    async def has_account(self, now: float) -> bool:
        """Whether this is the journal in which the plan is booked."""
        return await self._store.get(self._account, now) is not None

    async def get(self, key: str, now: float) -> str | None:
        """The answer that was kept, as JSON; None where there is none."""
        return await self._store.get(key, now)

    async def keep(
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:
        """Keeps an answer and books its costs on the day, then on the plan; returns the day's costs then.

        A kill between the two leaves the plan with what was booked ahead, which is no less.
        """
        total = await self._store.keep(key, answer, now, seconds, day, usd, used)
        await self._store.book(self._account, usd, None)
        return total

    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        """Books costs on the plan and on the day, or on neither.

        Raises:
            BoundReachedError: The plan has not so much left.
        """
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

    async def experience(self, task: str, model: str) -> Experience:
        """What the task's calls of the model have taken so far."""
        return await self._store.experience(task, model)

    async def aclose(self) -> None:
        """Closes the journal; whoever asks models closes the one that it was given, so a second time does nothing."""
        if not self._closed:
            self._closed = True
            await self._store.aclose()


def bound_of(settings: Settings, plan: str, most_usd: float | None) -> CostBound:
    """The bound of a plan in the journal that the settings name.

    Raises:
        JournalError: The journal can't be had with these settings.
    """
    return CostBound(make_journal(settings.llm), plan, most_usd)


async def open_account(settings: Settings, plan: str, now: float) -> None:
    """Opens a plan's account in the journal, or has it kept for longer. A journal without it is another one.

    Args:
        settings: Which journal.
        plan: The plan's run.
        now: Seconds since the epoch.

    Raises:
        JournalError: The journal can't be had or written.
    """
    bound = bound_of(settings, plan, None)
    try:
        await bound.open_account(now)
    finally:
        await bound.aclose()


async def spent_by(settings: Settings, plan: str, now: float) -> float | None:
    """USD that a plan has spent so far; None where the journal of these settings does not know the plan.

    Args:
        settings: Which journal.
        plan: The plan's run.
        now: Seconds since the epoch.

    Raises:
        JournalError: The journal can't be read now.
    """
    path = settings.llm.cache_path
    if not settings.llm.redis_url.get_secret_value() and (path is None or not path.exists()):
        return None
    bound = bound_of(settings, plan, None)
    try:
        return await bound.spent() if await bound.has_account(now) else None
    finally:
        await bound.aclose()


def paid_for(metrics: Metrics, handler: str) -> float:
    """USD that this process has paid for a handler's questions."""
    samples = (sample for metric in metrics.llm_cost_usd_total.collect() for sample in metric.samples)
    return sum(s.value for s in samples if s.name.endswith("_total") and s.labels["task"] == handler)


def account_of(plan: str) -> str:
    """The name of a plan's account beside those of the days."""
    return f"replay:{plan}"


def cost_problems(settings: Settings, handlers: Sequence[Handler]) -> list[str]:
    """Why a replay of these handlers can't be paid for, or its costs not be kept below a bound; each says what to do.

    Empty where nothing is paid, and with the offline judge.
    """
    paid = [handler for handler in handlers if handler.replay == "paid"]
    if settings.llm.offline or not paid:
        return []
    problems = []
    models = {settings.model_of(handler.name) for handler in paid}
    for model in sorted(models):
        if not model:
            problems.append("no model is named: set llm.model (ASSAY_LLM__MODEL)")
        elif cost_of(settings.models.limits_of(model), 0, 0) is None:
            problems.append(f"{model} has no prices: set models.limits.{model}.price_in and price_out")
    if not settings.models.replay_share:
        problems.append("replays have no part of the models' limits: set models.replay_share above 0")
    if settings.llm.cache_path is None and not settings.llm.redis_url.get_secret_value():
        problems.append(
            "answers are kept in memory only, so a replay that is resumed would pay again: set llm.cache_path "
            "(ASSAY_LLM__CACHE_PATH) or llm.redis_url"
        )
    return problems
