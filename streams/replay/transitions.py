"""State transitions of a plan: pure functions of its newest state.

A transition returns the next state, or None if there is nothing to change. Another process may have written first, so a
transition is called again with the state that it left. It raises ``ReplayError`` if the newest state forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.replay.plan import ReplayError

UNFINISHED = (ReplayState.PLANNED, ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED)
"""States from which a plan can be run."""


def moved(plan: ReplayPlan, state: ReplayState, detail: str = "") -> ReplayPlan:
    """The plan in another state."""
    return plan.model_copy(update={"state": state, "detail": detail})


def existing(plan: ReplayPlan | None, name: str) -> ReplayPlan:
    """The plan, unless it was dropped or never made."""
    if plan is None or plan.state is ReplayState.DROPPED:
        raise ReplayError(f"there is no plan {name!r}; `assay replay list` shows those there are")
    return plan


def created(newest: ReplayPlan | None, plan: ReplayPlan) -> ReplayPlan:
    """The new plan; a dropped one of the same name is replaced."""
    if newest is not None and newest.state is not ReplayState.DROPPED:
        raise ReplayError(
            f"there is a plan {newest.plan} already, {newest.state}: `assay replay resume {newest.plan}`, "
            f"`assay replay drop {newest.plan}`, or another name with --plan"
        )
    return plan


def started(newest: ReplayPlan, terms: Mapping[str, float], *, shared: bool) -> ReplayPlan | None:
    """The running plan, with new values of the fields in ``terms``.

    If ``shared``, this process has seen the plan unfinished, so other processes have finished a finished plan.
    """
    if newest.state is ReplayState.FINISHED and shared:
        return None
    if newest.state not in UNFINISHED:
        raise ReplayError(f"the plan {newest.plan} is {newest.state}; there is nothing left to do")
    new = {name: value for name, value in terms.items() if value != getattr(newest, name)}
    if newest.state is ReplayState.RUNNING:
        return newest.model_copy(update=new) if new else None
    return moved(newest.model_copy(update=new), ReplayState.RUNNING)


def paused(newest: ReplayPlan, why: str) -> ReplayPlan | None:
    """The paused plan, if it is running."""
    return moved(newest, ReplayState.PAUSED, why) if newest.state is ReplayState.RUNNING else None


def cancelled(newest: ReplayPlan | None, name: str) -> ReplayPlan | None:
    """The cancelled plan."""
    plan = existing(newest, name)
    if plan.state is ReplayState.CANCELLED:
        return None
    if plan.state not in UNFINISHED:
        raise ReplayError(f"the plan {name} is {plan.state}; there is nothing to cancel")
    return moved(plan, ReplayState.CANCELLED)


def dropped(newest: ReplayPlan | None, name: str) -> ReplayPlan:
    """The dropped plan."""
    return moved(existing(newest, name), ReplayState.DROPPED)


def has_moved_on(plan: ReplayPlan, at: int) -> bool:
    """Whether other processes have finished that stage, or the plan is no longer running."""
    return plan.stage != at or plan.state is not ReplayState.RUNNING


def with_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan | None:
    """The plan with its present stage changed, unless another process has changed or finished the stage."""
    if has_moved_on(newest, at) or all(getattr(newest.stages[at], name) for name in changes):
        return None
    return _changed_stage(newest, at, **changes)


def with_deleted(newest: ReplayPlan, at: int, found: Iterable[OffsetRange]) -> ReplayPlan | None:
    """The plan with the offsets of a stage's ranges that retention deleted before they were read."""
    deleted = tuple(merged([*newest.stages[at].deleted, *found]))
    return None if deleted == newest.stages[at].deleted else _changed_stage(newest, at, deleted=deleted)


def after_stage(newest: ReplayPlan, at: int) -> ReplayPlan | None:
    """The plan in its next stage, or finished."""
    if newest.stage != at or newest.state not in UNFINISHED:
        return None
    state = ReplayState.RUNNING if newest.state is ReplayState.PAUSED else newest.state
    if at + 1 == len(newest.stages):
        state = ReplayState.FINISHED
    return moved(newest.model_copy(update={"stage": at + 1}), state)


def merged(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """The same offsets in sorted ranges that don't overlap."""
    found: list[OffsetRange] = []
    for its in sorted(ranges, key=lambda its: (its.partition, its.start)):
        last = found[-1] if found else None
        if last is not None and last.partition == its.partition and its.start <= last.end:
            found[-1] = last.model_copy(update={"end": max(last.end, its.end)})
        else:
            found.append(its)
    return found


def _changed_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan:
    changed = newest.stages[at].model_copy(update=changes)
    return newest.model_copy(update={"stages": (*newest.stages[:at], changed, *newest.stages[at + 1 :])})
