"""The terms that a plan was made on, looked at again whenever somebody goes on with it.

In go the settings of the process that wants to work on a plan, and the plan; out comes nothing, or the one line that
says why it may not: other rules, another judge, or costs that nobody could keep below their bound. A plan has one judge
from its beginning to its end: made with the offline judge it has no bound, and would spend without one; and what two
judges have decided can't be told apart afterwards.
"""

from __future__ import annotations

from schemas.replays import ReplayPlan
from streams.replay.cost import cost_problems, open_account, spent_by
from streams.replay.plan import OFFLINE, ReplayError, handler_of, judge_of
from streams.settings import Settings


async def check_terms(settings: Settings, plan: ReplayPlan, now: float) -> None:
    """Refuses to go on with a plan on other terms.

    Args:
        settings: Those of the process that wants to.
        plan: As the ledger has it.
        now: Seconds since the epoch.

    Raises:
        ReplayError: They are others.
        StoreError: The journal can't be read or written now.
    """
    left = plan.stages[plan.stage :]
    for stage in left:
        handler = handler_of(stage)
        version = settings.rules(handler.rules).config_version
        if version != stage.config_version:
            raise ReplayError(
                f"the plan {plan.plan} was made under another configuration of {stage.handler} "
                f"({stage.config_version}, now {version}); give it with --config, or drop the plan and begin anew"
            )
        if (judge := judge_of(handler, settings)) != stage.judge:
            raise ReplayError(
                f"the plan {plan.plan} was made with {_named(stage.judge)} for {stage.handler}, now it would be "
                f"{_named(judge)}; give it the same (llm.base_url, llm.api_key, llm.model), or drop the plan and begin "
                "anew"
            )
    if not asks_models(plan):
        return
    if plan.max_cost_usd is None:
        raise ReplayError(f"the plan {plan.plan} has no bound of its costs: resume it with --max-cost USD")
    if problems := cost_problems(settings, [handler_of(stage) for stage in left]):
        raise ReplayError(problems[0])
    if await spent_by(settings, plan.run, now) is None:
        raise ReplayError(
            f"the journal here does not know what the plan {plan.plan} has spent, so its bound can't be kept: name the "
            "one it was begun with (llm.cache_path, llm.redis_url), or drop the plan and begin anew"
        )
    await open_account(settings, plan.run, now)


def asks_models(plan: ReplayPlan) -> bool:
    """Whether a plan asks models, which may cost money."""
    return any(stage.judge not in (None, OFFLINE) for stage in plan.stages)


def _named(judge: str | None) -> str:
    return "no model" if judge is None else "the offline judge" if judge == OFFLINE else f"the model {judge}"
