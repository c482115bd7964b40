"""State transitions of a plan: pure functions of its newest state.

A transition returns the next state, or None if there is nothing to change. Another process may have written first, so a
transition is called again with the state that it left. It raises ``ReplayError`` if the newest state forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.replays import OffsetRange, ReplayPlan, ReplayState
from streams.replay.plan import ReplayError, stage_of

UNFINISHED = (ReplayState.PLANNED, ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED)
"""States from which a plan can be run."""


def moved(plan: ReplayPlan, state: ReplayState, detail: str = "") -> ReplayPlan:
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


def begun(newest: ReplayPlan) -> ReplayPlan | None:
    """The plan whose group is at the start of the ranges; None if another process has done that, or it does not run."""
    if newest.state is not ReplayState.RUNNING or stage_of(newest).begun:
        return None
    return with_stage(newest, begun=True)


def with_deleted(newest: ReplayPlan, found: Iterable[OffsetRange]) -> ReplayPlan | None:
    """The plan with the offsets of its ranges that retention deleted before they were read."""
    deleted = tuple(merged([*stage_of(newest).deleted, *found]))
    return None if deleted == stage_of(newest).deleted else with_stage(newest, deleted=deleted)


def finished(newest: ReplayPlan) -> ReplayPlan | None:
    """The finished plan, unless it is over; a cancelled one whose records are all processed is finished."""
    if newest.state not in UNFINISHED:
        return None
    return moved(newest.model_copy(update={"stage": len(newest.stages)}), ReplayState.FINISHED)


def paused(newest: ReplayPlan, why: str) -> ReplayPlan | None:
    """The paused plan, if it is running."""
    return moved(newest, ReplayState.PAUSED, why) if newest.state is ReplayState.RUNNING else None


def cancelled(newest: ReplayPlan | None, name: str) -> ReplayPlan | None:
    plan = existing(newest, name)
    if plan.state is ReplayState.CANCELLED:
        return None
    if plan.state not in UNFINISHED:
        raise ReplayError(f"the plan {name} is {plan.state}; there is nothing to cancel")
    return moved(plan, ReplayState.CANCELLED)


def with_stage(plan: ReplayPlan, **changes: Any) -> ReplayPlan:
    """The plan with its stage changed."""
    return plan.model_copy(update={"stages": (stage_of(plan).model_copy(update=changes),)})


def merged(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """The same offsets in sorted ranges that don't overlap."""
    found: list[OffsetRange] = []
    for span in sorted(ranges, key=lambda span: (span.partition, span.start)):
        last = found[-1] if found else None
        if last is not None and last.partition == span.partition and span.start <= last.end:
            found[-1] = last.model_copy(update={"end": max(last.end, span.end)})
        else:
            found.append(span)
    return found
