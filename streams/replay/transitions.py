"""State transitions of a plan: pure functions of its newest state.

A transition returns the next state, or None if there is nothing to change. Another process may have written first, so a
transition is called again with the state that it left. It raises ``ReplayError`` if the newest state forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.replays import OffsetRange, ReplayPlan, ReplayState, ReplayTarget
from streams.replay.plan import ReplayError, ReplayTroubleError, handler_of, is_root, is_withheld
from streams.topology import topic_named

Copy = tuple[int, str]
"""A copy of a promotion: the index of a stage, and the live topic that gets what the stage wrote."""
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
    if newest.state is ReplayState.PROMOTING:
        raise ReplayError(f"the plan {newest.plan} is being promoted; `assay replay promote {newest.plan}` goes on")
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


def dropped(newest: ReplayPlan | None, name: str, *, force: bool) -> ReplayPlan:
    """The dropped plan; ``force`` allows it for a plan that is promoted in part."""
    plan = existing(newest, name)
    if plan.state is ReplayState.PROMOTING and not force:
        raise ReplayError(
            f"a part of the plan {name} is promoted: `assay replay promote {name}` does the rest, "
            f"`assay replay drop {name} --force` leaves it at that"
        )
    return moved(plan, ReplayState.DROPPED)


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


def promotable(plan: ReplayPlan | None, name: str, *, fetch: bool) -> ReplayPlan:
    """The plan, if its results can be copied to the live topics now; ``fetch`` as in ``copies_of``."""
    plan = existing(plan, name)
    if plan.target is ReplayTarget.LIVE:
        raise ReplayError(f"the plan {name} wrote to the live topics; there is nothing to promote")
    if plan.state is ReplayState.PROMOTED:
        if not (back := held_back(plan)):
            raise ReplayError(f"the plan {name} is promoted already")
        if not fetch:
            topics = ", ".join(dict.fromkeys(live for _, live in back))
            raise ReplayError(f"the plan {name} is promoted but for {topics}, which goes live with --fetch")
    elif plan.state not in (ReplayState.FINISHED, ReplayState.PROMOTING):
        raise ReplayError(
            f"the plan {name} is {plan.state}, and only a finished one can be promoted; "
            f"`assay replay resume {name}` first"
        )
    return plan


def copies_of(plan: ReplayPlan, *, fetch: bool) -> list[Copy]:
    """The copies of a promotion; without ``fetch`` no topics whose records cause requests to the web."""
    copies, back = list(_all_copies(plan)), held_back(plan)
    if plan.state is ReplayState.PROMOTED:
        return [copy for copy in copies if copy in back]
    return [copy for copy in copies if fetch or copy not in back]


def held_back(plan: ReplayPlan) -> list[Copy]:
    """The copies that need ``--fetch``, because their records cause requests to the web, and have not started."""
    return [
        (at, live)
        for at, stage in enumerate(plan.stages)
        for live in stage.rewritten
        if is_root(stage)
        and live not in stage.promoting
        and (topic := topic_named(live)) is not None
        and is_withheld(topic)
    ]


def held_topics(plan: ReplayPlan) -> list[str]:
    """Live topics to which a promotion copied nothing, because their records cause requests to the web."""
    if plan.state is not ReplayState.PROMOTED:
        return []
    return list(dict.fromkeys(live for _, live in held_back(plan)))


def promotion_started(newest: ReplayPlan, at: int, live: str) -> ReplayPlan | None:
    """The plan with a started copy."""
    _check_not_dropped(newest)
    stage = newest.stages[at]
    if live in stage.promoting:
        return None
    return moved(_changed_stage(newest, at, promoting=(*stage.promoting, live)), ReplayState.PROMOTING)


def promotion_finished(newest: ReplayPlan, done: Iterable[Copy], deleted: int) -> ReplayPlan | None:
    """The promoted plan, unless other processes have started further copies or have finished it.

    Retention has deleted ``deleted`` offsets before they were copied.
    """
    _check_not_dropped(newest)
    copies = {(at, live) for at, stage in enumerate(newest.stages) for live in stage.promoting}
    if newest.state is ReplayState.PROMOTED or not copies <= set(done):
        return None
    detail = f"{deleted:,} offsets of its topics were deleted before they could be copied" if deleted else ""
    return moved(newest, ReplayState.PROMOTED, detail)


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


def _all_copies(plan: ReplayPlan) -> Iterator[Copy]:
    for at, stage in enumerate(plan.stages):
        if not is_root(stage):
            continue
        if handler_of(stage).writes_index:
            raise ReplayError(
                f"{stage.handler} writes to the index, and a copy of its topic would say what is not so; replay it "
                "with --to-live, or promote what it reads"
            )
        for live in stage.rewritten:
            yield at, live


def _changed_stage(newest: ReplayPlan, at: int, **changes: Any) -> ReplayPlan:
    changed = newest.stages[at].model_copy(update=changes)
    return newest.model_copy(update={"stages": (*newest.stages[:at], changed, *newest.stages[at + 1 :])})


def _check_not_dropped(newest: ReplayPlan) -> None:
    if newest.state is ReplayState.DROPPED:
        raise ReplayTroubleError(f"the plan {newest.plan} was dropped meanwhile; copied records remain")
