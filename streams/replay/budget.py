"""The cost limit of a replay: booked before each call and corrected after it, across kills and processes.

The journal books every call of a replay on the plan's account and on the account of the day. Both are in the same
store, so a plan that is killed or shared by two processes stays within its limit. A call is booked with its longest
reply, so the limit is reached a little before the money is spent.
"""

from __future__ import annotations

from contextlib import aclosing

from schemas.replays import ReplayPlan
from streams.llm.accounting import CostAccount
from streams.llm.reports import missing_journal
from streams.llm.request import cost_of
from streams.llm.sqlite_journal import make_journal
from streams.replay.plan import is_paid
from streams.settings.model import Settings
from streams.topology import Handler

ACCOUNT_SECONDS = 90 * 86_400.0
"""For so long after the last run a journal knows a plan. Redis keeps the costs at least as long."""


class PlanAccount(CostAccount):
    """The account of a plan that asks models, and the journal that has it."""

    def __init__(self, settings: Settings, plan: ReplayPlan) -> None:
        """Opens nothing; without a limit of the plan costs are only counted. Raises JournalError."""
        super().__init__(account_of(plan.run), plan.max_cost_usd)
        self._journal = make_journal(settings.llm)
        self.aclose = self._journal.aclose

    async def spent(self) -> float:
        """USD of all processes of the plan; calls in flight count with their longest reply. Raises JournalError."""
        return await self._journal.booked(self.name)


async def open_account(settings: Settings, run: str, now: float) -> None:
    """Opens the account of a plan's run in the journal, or extends it; ``now`` is in seconds since the epoch.

    Raises JournalError if the journal can't be opened or written.
    """
    async with aclosing(make_journal(settings.llm)) as journal:
        # An answer with the account's name shows, until it expires, that this journal knows the plan.
        await journal.keep(account_of(run), "{}", now, ACCOUNT_SECONDS, [account_of(run)], 0.0)


async def spent_by(settings: Settings, run: str, now: float) -> float | None:
    """USD that a plan's run has spent; None if the journal does not know it. ``now`` is in seconds since the epoch.

    Raises JournalError if the journal can't be read now.
    """
    if missing_journal(settings.llm):
        return None
    async with aclosing(make_journal(settings.llm)) as journal:
        is_known = await journal.get(account_of(run), now) is not None
        return await journal.booked(account_of(run)) if is_known else None


def account_of(run: str) -> str:
    return f"replay:{run}"


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
