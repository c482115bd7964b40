"""How a plan changes while it is carried out. Pure.

In goes the newest state, which another process may have written; out comes the next one, or None where there is nothing
to change: others have done it already, or are further. So a change may be tried as often as it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.replay.deleted import merged
from streams.replay.ledger import moved
from streams.replay.plan import ReplayError

WORKED_ON = (ReplayState.PLANNED, ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED)
"""States from which a plan can be carried out."""


def begun(newest: ReplayPlan, terms: Mapping[str, float], *, shared: bool) -> ReplayPlan | None:
    """The plan at work, on the terms that whoever begins has asked for; None where it is that already.

    Args:
        newest: The plan.
        terms: What is another from now on, by field.
        shared: This process has seen it unfinished: where it is finished now, others that share it were faster.

    Raises:
        ReplayError: It is over, or being promoted.
    """
    if newest.state is ReplayState.FINISHED and shared:
        return None
    if newest.state is ReplayState.PROMOTING:
        raise ReplayError(f"the plan {newest.plan} is being promoted; `assay replay promote {newest.plan}` goes on")
    if newest.state not in WORKED_ON:
        raise ReplayError(f"the plan {newest.plan} is {newest.state}; there is nothing left to do")
    new = {name: value for name, value in terms.items() if value != getattr(newest, name)}
    if newest.state is ReplayState.RUNNING:
        return newest.model_copy(update=new) if new else None
    return moved(newest.model_copy(update=new), ReplayState.RUNNING)


def has_left(plan: ReplayPlan, at: int) -> bool:
    """Whether others have finished that stage meanwhile, or somebody has ended the plan."""
    return plan.stage != at or plan.state is not ReplayState.RUNNING


def with_deleted(newest: ReplayPlan, at: int, found: list[OffsetRange]) -> ReplayPlan | None:
    """The plan with what was deleted of a stage's ranges; None where that is known already."""
    deleted = tuple(merged([*newest.stages[at].deleted, *found]))
    return None if deleted == newest.stages[at].deleted else _changed_stage(newest, at, deleted=deleted)


def with_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan | None:
    """The plan with its present stage changed; None where somebody has done that already, or it is another one now."""
    stage = newest.stages[at]
    if has_left(newest, at) or all(getattr(stage, name) for name in changes):
        return None
    return _changed_stage(newest, at, **changes)


def _changed_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan:
    stage = newest.stages[at]
    changed = stage.model_copy(update=changes)
    return newest.model_copy(update={"stages": (*newest.stages[:at], changed, *newest.stages[at + 1 :])})


def after_stage(newest: ReplayPlan, at: int) -> ReplayPlan | None:
    """The plan after a stage is done; None where somebody has said so already."""
    if newest.stage != at or newest.state not in WORKED_ON:
        return None
    last = at + 1 == len(newest.stages)
    state = ReplayState.FINISHED if last else newest.state
    if state is ReplayState.PAUSED:
        state = ReplayState.RUNNING
    return moved(newest.model_copy(update={"stage": at + 1}), state)
