"""Makes the plan of a replay from an operator's request, and moves it between its states. Pure.

Results go to topics of the plan unless the request says otherwise. All names of a plan (topics, groups, dead letters,
the run in the headers) derive from its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.dead import dead_letter_topic
from schemas.event import derive_id
from schemas.replays import OffsetRange, ReplayPlan, ReplaySelection, ReplayStage, ReplayState, ReplayTarget
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler, Topic, handler_named, no_such
from streams.topology.topics import replay_dead_letters, shadow_topic

EVERYTHING = ReplaySelection()
OFFLINE = "offline"  # the judge of a stage whose questions the offline judge answers


class ReplayError(Exception):
    """A replay can't be made or continued as requested; the message says what to do."""


class ReplayTroubleError(ReplayError):
    """The request is valid, but the environment prevents it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    plan: str
    handler: str
    selection: ReplaySelection = EVERYTHING
    live: bool = False
    readers_dedupe: bool = False
    fetch: bool = False
    rate: float | None = None
    max_cost_usd: float | None = None
    give_way: bool = True


def make_plan(request: ReplayRequest, settings: Settings, now: datetime) -> ReplayPlan:
    """The plan, without offsets. Raises ReplayError if the request needs another option, or is impossible."""
    handler = handler_named(request.handler)
    if handler is None:
        raise ReplayError(no_such("handler", request.handler, [known.name for known in HANDLERS]))
    _check(handler, request, settings)
    withholds = request.live and not request.fetch
    stage = ReplayStage(
        handler=handler.name,
        topic=handler.consumes.name,
        config_version=settings.rules(handler.rules).config_version,
        judge=judge_of(handler, settings),
        rewritten=tuple(topic.name for topic in handler.emits if not (withholds and _leads_to_fetches(topic))),
    )
    if request.live and not request.readers_dedupe:
        twice = [topic.name for topic in handler.emits if topic.name in stage.rewritten and not topic.readers_dedupe]
        if twice:
            raise ReplayError(
                f"readers of {', '.join(twice)} may take a second copy for a new one; write to shadow topics, or say "
                "--readers-dedupe where all of them go by ce_id"
            )
    return ReplayPlan(
        plan=request.plan,
        run=f"replay-{request.plan}-{derive_id('replay', request.plan, now.isoformat())[:8]}",
        state=ReplayState.PLANNED,
        stages=(stage,),
        selection=request.selection,
        target=ReplayTarget.LIVE if request.live else ReplayTarget.SHADOW,
        rate=request.rate,
        max_cost_usd=request.max_cost_usd,
        give_way=request.give_way,
        fetch=request.fetch,
        created_at=now,
        updated_at=now,
    )


def stage_of(plan: ReplayPlan) -> ReplayStage:
    """What the handler of a plan reads. A plan has exactly one stage."""
    return plan.stages[0]


def handler_of(plan: ReplayPlan) -> Handler:
    """The handler of a plan. Raises ReplayError if this version of Assay has no such handler."""
    name = stage_of(plan).handler
    handler = handler_named(name)
    if handler is None:
        raise ReplayError(f"there is no handler {name!r} in this version; drop the plan and make a new one")
    return handler


def asks_models(plan: ReplayPlan) -> bool:
    return stage_of(plan).judge not in (None, OFFLINE)


def is_paid(handler: Handler, settings: Settings) -> bool:
    """Whether a replay of the handler may cost money. The offline judge is free."""
    return handler.replay == "paid" and not settings.llm.offline


def judge_of(handler: Handler, settings: Settings) -> str | None:
    """The name of the model that a handler asks, or ``offline``; None if the handler asks no model."""
    if handler.replay != "paid":
        return None
    return OFFLINE if settings.llm.offline else settings.model_of(handler.name) or None


def routes(plan: ReplayPlan) -> dict[str, str]:
    """The topic of a plan's results for each topic of the handler; both before the prefix, dead letters last.

    Dead letters always go to a topic of the plan, so a backfill raises no alert.
    """
    handler, live = handler_of(plan), plan.target is ReplayTarget.LIVE
    results = {name: name if live else shadow_topic(name, plan.plan) for name in stage_of(plan).rewritten}
    return results | {dead_letter_topic(handler.consumes.name, handler.group): replay_dead_letters(handler, plan.plan)}


def _leads_to_fetches(topic: Topic) -> bool:
    """Whether a live handler would fetch pages for the records of a topic."""
    return any(handler.consumes == topic and handler.replay == "never" for handler in HANDLERS)


def _check(handler: Handler, request: ReplayRequest, settings: Settings) -> None:
    if handler.writes_index and not request.live:
        raise ReplayError(
            f"{handler.name} writes to the index, which has no copy for a replay: replay it with --to-live, after the "
            "handler whose results it reads"
        )
    if handler.replay == "never" and not request.fetch:
        raise ReplayError(f"{handler.name} reaches the open web, which a replay does only with --fetch")
    if is_paid(handler, settings) and request.max_cost_usd is None:
        raise ReplayError(
            f"{handler.name} asks language models: say what it may cost with --max-cost USD; --dry-run estimates it"
        )


UNFINISHED = (ReplayState.PLANNED, ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.CANCELLED)
"""States from which a plan can be run."""

_BEFORE: Mapping[ReplayState, tuple[tuple[ReplayState, ...], str]] = {
    ReplayState.RUNNING: (UNFINISHED, "left to do"),
    ReplayState.PAUSED: ((ReplayState.RUNNING,), ""),
    ReplayState.CANCELLED: (UNFINISHED, "to cancel"),
    ReplayState.FINISHED: (UNFINISHED, ""),
}
"""For each state those that may come before it. From another one a plan is refused, because "there is nothing" of that
text; with "" it is left as it is."""


def transition(newest: ReplayPlan, state: ReplayState, detail: str = "", /, **changes: Any) -> ReplayPlan | None:
    """The newest state of a plan moved to a state, with changed fields; None if there is nothing to change.

    Another process may have written first, so a transition is called again with the state that it left.
    Raises ReplayError if the plan is over.
    """
    new = {name: value for name, value in changes.items() if value != getattr(newest, name)}
    if newest.state is state:
        return newest.model_copy(update=new) if new else None
    before, nothing = _BEFORE[state]
    if newest.state in before:
        return moved(newest, state, detail, **new)
    if nothing:
        raise ReplayError(f"the plan {newest.plan} is {newest.state}; there is nothing {nothing}")
    return None


def moved(plan: ReplayPlan, state: ReplayState, detail: str = "", **changes: Any) -> ReplayPlan:
    """The plan moved to a state, from any other one."""
    return plan.model_copy(update={**changes, "state": state, "detail": detail})


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


def mark_begun(newest: ReplayPlan) -> ReplayPlan | None:
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
    return transition(newest, ReplayState.FINISHED, stage=len(newest.stages))


def with_stage(plan: ReplayPlan, **changes: Any) -> ReplayPlan:
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
